"""What the browser reads of a message: the arrays behind the JSON, put into their places."""

import json

import numpy as np

TURN = 8
"""Bytes before the data of a component."""


def unpacked(message):
    """The data of `normviz.charts.packing.pack_message`; arrays are NumPy's."""
    size = int.from_bytes(message[:4], "little")
    behind = 4 + size

    def numbers(found):
        if "packed" not in found:
            return found
        flat = np.frombuffer(message, f"<{found['packed']}", found["length"], behind + found["at"])
        return flat.reshape(-1, found["width"]) if "width" in found else flat

    return json.loads(message[4:behind], object_hook=numbers)


def shown(message):
    """What a component on a page is given; a plot's figure as plotly.js reads it."""
    data = unpacked(message[TURN:])
    return data | {"figure": unpacked(data["figure"].tobytes())} if "figure" in data else data
