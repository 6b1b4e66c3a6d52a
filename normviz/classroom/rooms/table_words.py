"""Texts of Table 1 in the language of a class: what the page writes in English, translated sentence by sentence."""

import re

from normviz.describe.interface_words import DEFAULT_LANGUAGE, get_words


def translate_table_text(text: str, language: str) -> str | None:
    """Translate a text of Table 1 sentence by sentence, or its parts between commas; None if a part has no translation.

    >>> translate_table_text("Batch norm, one image", "de")
    'Batch-Norm, ein Bild'
    """
    if language == DEFAULT_LANGUAGE:
        return text
    words = get_words("table1", language)
    for pattern, between in ((r"(?<=\.) ", " "), (", ", ", ")):
        parts = re.split(pattern, text.replace("\u00a0", " "))
        if all(part in words for part in parts):
            return between.join(words[part] for part in parts)
    return None
