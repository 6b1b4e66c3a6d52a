"""The question of a cell of Table 1, and its answer."""

from urllib.parse import urlencode

from normviz.classroom.rooms.records import Question, RefusedRequest
from normviz.classroom.rooms.table_words import translate_table_text
from normviz.core.errors import InvalidInput
from normviz.core.registry import NAMED_SCHEMES, get_scheme
from normviz.core.transformations import TRANSFORMATIONS
from normviz.describe.interface_words import DEFAULT_LANGUAGE, fill_words, get_words
from normviz.topics.table1.cases import describe_case_twin, explain_case_answer, format_case_title
from normviz.topics.table1.grid import classify_case_answer
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.state import FIRST_ROWS, Page, build_table_setting
from normviz.topics.table1.table import Cell, build_cells


def make_cell_question(key: str, language: str = DEFAULT_LANGUAGE) -> Question:
    """Return the question of a cell of Table 1, such as "batch.dataset-rescaling", in the page's default setting.

    It is in English if it has no translation, as outside of the first rows. Raises RefusedRequest if there is no such
    cell, or nothing can be said of it.
    """
    scheme_key, _, change_key = key.partition(".")
    if scheme_key not in NAMED_SCHEMES or change_key not in TRANSFORMATIONS:
        raise RefusedRequest(400, "cell-key")
    values = vars(Page())
    setting, scheme = build_table_setting(values), get_scheme(scheme_key, values["groups"], values["radius"])
    change = TRANSFORMATIONS[change_key]
    try:
        setting.check((scheme,))
        cells = build_cells((scheme,), setting, TableResultCache())
    except InvalidInput as error:
        raise RefusedRequest(400, "cell-setting", reason=str(error)) from None
    cell: Cell = next(each for each in cells if each.transformation == change_key)
    answer = classify_case_answer(cell)
    if answer not in ("yes", "no"):
        raise RefusedRequest(400, "cell-answer")
    rows = {} if scheme_key in FIRST_ROWS else {"schemes": ",".join((*FIRST_ROWS, scheme_key))}
    texts = (
        format_case_title(scheme, change, setting),
        describe_case_twin(change, setting, True),
        explain_case_answer(cell, scheme, change, setting),
    )
    translated = [each for text in texts if (each := translate_table_text(text, language))]
    is_whole = len(translated) == len(texts)
    title, twin, why = translated if is_whole else texts
    words = get_words("cell", language if is_whole else DEFAULT_LANGUAGE)
    return Question(
        fill_words(words, "text", title=title, twin=twin),
        (words["yes"], words["no"]),
        0 if answer == "yes" else 1,
        why,
        f"/invariance?{urlencode(rows | {'cell': key, 'reveal': '1'})}",
    )  # fmt: skip
