"""The panel "Jacobian matrix": ∂x̂/∂x, with frames around the elements that share their statistics."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import streamlit as st

from normviz.core.backward import compute_jacobian
from normviz.core.registry import Scheme
from normviz.describe.kinds import KIND_FORMULAS
from normviz.describe.wording import pluralize
from normviz.topics.gradients.blocks import JacobianBlocks, find_jacobian_blocks
from normviz.topics.gradients.figures import draw_jacobian_map
from normviz.topics.gradients.panels.formula import show_weight_scheme_note
from normviz.topics.gradients.small import make_small_tensors
from normviz.topics.gradients.state import get_page_eps, get_page_scheme, get_tensor_shape
from normviz.ui.link import View
from normviz.web.components.plot import show_figure
from normviz.web.plot_message import DrawnFigure

cached_jacobian = st.cache_data(max_entries=64, show_spinner=False)(compute_jacobian)


def show_jacobian(view: View, theme: str) -> None:
    """Show the Jacobian as a heat map under a sentence on its structure."""
    scheme, blocks = get_page_scheme(view), compute_block_jacobian(view)
    st.markdown(blocks.words)
    drawn = draw_block_jacobian(blocks, theme)
    show_figure(drawn.figure, "jacobian", drawn.alt, drawn.height)
    show_weight_scheme_note(scheme)


class BlockJacobian(NamedTuple):
    """The Jacobian with elements ordered so that those that share a statistic are adjacent.

    Attributes:
        matrix: ∂x̂/∂x in this order.
        names: the indices of the elements.
        edges: the starts of the fields, and the end.
        words: its structure in words.
    """

    matrix: np.ndarray
    names: Sequence[str]
    edges: np.ndarray
    words: str


def compute_block_jacobian(view: View) -> BlockJacobian:
    """Return the Jacobian of the page's scheme on its small tensor, with elements that share a statistic adjacent.

    Raises:
        InvalidInput: the scheme does not fit the shape.
    """
    scheme, eps, shape = get_page_scheme(view), get_page_eps(view), get_tensor_shape(view)
    scheme.check(shape)
    blocks = find_jacobian_blocks(scheme, shape)
    order = blocks.order.tolist()
    ordered = cached_jacobian(make_small_tensors(scheme, shape, view["seed"]).x, scheme, eps)[np.ix_(order, order)]
    names = [",".join(map(str, index)) for index in np.ndindex(*shape)]
    words = _describe_structure(scheme, blocks, len(blocks.edges) - 1)
    return BlockJacobian(ordered, [names[k] for k in order], blocks.edges, words)


def draw_block_jacobian(blocks: BlockJacobian, theme: str) -> DrawnFigure:
    """Return a heat map of the Jacobian with its description as alternative text."""
    alt = f"The Jacobian of {pluralize(len(blocks.names), 'element')} as a heat map. {blocks.words.replace('**', '')}"
    return DrawnFigure(draw_jacobian_map(blocks.matrix, blocks.names, blocks.edges, theme), alt, "min(26rem, 100vw)")


def _describe_structure(scheme: Scheme, blocks: JacobianBlocks, field_count: int) -> str:
    """Return a sentence on the Jacobian's nonzero entries: diagonal, blocks of shared statistics, or more."""
    own = KIND_FORMULAS[scheme.kind.key].jacobian
    if own is not None:
        return own
    if not scheme.fields:
        return "**Only the diagonal**: x̂ = x."
    if not blocks.alone:
        return (
            "**Fields overlap, or differ between mean and divisor**: an element depends on all elements of its "
            "fields. Its gradient adds up all elements whose fields contain it."
        )
    sizes = np.diff(blocks.edges)
    of = pluralize(int(sizes[0]), "element")
    if field_count == 1:
        return f"**One block of {of}**: all elements share their statistics, so each affects all."
    return (
        f"**Each of the {field_count} blocks is a field of {of}**: elements of different fields do not "
        f"affect each other."
    )
