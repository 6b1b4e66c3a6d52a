"""A text to copy, in a field with a button."""

from normviz.web.components.component import create_component

HTML = (
    '<div class="nv-copying"><label><span></span><textarea readonly spellcheck="false"></textarea></label>'
    '<button type="button">Copy</button></div>'
)


def show_copy_field(label: str, text: str, key: str, rows: int = 1) -> None:
    """Show a text in an input of `rows` lines, with a button that copies it, also without HTTPS."""
    create_component("copying", HTML)(key=key, data={"label": label, "text": text, "rows": rows})
