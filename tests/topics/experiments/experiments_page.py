"""The page on experiments run by Streamlit without a browser, and a small setting of it."""

from lab_page import open_lab, sound

SCRIPT = "pages/experiments.py"
SMALL = {
    "show": "batch-size",
    "batch_size_steps": "20",
    "batch_size_equal": "steps",
    "batch_size_seeds": "2",
    "batch_size_schemes": "layer",
}


def open_page(**link):
    return open_lab(SCRIPT, **link)


def press(at, key):
    return sound(at.button(key=key).click().run())


def get_button_keys(at):
    return {button.key for button in at.button}
