"""Values that a candidate of the detector gives to y, before and after γ and β are fitted.

Arrays have the four axes of x, and one before them where they differ between several ε.
"""

from typing import Any, NamedTuple

import numpy as np

from normviz.core.fields import AXES

ALL_AXES = (-4, -3, -2, -1)
"""The axes of x, behind any axis of several ε."""


class FitTrial(NamedTuple):
    """x̂ of a candidate scheme at one or several ε, with a bound of its rounding errors.

    Attributes:
        lost: bound of the rounding error of each element, relative to its size.
        size: size of the numbers that each element comes from; 1 if centred numbers are divided.
        linear: x̂ without the division: x − E_B[x]. None if nothing divides.
        divisors: the statistics that divide; None if nothing divides.
        is_affine: True if x̂ is an affine function of each channel.
        sure: share of the bound that holds unless the variance is a difference of squares.
    """

    eps: tuple[float, ...]
    xhat: np.ndarray
    lost: np.ndarray
    size: np.ndarray
    linear: np.ndarray | None = None
    divisors: "Divisors | None" = None
    is_affine: bool = False
    sure: np.ndarray = np.ones((1,) * 4)

    def select_channels(self, channels: slice) -> "FitTrial":
        """Return the trial restricted to some channels."""
        xhat, lost, size, sure = (each[..., channels] for each in (self.xhat, self.lost, self.size, self.sure))
        linear = None if self.linear is None else self.linear[..., channels]
        divisors = None if self.divisors is None else self.divisors.select_channels(channels)
        return self._replace(xhat=xhat, lost=lost, size=size, sure=sure, linear=linear, divisors=divisors)

    def select_eps(self, at: int | slice) -> "FitTrial":
        """Return the trial at one or some of several ε."""
        divisors = None if self.divisors is None else Divisors(*(_select_at_eps(each, at) for each in self.divisors))
        arrays = FitTrial(*(_select_at_eps(each, at) for each in self))
        return arrays._replace(eps=(self.eps[at],) if isinstance(at, int) else self.eps[at], divisors=divisors)


class Divisors(NamedTuple):
    """Statistics √(σ² + ε) by which a scheme divides, given for every element of x̂.

    Attributes:
        number: the number of each element's statistic.
        logarithm: its natural logarithm.
        unmixed: of whitening, x̂ if each channel were divided alone.
        mixed: of whitening, the number of channels in a group.
    """

    number: np.ndarray
    logarithm: np.ndarray
    unmixed: np.ndarray | None = None
    mixed: int = 1

    def select_channels(self, channels: slice) -> "Divisors":
        """Return the divisors restricted to some channels."""
        unmixed = None if self.unmixed is None else self.unmixed[..., channels]
        return self._replace(
            number=self.number[..., channels], logarithm=self.logarithm[..., channels], unmixed=unmixed
        )


class FittedValues(NamedTuple):
    """Values that a candidate predicts for y: γ x̂ + β, or x̂ alone.

    Attributes:
        allowed: bound of the rounding error of each value.
        usable: elements that are not ignored.
        free: number of elements minus the number of fitted γ and β, with the axes of y.
        varying: y minus the constant that β explains, whose digits a fit has to explain.
        along: axes along which γ and β were fitted.
    """

    values: np.ndarray
    allowed: np.ndarray
    usable: np.ndarray
    free: np.ndarray
    varying: np.ndarray
    gain: np.ndarray
    bias: np.ndarray
    along: tuple[str, ...] = ()

    def select_eps(self, k: int) -> "FittedValues":
        """Return the values at one of several ε."""
        return FittedValues(*(_select_at_eps(each, k) for each in self))


def _select_at_eps(values: Any, at: int | slice) -> Any:
    """Return the entries at some ε of an array whose first axis is ε; other values unchanged."""
    return values[at] if isinstance(values, np.ndarray) and values.ndim > len(ALL_AXES) else values


def list_other_axes(along: tuple[str, ...]) -> tuple[int, ...]:
    """List the axes of (N, H, W, C) along which γ and β do not vary, counted from the end."""
    return tuple(k - 4 for k, axis in enumerate(AXES["activation"]) if axis not in along)
