"""Twelve deliberate breaks of the code, each with a test that turns red.

`tests/test_deliberate_breaks.py` applies each break to a copy of the project and runs its test there.
"""

from typing import NamedTuple


class Break(NamedTuple):
    """One edit that makes the project wrong.

    Attributes:
        file: the edited file, from the root of the project.
        old: the text that is replaced; it occurs once in the file.
        new: the wrong text.
        test: the test that fails then, as pytest takes it.
    """

    file: str
    old: str
    new: str
    test: str


BREAKS = {
    "a wrong axis": Break(
        "normviz/core/normalize.py",
        "else centre(x, scheme.summation)\n",
        "else (x - x.mean(-1, keepdims=True), centre(x, scheme.summation)[1])\n",
        "tests/core/test_normalize.py",
    ),
    "epsilon outside the root": Break(
        "normviz/core/reductions.py",
        "    mean_square = mean_square + (eps**0.5 / scale) ** 2\n",
        "    mean_square = (xp.sqrt(mean_square) + eps / scale) ** 2\n",
        "tests/core/test_normalize.py",
    ),
    "a capture that bakes a value": Break(
        "normviz/train/step_functions.py",
        "losses.index_copy_(0, counter, stack.step(*data(counter))[None])",
        "losses.index_copy_(0, counter, stack.step(*data(int(counter)))[None])",
        "tests/train/test_recorded.py",
    ),
    "a camera that jumps": Break(
        "normviz/web/scene.js",
        "scene.camera = this.isDrawn ? getCamera(this.graph) : placeCamera(scene.camera, camera);",
        "scene.camera = placeCamera(scene.camera, camera);",
        "tests/browser/test_cube.py::test_camera_stays_through_every_control",
    ),
    "a tap that does nothing": Break(
        "normviz/web/pointing.js",
        'event.pointerType === "touch" ? TAP : CLICK',
        'event.pointerType === "touch" ? 0 : CLICK',
        "tests/browser/test_pointing.py::test_a_tap_locks_the_element_under_it",
    ),
    "a link that loses a setting": Break(
        "normviz/ui/link.py",
        "if relevant(p.name) and view[p.name] != defaults[p.name])",
        'if relevant(p.name) and view[p.name] != defaults[p.name] and p.name != "eps")',
        "tests/topics/lab/test_pages.py::test_a_link_restores_the_view_and_stays_what_it_is",
    ),
    "a lost vote of a cell": Break(
        "normviz/topics/table1/panels.py",
        "partial(get_case_guesses().__setitem__, grid.get_cell_key(cell), vote)",
        'partial(st.session_state.__setitem__, "votes", {grid.get_cell_key(cell): vote})',
        "tests/topics/table1/test_case_questions.py",
    ),
    "a stale figure": Break(
        "normviz/web/plot.js",
        "const isNew = !isSameList(data.figure, this.figure) || words !== this.words;",
        "const isNew = !this.figure || words !== this.words;",
        "tests/browser/test_cube.py::test_other_values_are_drawn",
    ),
    "an unescaped note": Break(
        "normviz/ui/link.py",
        "    shown = escape_markdown(_format_raw_value(given))\n",
        "    shown = _format_raw_value(given)\n",
        "tests/ui/test_hostile_links.py",
    ),
    "a wrong field in JavaScript": Break(
        "normviz/web/boxes.js",
        "for (let i = lo; i < hi; i++) {\n        const step",
        "for (let i = lo; i <= lo; i++) {\n        const step",
        "tests/web/test_boxes.py",
    ),
    "a dropped cancel": Break(
        "normviz/jobs/requests.py",
        "        self._cancelled = True\n",
        "        self._cancelled = False\n",
        "tests/jobs/test_requests_of_jobs.py",
    ),
    "a wrong unit of the learning rate": Break(
        "normviz/core/transformations.py",
        'return delta if optimizer == "adam" else delta**2',
        "return delta",
        "tests/topics/table1/test_invariance.py::test_rescaled_weights_need_their_learning_rate",
    ),
}
"""By what is wrong."""
