"""LaTeX as the MathML that a browser draws by itself: of formulas whose numbers change without the server."""

import re
from collections.abc import Iterator

GREEK_LETTERS = {r"\alpha": "α", r"\beta": "β", r"\gamma": "γ", r"\mu": "μ", r"\sigma": "σ", r"\Sigma": "Σ"}
GREEK_LETTERS |= {r"\tau": "τ", r"\varepsilon": "ε"}
MATHML_IDENTIFIERS = GREEK_LETTERS | {r"\max": "max"}
MATHML_OPERATORS = {sign: sign for sign in "=+,()/[]|"} | {
    "-": "−",
    r"\cdot": "·",
    r"\cdots": "⋯",
    r"\to": "→",
    "'": "′",
}
MATHML_OPERATORS |= {r"\sum": "∑", r"\in": "∈", r"\le": "≤", r"\lVert": "‖", r"\rVert": "‖"}
SCRIPT_LETTERS = {"G": "\U0001d4a2", "W": "\U0001d4b2"}  # script capitals, which few editors have
MATHML_OF_NAMES = {
    r"\hat": '<mi style="font-style: italic">{}\u0302</mi>',  # a hat of its own would float far above
    r"\operatorname": "<mi>{}</mi>",
    r"\mathrm": '<mi mathvariant="normal">{}</mi>',
}
MATHML_OF_TERMS = {
    r"\sqrt": "<msqrt>{}</msqrt>",
    r"\overline": '<mover accent="true">{}<mo>¯</mo></mover>',
    r"\big": "{}",  # a bracket grows by itself
}
MATHML_SPACES = {r"\,": "0.17em", r"\quad": "1em"}

_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\,|\d+|\S")


def convert_to_mathml(latex: str) -> str:
    r"""Convert LaTeX to the content of a MathML element `math`: fractions, roots, accents, indices, letters, names.

    \num{name} is the place of a number: an empty `mn` with the attribute data-number. \num*{name} adds data-bracketed:
    a negative number there has brackets. \part{name}{…} is a row with the attribute data-part. Raises ValueError for
    anything else.
    """
    tokens = _TOKEN.findall(latex)[::-1]
    content = "".join(_convert_terms(tokens))
    if tokens:
        raise ValueError(f"{latex} closes what it has not opened")
    return content


def _convert_terms(tokens: list[str]) -> Iterator[str]:
    """Yield the MathML of each term, with its indices, of a group; consume the tokens up to the group's end."""
    while tokens and tokens[-1] != "}":
        term, scripts = _convert_term(tokens), dict.fromkeys("_^", "")
        while tokens and tokens[-1] in scripts:
            place = tokens.pop()
            scripts[place] = _convert_term(tokens)
        tag = "m" + "sub" * bool(scripts["_"]) + "sup" * bool(scripts["^"])
        yield f"<{tag}>{term}{''.join(scripts.values())}</{tag}>" if tag != "m" else term


def _convert_term(tokens: list[str]) -> str:
    token = tokens.pop()
    if token == "{":
        content = "".join(_convert_terms(tokens))
        tokens.pop()
        return f"<mrow>{content}</mrow>"
    if token in (r"\num", r"\num*"):
        return f'<mn data-number="{_read_name(tokens)}"{" data-bracketed" * token.endswith("*")}></mn>'
    if token == r"\part":
        return f'<mrow data-part="{_read_name(tokens)}">{_convert_term(tokens)}</mrow>'
    if token == r"\frac":
        return f"<mfrac>{_convert_term(tokens)}{_convert_term(tokens)}</mfrac>"
    if token in MATHML_OF_TERMS:
        return MATHML_OF_TERMS[token].format(_convert_term(tokens))
    if token in MATHML_OF_NAMES:
        return MATHML_OF_NAMES[token].format(_read_name(tokens))
    if token == r"\mathcal":
        return f"<mi>{SCRIPT_LETTERS[_read_name(tokens)]}</mi>"
    if token in MATHML_SPACES:
        return f'<mspace width="{MATHML_SPACES[token]}"></mspace>'
    if token in MATHML_OPERATORS:
        return f"<mo>{MATHML_OPERATORS[token]}</mo>"
    if token.isdigit():
        return f"<mn>{token}</mn>"
    if token.isalpha() or token in MATHML_IDENTIFIERS:
        return f"<mi>{MATHML_IDENTIFIERS.get(token, token)}</mi>"
    raise ValueError(f"{token} is not of the LaTeX that becomes MathML")


def _read_name(tokens: list[str]) -> str:
    """Consume a group in braces and return its text unchanged."""
    tokens.pop()
    name = ""
    while (token := tokens.pop()) != "}":
        name += token
    return name
