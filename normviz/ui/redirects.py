"""Redirects of former pages and panels."""

from collections.abc import Mapping
from dataclasses import dataclass

LinkParameters = Mapping[str, str]


@dataclass(frozen=True)
class Redirect:
    """A page that has become a panel of another one.

    Attributes:
        page: the name of the other page's script.
        panel: the value of `panel` in its link.
        other_panel: the panel for links that hold one of `names`.
    """

    page: str
    panel: str
    other_panel: str
    names: frozenset[str]

    def make_link(self, former: LinkParameters) -> dict[str, str]:
        """Return the link on the other page for a link of the former page.

        Example:
            >>> REDIRECTS["readings"].link({"try": "blog"})
            {'try': 'blog', 'panel': 'detect'}
        """
        return {**former, "panel": self.other_panel if self.names & former.keys() else self.panel}


REDIRECTS = {"readings": Redirect("identities", "variants", "detect", frozenset({"try", "layout"}))}
"""Redirects by the address of the former page, which is also the name of its script."""


def replace_scale_link(former: LinkParameters) -> tuple[str, dict[str, str]]:
    """Return the page and the link that replace a link of the former panel "Scale of W" of the page on gradients.

    Table 1 shows the same change, all weights times a factor, for the same scheme.

    Example:
        >>> replace_scale_link({"show": "scale", "scheme": "layer", "a": "10"})
        ('invariance', {'schemes': 'layer', 'cell': 'layer.weight-matrix-rescaling', 'delta': '10'})
    """
    scheme = former.get("scheme", "batch")
    target = {"schemes": scheme, "cell": f"{scheme}.weight-matrix-rescaling", "delta": former.get("a", "3")}
    return "invariance", target | {name: former[name] for name in ("eps", "groups", "radius") if name in former}
