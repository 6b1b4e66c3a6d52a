"""The tensor lab run by Streamlit without a browser, and what it shows."""

from pathlib import Path

from streamlit.testing.v1 import AppTest
from unpacked import shown

from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES
from normviz.core.statistics import element
from normviz.data.samples import SAMPLES
from normviz.describe import notation
from normviz.lab import state as lab
from normviz.ui import scheme as chosen
from normviz.ui import tensor

ROOT = Path(__file__).parents[1]
TABS = ("Statistics", "Distribution", "Response", "Picture", "Formula", "Parameters and state", "Code")
ACTIVATION = [key for key, scheme in SCHEMES.items() if scheme.acts_on != "weight"]


def open_lab(script="pages/tensor_lab.py", theme="light", **link):
    """The page of a link, in a session of its own."""
    at = AppTest.from_file(ROOT / script, default_timeout=60)
    at.context["theme"] = theme
    at.query_params.update(link)
    return sound(at.run())


def sound(at):
    """The page after a run, which raised nothing."""
    assert not at.exception, at.exception[0].message
    return at


def plots(at):
    """What each component shows, by the key of its element."""
    return {key: shown(message) for key, message in messages(at).items()}


def messages(at):
    """What is sent for each component, by the key of its element."""
    protos = [component.proto for component in at.get("bidi_component")]
    return {proto.id.rpartition("-")[2].removesuffix(" plot"): proto.bytes for proto in protos}


def view_of(at):
    """All values of the link, as the session holds them."""
    return {param.key: at.session_state[param.key] for param in lab.PARAMS}


def computed(at):
    """Scheme, tensor, ε, γ, β and result for what the page is set to, from the core."""
    view, state = view_of(at), at.session_state
    scheme = chosen.scheme_of(view)
    own = view["data"] == "own" and "own" in state
    x = state["own"] if own else SAMPLES[view["data"]].make(tensor.shape_of(view), view["seed"])
    has = {"eps": scheme.eps is not None, "gain": scheme.gain is not None, "bias": scheme.bias is not None}
    numbers = [view[key] if has[key] else absent for key, absent in (("eps", 0.0), ("gain", 1.0), ("bias", 0.0))]
    return scheme, x, numbers, normalize(x, scheme, *numbers)


def live(at):
    """The live formula of the locked element, from the core."""
    scheme, x, numbers, result = computed(at)
    focus = at.session_state["focus"]
    return [line.latex for line in notation.live(scheme, x.shape, focus, element(x, result, scheme, focus), *numbers)]


def traces(at, key):
    """What a figure draws."""
    return plots(at)[key]["figure"]["data"]


def said(at):
    """All its text."""
    return " ".join(texts(at.markdown))


def latex(at):
    """The formulas on the page."""
    return [line.value.strip("$\n") for line in at.latex]


def texts(elements):
    """What they say."""
    return [each.value for each in elements]
