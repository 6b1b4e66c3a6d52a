"""Options as a visitor finds them: by their label."""

import re

from playwright.sync_api import Locator, Page


def named(place: Page | Locator, label: str) -> Locator:
    """What can be chosen by this label: an option, or a pill that also says, small, what tells it from others."""
    pill = place.locator('[data-variant="pills"]').filter(has_text=re.compile(rf"^{re.escape(label)} "))
    return place.get_by_text(label, exact=True).or_(pill).first
