"""Controls of declared values: widget, limits, label and texts follow from the declaration."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from normviz.core.settings import Choice, Declaration, DependentValue, NumberChoice, Real, get_declarations
from normviz.ui.link import View
from normviz.ui.locks import make_widget_arguments
from normviz.web.components.drag import show_drag_slider

WidgetOptions = dict[str, Any]
"""Arguments of every Streamlit widget: key, label, help, and callback."""


class Controls:
    """Controls of a page's declared settings: each is drawn once, and only if its value is relevant.

    A widget's key in the session is the prefix and the value's name. When a control is used, values whose default
    depends on it return to their default.

    Args:
        kind: the dataclass of the declared values.
        prefix: of their keys in the session.
        view: the current values.
        has: (view, name) -> True if a value is relevant in this view.
    """

    def __init__(
        self, kind: type, prefix: str, view: View, has: Callable[[View, str], bool] = lambda view, name: True
    ) -> None:
        self.declared, self.prefix, self.view, self.has = get_declarations(kind), prefix, view, has
        self.waiting = [name for name, each in self.declared.items() if each.label]

    def draw(self, *names: str) -> None:
        """Draw the controls of the settings with these names, in this order."""
        for name in names:
            self.waiting.remove(name)
            if self.has(self.view, name):
                declared = self.declared[name]
                WIDGETS[declared.control](declared, self.view, self._make_widget_options(declared))

    def draw_rest(self, *excluded: str) -> None:
        """Draw the controls that are not drawn yet, in the order of declaration; `excluded`: names to skip."""
        self.draw(*(name for name in self.waiting if name not in excluded))

    def _make_widget_options(self, declared: Declaration) -> WidgetOptions:
        name = declared.name
        followers = [
            each
            for each in self.declared.values()
            if isinstance(each.default, DependentValue) and each.default.name == name
        ]
        return {
            **make_widget_arguments(self.prefix + name),
            "label": declared.resolve_label(self.view),
            "help": declared.help or None,
            "on_change": (lambda: self._reset(name, followers)) if followers else None,
        }

    def _reset(self, name: str, followers: Sequence[Declaration]) -> None:
        for each in followers:
            st.session_state[self.prefix + each.name] = each.resolve_default(
                {name: st.session_state[self.prefix + name]}
            )


def list_stops(declared: Declaration, view: View) -> list[float]:
    """List the values of a slider, including the current value, which may come from a link."""
    assert isinstance(declared, Real)
    return sorted({*declared.stops, view[declared.name]})


def list_options(declared: Declaration, view: View) -> Sequence[Any]:
    """List the options of a choice."""
    if isinstance(declared, NumberChoice | Choice):
        return declared.list_options(view)
    least, most = get_limits(declared, view)
    return range(int(least), int(most) + 1)


def get_limits(declared: Declaration, view: View) -> tuple[float, float]:
    """Return the smallest and the largest value that may be entered."""
    assert isinstance(declared, Real)
    return declared.entered or declared.compute_limits(view)


def _offer_options(declared: Declaration, view: View) -> WidgetOptions:
    return {"options": list_options(declared, view), "format_func": declared.format_for_page}


def _offer_stops(declared: Declaration, view: View) -> WidgetOptions:
    return {"options": list_stops(declared, view), "format_func": declared.format_for_page}


def _limit_numbers(declared: Declaration, view: View) -> WidgetOptions:
    return dict(zip(("min_value", "max_value"), get_limits(declared, view), strict=True))


def _draw_drag_slider(declared: Declaration, view: View, widget_options: WidgetOptions) -> None:
    values = list_stops(declared, view)

    def moved() -> None:
        st.session_state[widget_options["key"]] = values[int(st.session_state[f"{declared.name} drag"]["index"])]

    texts = [declared.format_for_page(value) for value in values]
    show_drag_slider(
        widget_options["label"], texts, values.index(view[declared.name]), declared.name, moved,
        disabled=widget_options["disabled"],
    )  # fmt: skip


WIDGETS: dict[str, Callable[[Declaration, View, WidgetOptions], object]] = {
    "segments": lambda declared, view, options: st.segmented_control(
        **_offer_options(declared, view), required=True, **options
    ),
    "pills": lambda declared, view, options: st.pills(
        **_offer_options(declared, view), selection_mode="multi", **options
    ),
    "menu": lambda declared, view, options: st.selectbox(**_offer_options(declared, view), **options),
    "stops": lambda declared, view, options: st.select_slider(**_offer_stops(declared, view), **options),
    "slider": lambda declared, view, options: st.slider(**_limit_numbers(declared, view), **options),
    "number": lambda declared, view, options: st.number_input(**_limit_numbers(declared, view), **options),
    "toggle": lambda declared, view, options: st.toggle(**options),
    "drag": _draw_drag_slider,
}
"""Widgets by the name of a declaration's control. A page follows a dragged slider: draw it last, in a container."""
