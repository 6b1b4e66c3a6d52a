"""Links from the page on design to others."""

from normviz.core.scheme import Scheme
from normviz.table1 import state as table1
from normviz.ui.scheme import link_of


def table_link(scheme: Scheme) -> dict[str, str]:
    """What a link to Table 1 says of one scheme: its key, and of its rules what that page takes."""
    known = {param.name for param in table1.PARAMS}
    return {"schemes": scheme.key} | {name: value for name, value in link_of(scheme).items() if name in known}
