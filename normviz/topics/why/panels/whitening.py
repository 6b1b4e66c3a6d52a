"""The panel "Whitening", with the two simplifications that lead to batch norm."""

import numpy as np
import streamlit as st

from normviz.core.registry import SCHEMES
from normviz.core.text import format_number, typeset
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.describe.notation import format_latex_number
from normviz.topics.why import whitening
from normviz.topics.why.figures import MAX_DRAWN_POINTS, PointCloud, draw_batch_ellipses, draw_cloud
from normviz.ui.link import View
from normviz.web.components.plot import show_figure

SYMBOLS = ("x₀", "x₁")
"""The symbols of the two features."""

ROUNDING = RELATIVE_TOLERANCES["float64"]
PLOT_HALF_WIDTH = 4.5
"""Half the side of the drawn plane after scaling."""

OUTLINED_BATCHES = 12
"""Number of drawn ellipses of mini-batches."""

OUTLINE_NAME = f"covariance, {whitening.ELLIPSE_RADIUS:g} standard deviations"


def show(view: View, theme: str) -> None:
    """Show a cloud of points and the stages of its whitening; then the simplifications of batch norm."""
    if view["points"] == "digits":
        x = whitening.compute_digit_features(view["first"], view["second"])
        axes = (whitening.FEATURES[view["first"]].name, whitening.FEATURES[view["second"]].name)
    else:
        x, axes = whitening.sample_normal_cloud(view["correlation"], view["ratio"], view["seed"]), SYMBOLS
    _show_stage(view, x, axes, theme)
    left, right = st.columns(2, gap="large")
    with left:
        _show_whitening_costs()
    with right:
        _show_mini_batches(view, x, axes, theme)


def _show_stage(view: View, x: np.ndarray, axes: tuple[str, str], theme: str) -> None:
    stage, eps = whitening.STAGES[view["stage"]], view["eps"]
    made, before = stage(x, eps), whitening.compute_covariance(x)
    after, w = whitening.compute_covariance(made), stage.matrix(before, eps)
    st.markdown(f"### {_describe_stage(view['stage'], before, after, made, eps)}")
    half = 1.1 * float(np.abs(x - x.mean(0)).max()) or 1.0
    turn = np.linspace(0, 2 * np.pi, 97)
    aim = (
        {}
        if stage.plain
        else {"mean 0, covariance I": whitening.ELLIPSE_RADIUS * np.stack([np.cos(turn), np.sin(turn)], axis=-1)}
    )
    reach = whitening.ELLIPSE_RADIUS * np.sqrt(np.diag(before))[:, None] * np.eye(2)
    frame = half if stage.plain else PLOT_HALF_WIDTH
    pointing = reach @ w.T
    shorter = min(1.0, 0.85 * frame / (float(np.abs(pointing).max()) or 1.0))
    pointing = shorter * pointing
    made_axes = ("principal direction 0", "principal direction 1") if view["stage"] == "pca" else axes
    outline = {OUTLINE_NAME: whitening.make_covariance_ellipse(x.mean(0), before)}
    shown = {
        "before": PointCloud(x, outline, _make_arrows(x.mean(0), reach), axes, x.mean(0), half),
        "made": PointCloud(
            made, {OUTLINE_NAME: whitening.make_covariance_ellipse(made.mean(0), after)} | aim,
            _make_arrows(np.zeros(2), pointing), made_axes, np.zeros(2), frame,
        ),
    }  # fmt: skip
    words = {"before": ("As it is", "x", before), "made": (stage.name, stage.formula, after)}
    for column, (key, (name, formula, cov)) in zip(st.columns(2, gap="medium"), words.items(), strict=True):
        with column:
            st.markdown(f"**{name}**: ${formula}$")
            alt = (
                f"A cloud of points, {name.lower()}, and its covariance as an ellipse: correlation "
                f"{_format_correlation(cov)}."
            )
            show_figure(draw_cloud(shown[key], theme), key, alt, "23rem")
            st.latex(_format_matrix(cov))
    outside = int((np.abs(made) > PLOT_HALF_WIDTH).any(1).sum())
    st.caption(
        _describe_batch_norm_outputs(before, after, made, eps)
        * (view["stage"] == "scaled")
        + f"{len(x):,} points, of which {MAX_DRAWN_POINTS} are drawn; mean and covariance are of all. Arrows: "
        f"{whitening.ELLIPSE_RADIUS:g} standard deviations along each feature of x, and where they come to "
        f"lie{', drawn shorter' if shorter < 1 else ''}."
        + (f" {outside} points lie outside of the right picture." if outside and not stage.plain else "")
    )


def _make_arrows(start: np.ndarray, reach: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return an arrow for each feature by name: its start and its end, `reach[k]` further for feature k."""
    return {name: (start, start + way) for name, way in zip(SYMBOLS, reach, strict=True)}


def _format_matrix(cov: np.ndarray) -> str:
    """Format a covariance matrix in LaTeX; entries that are 0 up to rounding are written as 0."""
    least = ROUNDING * float(np.abs(cov).max())
    rows = (
        " & ".join(format_latex_number(0.0 if abs(value) <= least else float(value)) for value in row) for row in cov
    )
    return r"\mathrm{Cov} = \begin{pmatrix}" + r" \\ ".join(rows) + r"\end{pmatrix}"


def _describe_stage(key: str, before: np.ndarray, after: np.ndarray, result: np.ndarray, eps: float) -> str:
    was, now = (_format_correlation(cov) for cov in (before, after))
    rank, mean = int((whitening.find_principal_directions(before)[0] > 0).sum()), np.abs(result.mean(0)).max()
    spreads = " and ".join(typeset(value, 4) for value in np.diag(after))
    if key == "centred":
        return f"Centred: the mean is {_format_gap(mean)}, the covariance as it was, and the correlation still {now}."
    if key == "scaled":
        return f"Batch norm: variances {spreads}, correlation still {now}."
    if rank < 2:
        return f"All points lie on a line: whitening scales along it, and finds nothing across it. Variances {spreads}."
    return f"Whitened: the correlation goes from {was} to {now}, the variances are {spreads}" + (
        "."
        if np.abs(after - np.eye(2)).max() <= ROUNDING * 1e3
        else f": along each principal direction λ/(λ+ε), ε = {typeset(eps)}."
    )


def _describe_batch_norm_outputs(before: np.ndarray, after: np.ndarray, result: np.ndarray, eps: float) -> str:
    """Describe how close batch norm's outputs come to mean 0 and to their predicted variances."""
    predicted = np.diag(before) / (np.diag(before) + eps)
    gap, mean = _format_gap(np.abs(predicted - np.diag(after)).max()), _format_gap(np.abs(result.mean(0)).max())
    return f"Batch norm: mean {mean}, variances σ²/(σ²+ε) (difference {gap}). "


def _format_correlation(cov: np.ndarray) -> str:
    return format_number(whitening.compute_correlation(cov), 3, 1e3 * ROUNDING)


def _format_gap(gap: float) -> str:
    return format_number(gap, 2, 1e3 * ROUNDING)


def _show_whitening_costs() -> None:
    """Show how many statistics normalizing each feature by itself saves, compared with whitening."""
    st.markdown("## First simplification: a feature at a time")
    (per, joint), source = whitening.count_statistics(512), SCHEMES["whitening"].reference
    st.markdown(f"### For 512 features whitening estimates {joint:,} numbers, batch norm {per:,}.")
    st.caption(
        "Covariance of N examples: N·C² products; its eigenvectors: of the order of C³. The way back goes through the "
        "eigenvectors too: the gradient of an inverse root couples every pair of them "
        f"([{source.text}]({source.url}))."
    )


def _show_mini_batches(view: View, x: np.ndarray, axes: tuple[str, str], theme: str) -> None:
    st.markdown("## Second simplification: a mini-batch at a time")
    size, whole = view["size"], whitening.compute_covariance(x)
    batches = whitening.sample_mini_batches(x, size, view["seed"])
    covs = whitening.compute_covariance(batches)
    spread = covs[:, 0, 0].std() / whole[0, 0]
    st.markdown(
        f"### Over {whitening.BATCH_COUNT} mini-batches of {size}, the variance of the first feature scatters by "
        f"{spread:.0%} of that of all points."
    )
    outlines = [
        whitening.make_covariance_ellipse(batch.mean(0), cov)
        for batch, cov in zip(batches[:OUTLINED_BATCHES], covs, strict=False)
    ]
    low = covs[:, 0, 0].min() / whole[0, 0]
    alt = (
        f"The ellipse of all points over those of {OUTLINED_BATCHES} mini-batches of {size}: the least "
        f"variance is {low:.0%}."
    )
    show_figure(
        draw_batch_ellipses(whitening.make_covariance_ellipse(x.mean(0), whole), outlines, axes, theme),
        "batches",
        alt,
        "24rem",
    )
    flat = "A mini-batch of 2 has no area: a" if size == 2 else "A"
    st.caption(
        f"{OUTLINED_BATCHES} mini-batches; another seed draws others. {flat} covariance of m examples has at "
        f"most m − 1 directions, so with no more examples than features it has no inverse root without ε; variances of "
        f"single features do. Both simplifications: "
        f"[{SCHEMES['batch'].reference.text}]({SCHEMES['batch'].reference.url}), "
        "section 3."
    )
