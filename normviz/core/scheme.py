"""The type of a scheme, and how schemes are looked up."""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite, prod
from typing import Any

from normviz.core.aliases import find_scheme_key, suggest_key
from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, FULL, MAX_WINDOW_ELEMENTS, Field, Rule, Shape
from normviz.core.kinds.base import Kind
from normviz.core.kinds.general import GENERAL
from normviz.core.kinds.pointwise import POINTWISE_FUNCTIONS, PointwiseFunction

DEFAULT_EPS = 1e-5


@dataclass(frozen=True)
class Reference:
    """Source of a scheme: a citation, and its arXiv number if it has one."""

    text: str
    arxiv: str | None = None

    @property
    def url(self) -> str | None:
        """The address of the paper on arXiv, or None."""
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else None


@dataclass(frozen=True)
class Scheme:
    """Normalization scheme: v = x - E_A[x]; x̂ = scale · v / sqrt(ε + E_B[v²]); y = γ x̂ + β.

    Four schemes stand outside this form, by their kind: spectral norm divides by the largest singular value, whitening
    multiplies by the inverse root of a covariance matrix, and two have no statistics: x̂ = f(αx + s).

    Attributes:
        key: name in links, files and on the command line.
        name: name in sentences.
        label: short name on buttons.
        about: its effect, in one sentence.
        reference: the paper; also: other papers with the same A and B under another name.
        acts_on: "activation" (N, H, W, C), "weight" (kh, kw, Cin, Cout), "both" or "none".
        summation: A, the field whose mean is subtracted; None: no centring.
        suppression: B, the field whose root mean square divides; None: no division.
        eps: the default ε; None if the paper has none (it is then 0).
        gain, bias: the axes along which γ and β vary; None: not learned. An empty tuple: one number.
        gain_symbol: the paper's name of the gain.
        threshold: the axes along which τ of its own activation max(y, τ) varies; None: no such activation.
        keeps: the state that the layer keeps for inference, beside its parameters.
        per_fan_in: the normalized weights are also divided by sqrt(fan-in), so that each vector has length 1.
        kind: the computation of x̂ from v.
        alpha, shift: the first values of the learned α and s; s is None if the scheme has none.
        weight: key of the scheme that normalizes the weights in front of this one.
        torch, keras: the framework's layer, with N, H, W, C, the groups G and eps as placeholders; PyTorch's has
            channels first (last if only channels are averaged), Keras' has channels last. None: no such layer.
    """

    key: str
    name: str
    label: str
    about: str
    reference: Reference
    also: tuple[Reference, ...] = ()
    acts_on: str = "activation"
    summation: Field | None = None
    suppression: Field | None = None
    eps: float | None = DEFAULT_EPS
    gain: tuple[str, ...] | None = ("C",)
    bias: tuple[str, ...] | None = ("C",)
    gain_symbol: str = "γ"
    threshold: tuple[str, ...] | None = None
    keeps: tuple[str, ...] = ()
    per_fan_in: bool = False
    kind: Kind = GENERAL
    alpha: float = 1.0
    shift: float | None = None
    weight: str | None = None
    torch: str | None = None
    keras: str | None = None

    def __repr__(self) -> str:
        if self.is_custom:
            parameters: dict[str, object] = {"summation": str(self.summation), "suppression": str(self.suppression)}
        else:
            parameters = self.parameters
        return f"Scheme({', '.join([repr(self.key), *(f'{name}={value!r}' for name, value in parameters.items())])})"

    @property
    def tensor(self) -> str:
        """The kind of tensor that the scheme normalizes, a key of `AXES`: "weight" if it normalizes weights only."""
        return "weight" if self.acts_on == "weight" else "activation"

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the four axes of the normalized tensor: N, H, W, C, or kh, kw, Cin, Cout for weights."""
        return AXES[self.tensor]

    @property
    def is_weight_scheme(self) -> bool:
        """True if the scheme normalizes weights and no activations."""
        return self.acts_on == "weight"

    @property
    def is_custom(self) -> bool:
        """True if its fields are chosen by the user."""
        return self.key == "custom"

    @property
    def is_activation_scheme(self) -> bool:
        """True if the scheme normalizes activations and no weights."""
        return self.acts_on == "activation"

    @property
    def is_baseline(self) -> bool:
        """True for the scheme "none", which normalizes nothing by definition."""
        return self.acts_on == "none"

    @property
    def symbol(self) -> str:
        """The letter of the normalized tensor in formulas: x or w."""
        return {"activation": "x", "weight": "w"}[self.tensor]

    @property
    def references(self) -> tuple[Reference, ...]:
        """The paper of the scheme, then papers on the same fields under another name."""
        return self.reference, *self.also

    @property
    def fields(self) -> tuple[Field, ...]:
        """The summation field A (mean) and the suppression field B (divisor), without those that the scheme lacks."""
        return tuple(field for field in (self.summation, self.suppression) if field is not None)

    @property
    def field(self) -> Field | None:
        """The field that pages show first: the divisor's field B, or the mean's field A if nothing divides."""
        return self.suppression or self.summation

    @property
    def function(self) -> PointwiseFunction | None:
        """The function of a pointwise scheme; None for other schemes."""
        return None if self.kind.function is None else POINTWISE_FUNCTIONS[self.kind.function]

    @property
    def function_parameters(self) -> dict[str, float]:
        """The learned parameters of the function of a pointwise scheme, by symbol: α and, if it has one, s; else {}."""
        known = {"α": self.alpha, "s": self.shift} if self.kind.function is not None else {}
        return {name: number for name, number in known.items() if number is not None}

    @property
    def has_effect(self) -> bool:
        """True if x̂ differs from x: the scheme has a field or a function."""
        return bool(self.fields) or self.function is not None

    @property
    def has_xhat(self) -> bool:
        """True if x̂ differs from the centred tensor v: the scheme divides or has a function."""
        return self.suppression is not None or self.function is not None

    def compute_argument(self, x: Any) -> Any:
        """Compute αx + s, the argument of the function f of a pointwise scheme x̂ = f(αx + s)."""
        return self.alpha * x + (self.shift or 0.0)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the scheme: {"groups": 2}, {"window": 1} or {}; {"alpha": 0.5} if it is pointwise."""
        if self.function is not None:
            return {"alpha": self.alpha}
        return {kind: value for field in reversed(self.fields) for kind, value in field.parameters().items()}

    @property
    def weight_part(self) -> "Scheme | None":
        """The scheme that normalizes the weights: this one, the weight scheme applied before it, or None.

        In front it has no ε: the one ε to set is that of the activations.
        """
        if self.is_weight_scheme:
            return self
        return None if self.weight is None else replace(SCHEMES[self.weight], eps=None)

    @property
    def activation_part(self) -> "Scheme | None":
        """The scheme that normalizes the pre-activations: this one, or None if it normalizes weights only."""
        return None if self.is_weight_scheme else self

    @property
    def is_general_form(self) -> bool:
        """True if the scheme divides by a root mean square over a field, or does not divide at all."""
        return self.kind == GENERAL

    @property
    def divides_by_variance(self) -> bool:
        """True if E_B[v²] is a variance, with one mean for all elements that share it; never with windows."""
        a, b = self.summation, self.suppression
        return a is not None and a == b and a == a.with_full_windows

    def compute_scale(self, shape: Shape) -> float:
        """Return the constant factor in x̂: 1 / sqrt(fan-in) for a scheme that is `per_fan_in`, otherwise 1."""
        return prod(shape[:-1]) ** -0.5 if self.per_fan_in else 1.0

    def count_covariances(self, shape: Shape) -> int:
        """Return the number of channel groups that are whitened, each by a covariance matrix; 0 for other schemes."""
        return self.kind.count_covariances(self, shape)

    def averages_like(self, fields: tuple[Field | None, Field | None], shape: Shape) -> bool:
        """Return True if the mean and the divisor average over the same elements of this shape as these two fields."""
        pairs = zip((self.summation, self.suppression), fields, strict=True)
        return self.fits(shape) and all(
            own is field if own is None or field is None else own.simplify(shape) == field.simplify(shape)
            for own, field in pairs
        )

    def find_grouped_axes(self, shape: Shape) -> dict[str, int]:
        """Return the lengths of the axes that the scheme cuts into groups, by name."""
        lengths = zip(self.axes, shape, strict=True)
        cut = [any(field.rules[axis].kind == "groups" for field in self.fields) for axis in range(4)]
        return {axis: n for (axis, n), is_cut in zip(lengths, cut, strict=True) if is_cut}

    def with_parameters(
        self, groups: int | None = None, radius: int | None = None, alpha: float | None = None
    ) -> "Scheme":
        """Return the scheme with another number of groups, window radius or α, if it has such a parameter."""
        if self.function is not None:
            return self if alpha is None else replace(self, alpha=alpha)
        given = (self.summation, self.suppression)
        return self.with_fields(*(f and f.with_parameters(groups=groups, window=radius) for f in given))

    def with_fields(self, summation: Field | None, suppression: Field | None) -> "Scheme":
        """Return the scheme with these summation and suppression fields (mean and divisor)."""
        return replace(self, summation=summation, suppression=suppression)

    def remove_normalization(self) -> "Scheme":
        """Return the scheme "none" for a tensor with the same axes."""
        return replace(SCHEMES["none"], acts_on=self.acts_on)

    def with_weight_scheme(self, weight: str | None) -> "Scheme":
        """Return this scheme for pre-activations whose weights are normalized by the scheme of key `weight`, if any.

        Raises:
            InvalidInput: this scheme does not normalize activations or has a fixed weight scheme, or the key is not
                that of a weight scheme.
        """
        if weight == self.weight:
            return self
        row = SCHEMES[self.key]
        if not row.is_activation_scheme:
            why = "does not normalize activations" if row.weight is None else "has its own in front"
            raise InvalidInput(f"{row.name} {why}: no scheme of weights can be put there.")
        plain = replace(self, acts_on=row.acts_on, weight=None, name=row.name, label=row.label, about=row.about)
        if weight is None:
            return plain
        if weight not in SCHEMES or not SCHEMES[weight].is_weight_scheme:
            known = [key for key, each in SCHEMES.items() if each.is_weight_scheme]
            raise InvalidInput(f"{weight!r} is not a scheme of weights; {', '.join(known)} are.")
        front = SCHEMES[weight]
        return replace(
            plain,
            acts_on="both",
            weight=weight,
            name=f"{plain.name} behind {front.name}",
            label=f"{plain.label} + {front.label.lower()}",
            about=f"{plain.about} In front of it stands {front.name}.",
        )

    def check(self, shape: Shape, max_elements: int = MAX_WINDOW_ELEMENTS) -> None:
        """Raise InvalidInput if a field does not fit the shape; `max_elements` is that of `Field.check`."""
        self.kind.check(self, shape, max_elements)

    def fits(self, shape: Shape) -> bool:
        """Return True if every field fits the shape."""
        try:
            self.check(shape)
        except InvalidInput:
            return False
        return True

    def compute_canonical_key(self, shape: Shape) -> tuple[Any, ...]:
        """Return a key that is equal for schemes that compute the same on this shape."""
        a, b = (None if f is None else f.simplify(shape) for f in (self.summation, self.suppression))
        inside = tuple(self.function_parameters.items())
        return self.axes, a, b, self.per_fan_in, self.kind.simplify(a, b), inside, self.weight


SCHEMES: dict[str, Scheme] = {}
"""Every scheme by key, in the order in which the app shows them; `normviz.core.registry` holds the rows."""


def get_scheme(key: str, groups: int | None = None, radius: int | None = None, alpha: float | None = None) -> Scheme:
    """Return the registered scheme of this key, with G groups, window radius R or another α if it has such a parameter.

    Other names stand for keys: get_scheme("GroupNorm") and get_scheme("gn") are get_scheme("group").

    >>> from normviz import get_scheme
    >>> group = get_scheme("group", groups=2)
    >>> group.name, group.parameters, str(group.summation)
    ('group normalization', {'groups': 2}, 'own,full,full,groups(2)')

    Raises:
        InvalidInput: an unknown key, fewer than one group, a negative radius, or an α that is not above 0.
    """
    found = find_scheme_key(key, SCHEMES) if isinstance(key, str) else None
    if found is None:
        raise InvalidInput(f"{key!r} is not a scheme; {suggest_key(str(key), SCHEMES)}")
    if alpha is not None and not (isfinite(alpha) and alpha > 0):
        raise InvalidInput(f"α is a number above 0; this one is {alpha}.")
    return _build_with_parameters(found, groups, radius, alpha)


@lru_cache(maxsize=1024, typed=True)
def _build_with_parameters(key: str, groups: int | None, radius: int | None, alpha: float | None) -> Scheme:
    for kind, value in (("groups", groups), ("window", radius)):
        if value is not None:
            Rule(kind, value)  # raises for 0 groups and for a negative radius, also where the scheme has no such rule
    return SCHEMES[key].with_parameters(groups, radius, alpha)


def make_custom_scheme(summation: Field | None, suppression: Field | None, *, weight: str | None = None) -> Scheme:
    """Return a scheme that averages over these fields, for a layer with the weight scheme of key `weight`, if any."""
    return SCHEMES["custom"].with_fields(summation, suppression).with_weight_scheme(weight)


def find_named_schemes(scheme: Scheme, shape: Shape) -> list[Scheme]:
    """Return the registered schemes that compute the same x̂ as this one on a shape, the simplest first.

    A registered scheme stands for itself alone.
    """
    return find_equal_schemes(scheme, shape) if scheme.is_custom else [scheme]


def find_equal_schemes(scheme: Scheme, shape: Shape) -> list[Scheme]:
    """Return the other registered schemes that compute the same x̂ on this shape, the simplest first.

    A scheme with a paper precedes one without, the general form the others, and no groups or windows precede some. A
    scheme with groups or windows is returned with the G or smallest R for which it is equal. The shapes of γ and β are
    not compared: group norm with one group is layer norm, though PyTorch's gains differ in shape. Behind a weight
    scheme, the schemes equal to this one are returned behind it; if nothing else is computed, that weight scheme.
    """
    if scheme.weight is None:
        return list(_find_equal_schemes(scheme, tuple(shape)))
    if not scheme.has_effect:
        return [SCHEMES[scheme.weight]]
    alone = replace(scheme, key="custom", acts_on="activation", weight=None)
    rows = {row.name: row for row in SCHEMES.values()}
    behind = (row.with_weight_scheme(scheme.weight) for row in _find_equal_schemes(alone, tuple(shape)))
    return [rows.get(row.name, row) for row in behind if row.name != scheme.name]


@lru_cache(maxsize=1024)
def _find_equal_schemes(scheme: Scheme, shape: Shape) -> tuple[Scheme, ...]:
    own = scheme.compute_canonical_key(shape)
    rows = (row for row in SCHEMES.values() if row.key != scheme.key and not row.is_custom)
    others = (_match_parameters(row, scheme, shape) for row in rows)
    found = [row for row in others if row.fits(shape) and row.compute_canonical_key(shape) == own]
    return tuple(sorted(found, key=rank_by_plainness))


def rank_by_plainness(scheme: Scheme) -> tuple[bool, ...]:
    """Return a sort key: schemes with a paper first, then of the general form, then without parameters."""
    return scheme.reference.arxiv is None, not scheme.is_general_form, bool(scheme.parameters)


def _match_parameters(row: Scheme, scheme: Scheme, shape: Shape) -> Scheme:
    """Return the registered scheme `row` with the groups and window radius that bring it closest to `scheme`."""
    groups, radii = [1], [0]
    for theirs, ours in zip(row.fields, scheme.fields, strict=False):
        for rule, other, n in zip(theirs.rules, ours.simplify(shape).rules, shape, strict=True):
            if rule.kind == "groups":
                groups.append(n if other.kind == "window" else other.count_statistics(n))
            elif rule.kind == "window":
                radii.append(n - 1 if other == FULL else other.parameter_or_zero if other.kind == "window" else 0)
    return row.with_parameters(max(groups), max(radii))
