"""The tensor lab run by Streamlit without a browser, and what it shows."""

from pathlib import Path

import numpy as np
import written
from streamlit.testing.v1 import AppTest
from unpacked import shown

from normviz.core.kinds.whitening import compute_inverse_root
from normviz.core.normalize import LayerScalars, normalize
from normviz.core.registry import SCHEMES
from normviz.core.statistics import compute_element_steps
from normviz.data.samples import SAMPLES
from normviz.describe import live as formulas
from normviz.describe import wording
from normviz.describe.mathml import convert_to_mathml
from normviz.topics.lab import state as lab
from normviz.topics.lab.controls import ADVANCED_EXPANDER, LOOK
from normviz.topics.table1.controls import ROWS, SETTINGS
from normviz.ui import scheme as chosen
from normviz.ui import tensor
from normviz.ui.expandable import get_open_key
from normviz.ui.scheme_picker import COMMON_SCHEMES, make_state_key

ROOT = Path(__file__).parents[1]
ACTIVATION = [key for key, scheme in SCHEMES.items() if not scheme.is_weight_scheme]


OPENED = (lab.BELOW_KEY, *map(get_open_key, (ADVANCED_EXPANDER, LOOK, ROWS, SETTINGS)))
"""What a page draws only once it was opened, or scrolled into sight."""


def open_lab(script="pages/tensor_lab.py", theme="light", opened=OPENED, **link):
    """The page of a link, in a session of its own, in which the parts `opened` were opened before."""
    at = AppTest.from_file(ROOT / script, default_timeout=60)
    at.context["theme"] = theme
    at.query_params.update(link)
    for part in opened:
        at.session_state[part] = True
    return sound(at.run())


def sound(at):
    """The page after a run, which raised nothing."""
    assert not at.exception, at.exception[0].message
    return at


def pick(at, key):
    """The page once another scheme has been chosen, on its pill or in the menu."""
    common = key in COMMON_SCHEMES
    widget = (
        at.pills(key=make_state_key("scheme", "common"))
        if common
        else at.selectbox(key=make_state_key("scheme", "more"))
    )
    return sound(widget.set_value(key).run())


def plots(at):
    """What each component shows, by the key of its element."""
    return {key: shown(message) for key, message in messages(at).items()}


def messages(at):
    """What is sent for each component but the bars of every page, by the key of its element."""
    protos = [component.proto for component in at.get("bidi_component")]
    found = {proto.id.rpartition("-")[2].removesuffix(" plot"): proto.bytes for proto in protos}
    return {key: sent for key, sent in found.items() if key not in ("toolbar", "picked")}


def view_of(at):
    """All values of the link, as the session holds them."""
    return {param.key: at.session_state[param.key] for param in lab.PARAMS}


def computed(at):
    """Scheme, tensor, ε, γ, β and result for what the page is set to, from the core."""
    view, state = view_of(at), at.session_state
    scheme = chosen.build_scheme(view)
    own = view["data"] == "own" and "own" in state
    x = state["own"] if own else SAMPLES[view["data"]].make(tensor.get_view_shape(view), view["seed"])
    has = {"eps": scheme.eps is not None, "gain": scheme.gain is not None, "bias": scheme.bias is not None}
    numbers = [view[key] if has[key] else absent for key, absent in (("eps", 0.0), ("gain", 1.0), ("bias", 0.0))]
    return scheme, x, numbers, normalize(x, scheme, *numbers)


def live(at):
    """The field, the statistics and the formulas of the locked element, from the core, in the words of a browser."""
    scheme, x, (eps, gain, bias), result = computed(at)
    focus = at.session_state["focus"]
    steps, numbers = (
        compute_element_steps(x, result, scheme, focus),
        formulas.compute_live_numbers(scheme, x, result, LayerScalars(eps, gain, bias)),
    )
    own = {"x": steps.x, "mean": steps.mean, "v": steps.v, "xhat": steps.xhat, "y": steps.y}
    own |= {"eps": eps, "gain": gain, "bias": bias, **dict(zip("nhwc", focus, strict=True))}
    form = int(written.look_up(numbers["form"], focus, x.shape)) if "form" in numbers else 0
    if steps.deviation is not None:
        own["divides"] = written.look_up(numbers["divides"], focus, x.shape)
    if scheme.kind.key == "whitening":
        groups = scheme.count_covariances(x.shape)
        group, row = divmod(focus[3], x.shape[3] // groups)
        v = np.split(result.v, groups, axis=3)[group]
        own["divides"] = v[..., row].var()
        own |= {f"w{k}": float(w) for k, w in enumerate(compute_inverse_root(result.v, groups, eps)[group, row])}
        own |= {f"v{k}": float(each) for k, each in enumerate(v[focus[:3]])}
    lines = [*formulas.build_statistic_formulas(scheme), *formulas.build_step_formulas(scheme, x.shape)]
    bound = wording.SchemeOnShape(scheme, x.shape)
    boxes = zip(bound.statistics, bound.describe_boxes(focus), strict=True)
    words = [wording.describe_field_box(part.field, focus, x.shape, scheme.axes, box.shared) for part, box in boxes]
    return words + [
        written.said(convert_to_mathml(line.forms[form % len(line.forms)]), own.__getitem__) for line in lines
    ]


def beside(at):
    """What is sent to a browser of the same, and becomes of it there."""
    data = plots(at)["element shown"]
    index, shape = data["focus"], data["shape"]

    def number(name):
        if name in "nhwc":
            return index["nhwc".index(name)]
        values, counts = np.asarray(data["numbers"][name]["values"]), data["numbers"][name]["shape"]
        return written.look_up(formulas.ElementNumbers(values, counts), index, shape)

    form = int(number("form")) if "form" in data["numbers"] else 0
    words = [written.field_words(field, field["words"], index, shape) for field in data["fields"]]
    lines = [line["forms"] for part in ("statistics", "lines") for line in data[part]]
    return words + [written.said("".join(forms[form % len(forms)]), number) for forms in lines]


def traces(at, key):
    """What a figure draws."""
    return plots(at)[key]["figure"]["data"]


def said(at):
    """All its text."""
    return " ".join(texts(at.markdown))


def latex(at):
    """The formulas on the page."""
    return [line.value.strip("$\n") for line in at.latex]


def replaced(at):
    """What the page says it had to replace, each in a line."""
    return [line for text in texts(at.markdown) for line in text.split("  \n") if line.endswith(" is used.")]


def texts(elements):
    """What they say."""
    return [each.value for each in elements]
