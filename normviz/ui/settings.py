"""The controls of declared values: the widget, its limits, its label and its texts follow from the declaration."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from normviz.core.settings import Choice, Declaration, DependentValue, NumberChoice, Real, get_declarations
from normviz.ui.link import KEPT, View
from normviz.web.components.drag import drag

Usual = dict[str, Any]
"""What every widget of Streamlit is told: key, label, help, and what to do when it is used."""


class Controls:
    """The controls of a page's declared values: each is drawn once, and only where its value means something.

    A widget's key in the session is that of its value: the prefix and the name. When a control is used, the values
    whose default depends on it return to their default.

    Args:
        kind: the dataclass of the declared values.
        prefix: of their keys in the session.
        view: the values as they are now.
        has: (view, name) -> whether a value means anything in this view.
    """

    def __init__(
        self, kind: type, prefix: str, view: View, has: Callable[[View, str], bool] = lambda view, name: True
    ) -> None:
        self.declared, self.prefix, self.view, self.has = get_declarations(kind), prefix, view, has
        self.waiting = [name for name, each in self.declared.items() if each.label]

    def draw(self, *names: str) -> None:
        """The controls of these values, in this order."""
        for name in names:
            self.waiting.remove(name)
            if self.has(self.view, name):
                declared = self.declared[name]
                WIDGETS[declared.control](declared, self.view, self._usual(declared))

    def rest(self, *but: str) -> None:
        """The controls that have no place yet, but for these, in the order of their declaration."""
        self.draw(*(name for name in self.waiting if name not in but))

    def _usual(self, declared: Declaration) -> Usual:
        name = declared.name
        followers = [
            each
            for each in self.declared.values()
            if isinstance(each.default, DependentValue) and each.default.name == name
        ]
        return {
            "key": self.prefix + name,
            "label": declared.title(self.view),
            "help": declared.help or None,
            "on_change": (lambda: self._reset(name, followers)) if followers else None,
            **KEPT,
        }

    def _reset(self, name: str, followers: Sequence[Declaration]) -> None:
        for each in followers:
            st.session_state[self.prefix + each.name] = each.resolve_default(
                {name: st.session_state[self.prefix + name]}
            )


def stops(declared: Declaration, view: View) -> list[float]:
    """The values that a slider offers: its stops, and the value that there is, which may be a link's."""
    assert isinstance(declared, Real)
    return sorted({*declared.stops, view[declared.name]})


def options(declared: Declaration, view: View) -> Sequence[Any]:
    """The values to choose from."""
    if isinstance(declared, NumberChoice | Choice):
        return declared.options(view)
    least, most = limits(declared, view)
    return range(int(least), int(most) + 1)


def limits(declared: Declaration, view: View) -> tuple[float, float]:
    """The smallest and the largest value that may be entered."""
    assert isinstance(declared, Real)
    return declared.entered or declared.limits(view)


def _segments(declared: Declaration, view: View, usual: Usual) -> None:
    st.segmented_control(options=options(declared, view), format_func=declared.words, required=True, **usual)


def _pills(declared: Declaration, view: View, usual: Usual) -> None:
    st.pills(options=options(declared, view), format_func=declared.words, selection_mode="multi", **usual)


def _menu(declared: Declaration, view: View, usual: Usual) -> None:
    st.selectbox(options=options(declared, view), format_func=declared.words, **usual)


def _stops(declared: Declaration, view: View, usual: Usual) -> None:
    st.select_slider(options=stops(declared, view), format_func=declared.words, **usual)


def _slider(declared: Declaration, view: View, usual: Usual) -> None:
    least, most = limits(declared, view)
    st.slider(min_value=least, max_value=most, **usual)


def _number(declared: Declaration, view: View, usual: Usual) -> None:
    least, most = limits(declared, view)
    st.number_input(min_value=least, max_value=most, **usual)


def _toggle(declared: Declaration, view: View, usual: Usual) -> None:
    st.toggle(**usual)


def _drag(declared: Declaration, view: View, usual: Usual) -> None:
    values = stops(declared, view)

    def moved() -> None:
        st.session_state[usual["key"]] = values[int(st.session_state[f"{declared.name} drag"]["index"])]

    texts = [declared.words(value) for value in values]
    drag(usual["label"], texts, values.index(view[declared.name]), declared.name, moved)


WIDGETS: dict[str, Callable[[Declaration, View, Usual], None]] = {
    "segments": _segments,
    "pills": _pills,
    "menu": _menu,
    "stops": _stops,
    "slider": _slider,
    "number": _number,
    "toggle": _toggle,
    "drag": _drag,
}
"""By what a declaration calls its control. What is dragged is followed by the page: draw it last, in a container."""
