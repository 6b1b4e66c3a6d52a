"""Redirects of former pages and panels."""

from collections.abc import Mapping
from dataclasses import dataclass

LinkParameters = Mapping[str, str]


@dataclass(frozen=True)
class Redirect:
    """Redirect from a former page to a panel of the page that replaced it.

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
        """Convert a link of the former page to one of the new page.

        Example:
            >>> REDIRECTS["readings"].link({"try": "blog"})
            {'try': 'blog', 'panel': 'detect'}
        """
        return {**former, "panel": self.other_panel if self.names & former.keys() else self.panel}


REDIRECTS = {"readings": Redirect("identities", "variants", "detect", frozenset({"try", "layout"}))}
"""Redirects by the address of the former page, which is also the name of its script."""


def replace_scale_link(former: LinkParameters) -> tuple[str, dict[str, str]]:
    """Convert a link of the former panel "Scale of W" to the new page and its link.

    Table 1 shows the same change, all weights times a factor, for the same scheme.

    Example:
        >>> replace_scale_link({"show": "scale", "scheme": "layer", "a": "10"})
        ('invariance', {'schemes': 'layer', 'cell': 'layer.weight-matrix-rescaling', 'delta': '10'})
    """
    scheme = former.get("scheme", "batch")
    target = {"schemes": scheme, "cell": f"{scheme}.weight-matrix-rescaling", "delta": former.get("a", "3")}
    return "invariance", target | {name: former[name] for name in ("eps", "groups", "radius") if name in former}
