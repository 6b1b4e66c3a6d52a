"""The state of the tensor lab: the tensor and the scheme, which other pages share, γ and β, and the view."""

from normviz.core.schemes import Scheme
from normviz.cube.layout import VIEWS
from normviz.ui import scheme as chosen
from normviz.ui import tensor
from normviz.ui.link import Param, View, choice, decimal, real

PARAMS = (
    *tensor.PARAMS,
    *chosen.PARAMS,
    Param("gain", 1.0, real(-10, 10), decimal),
    Param("bias", 0.0, real(-10, 10), decimal),
    Param("view", "folded", choice(list(VIEWS))),
)


def has(scheme: Scheme, name: str) -> bool:
    """Whether a value means anything to a scheme: a link and the controls leave out what does not."""
    learned = {"gain": scheme.gain, "bias": scheme.bias}
    return learned[name] is not None if name in learned else chosen.has(scheme, name)


def affine_of(view: View, scheme: Scheme) -> tuple[float, float]:
    """γ and β as the scheme takes them: 1 and 0 where it has none."""
    return view["gain"] if has(scheme, "gain") else 1.0, view["bias"] if has(scheme, "bias") else 0.0
