"""Panel of three variants of layer norm side by side: cubes, formulas, uses, invariances and code."""

import numpy as np
import streamlit as st

from normviz.core.fields import Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.normalize import LayerScalars, normalize
from normviz.core.registry import SCHEMES, Scheme, find_equal_schemes
from normviz.core.text import format_number, typeset
from normviz.core.theory import explain_degeneracy
from normviz.describe import notation, wording
from normviz.describe.aims import describe_scope
from normviz.describe.snippets import format_snippet
from normviz.topics.same.state import CAMERA, PREFIX, VARIANT_FRAMEWORKS
from normviz.topics.same.variants import SHAPES, VARIANT_USES, VARIANTS, tabulate_invariance
from normviz.ui.cube_row import show_cubes
from normviz.ui.link import View, draw_segments

VARIANT_SCHEMES = [SCHEMES[key] for key in VARIANTS]


def show_variants(view: View, x: np.ndarray, theme: str) -> None:
    """Show the three variants of layer norm on this tensor, their uses, invariances and code."""
    results = [normalize(x, scheme, view["eps"]) for scheme in VARIANT_SCHEMES]
    show_cubes(VARIANT_SCHEMES, x, [each.xhat for each in results], view, CAMERA, theme)
    columns = st.columns(len(VARIANT_SCHEMES), gap="medium", border=True)
    for column, scheme, result in zip(columns, VARIANT_SCHEMES, results, strict=True):
        with column:
            _show_variant(scheme, result, view["focus"], x.shape)
    for words in describe_coincidences(x.shape, view["eps"]):
        st.info(words, icon=":material/equal:")
    with st.expander("Who uses which"):
        show_variant_uses()
    with st.expander("Which changes does each variant cancel?"):
        show_variant_invariances()
    with st.expander("Code"):
        show_variant_code(view)


def _show_variant(scheme: Scheme, result: NormalizationResult, focus: tuple[int, ...], shape: Shape) -> None:
    st.markdown(f"#### {scheme.label}\n{wording.capitalize_first(describe_scope(scheme))}")
    lines = {line.name: line.latex for line in notation.build_main_formulas(scheme)}
    st.latex(lines["mean"])
    st.latex(lines["normalized"])
    bound = wording.SchemeOnShape(scheme, shape)
    box, counts = bound.describe_boxes(focus)[0], wording.capitalize_first(bound.describe_statistic_counts())
    st.markdown(
        f"{counts}.  \nField of the chosen element: {box.where}.  \nIts **x̂ = {format_number(result.xhat[focus])}**."
    )


def describe_coincidences(shape: Shape, eps: float) -> list[str]:
    """Describe which variants of layer norm coincide on this shape, in sentences."""
    said = []
    for k, scheme in enumerate(VARIANT_SCHEMES):
        alike = [
            each for each in VARIANT_SCHEMES if each.compute_canonical_key(shape) == scheme.compute_canonical_key(shape)
        ]
        if len(alike) > 1 and VARIANT_SCHEMES.index(alike[0]) == k:
            said.append(f"On this shape {' and '.join(each.label for each in alike)} are one and the same.")
    hollow = [
        each.label for each in VARIANT_SCHEMES if each.field is not None and each.field.find_smallest_size(shape) == 1
    ]
    if hollow:
        after = f"0/√{typeset(eps)} = 0" if eps else "0/0, shown as 0"
        said.append(f"{' and '.join(hollow)}: every field is a single element, x − μ = 0, and x̂ = {after} everywhere.")
    signs = [each for each in VARIANT_SCHEMES if each.label not in hollow and explain_degeneracy(each, shape, 0.0)]
    if signs:
        names = " and ".join(each.label for each in signs)
        said.append(f"{names}: of two elements only the signs are left, x̂ = ±1 but for ε.")
    others = find_equal_schemes(SCHEMES["layer-spatial"], shape)
    if "batch" in {each.key for each in others}:
        said.append(f"On this shape {SCHEMES['layer-spatial'].label} is batch norm in training, too.")
    return said


def show_variant_uses() -> None:
    """Show a table of the variants of layer norm and where each is used."""
    rows = [
        {"Variant": SCHEMES[use.variant].label, "Who": f"[{use.who}]({use.url})", "In its words": use.how}
        for use in VARIANT_USES
    ]
    st.table(rows, border="horizontal")
    st.caption(
        "Ba et al. define layer norm by the units of a layer and say little of convolutions: over H, W, C is their "
        "definition taken at its word. On a dense layer (N, C) it is the same as over C alone, and a token of a "
        "transformer is such a layer."
    )


def show_variant_invariances() -> None:
    """Show a table of the transformations of Table 1 to which each variant is invariant."""
    st.table(tabulate_invariance(), border="horizontal")
    shown = "; ".join(f"{layer}: pre-activations {wording.format_shape(shape)}" for layer, (shape, _) in SHAPES.items())
    rows = ",".join(VARIANTS)
    st.caption(
        f"Predicted from the fields, at ε = 0 ({shown}). 0/0: every field is a single element. Train it: Table 1 of "
        f"these rows, [dense](/invariance?schemes={rows}) and [conv](/invariance?schemes={rows}&layer=conv)."
    )


def show_variant_code(view: View) -> None:
    """Show the code of each variant of layer norm in a framework."""
    draw_segments(PREFIX + "code", "Framework", VARIANT_FRAMEWORKS)
    shape, framework = tuple(view[size] for size in "nhwc"), view["code"]
    for scheme in VARIANT_SCHEMES:
        st.markdown(f"**{scheme.label}**")
        st.code(format_snippet(scheme, framework, shape, LayerScalars(view["eps"])), wrap_lines=True)
