"""Bounds of everything that a class may hold or send."""

CLASS_SECONDS = 24 * 3600.0
"""Seconds after which a class is deleted."""

SWEEP_SECONDS = 3600.0
"""Seconds between two deletions of old classes."""

MAX_CLASSES = 20_000
"""Classes at a time; one address opens fewer within a day, see `MAX_OPENED`."""

MAX_DEVICES = 1000
"""Devices that answer a question of one class."""

MAX_SNAPSHOTS, MAX_DEVICE_SNAPSHOTS = 60, 3
"""Links of a class that are stored, and those of one device."""

MAX_BODY_BYTES = 2**14
"""Bytes of a request's body."""

MAX_TEXT_LENGTH, MAX_ANSWER_LENGTH, MAX_LINK_LENGTH, MAX_DEVICE_LENGTH = 1000, 200, 1500, 100
"""Characters of a question or a reason, of an answer, of a link, and of the name that a device gives itself."""

MIN_ANSWERS, MAX_ANSWERS = 2, 8
"""Answers to choose from."""

MAX_WRONG, WRONG_SECONDS = 60, 60.0
"""Unknown codes that an address may try within these seconds."""

MAX_OPENED, OPENED_SECONDS = 300, 3600.0
"""Classes that an address may open within these seconds."""

MAX_WAITING = 2000
"""Requests of one server that wait for a change; others are answered at once."""

WAIT_SECONDS, POLL_SECONDS = 10.0, 0.5
"""Seconds that a request waits for a change at most, and between two looks at what other servers changed."""
