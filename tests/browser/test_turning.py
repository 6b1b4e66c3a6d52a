"""A page that is come to from another one is seen from its top, also where the browser is slow or narrow."""

import pytest
from pairs import mark_heavy_except
from patience import CONNECTED, settle, soon
from watching import watched

from normviz.ui.page_texts import PAGE_TEXTS

SLOW = 4
"""By which factor the browser's script is slowed: parts of the next page then come before the last one is gone."""

SCROLLED = "() => document.querySelector('.stMain').scrollTop"


def path(page):
    return page.url.partition("?")[0]


@pytest.fixture
def phone(context):
    """A context of its own: one in which a test has opened the sidebar opens it on every page, over the links."""
    phone = context.browser.new_context(viewport={"width": 390, "height": 844})
    yield phone
    phone.close()


@pytest.mark.parametrize("count", mark_heavy_except([2], [2, len(PAGE_TEXTS)]))
def test_next_opens_every_page_at_its_top(server, phone, count):
    with watched(phone) as page:
        page.goto(server)
        page.wait_for_selector(CONNECTED)
        settle(page)
        phone.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOW})
        tops = {}
        for _ in range(count):
            before = path(page)
            page.locator(".st-key-takeaway a").first.click()
            soon(page, lambda before=before: path(page) != before)
            settle(page)
            tops[path(page)] = page.evaluate(SCROLLED)
        assert {name: top for name, top in tops.items() if top} == {}
        assert len(tops) == count
        page.locator(".st-key-takeaway a").first.scroll_into_view_if_needed()
        before = path(page)
        page.evaluate("() => history.back()")
        soon(page, lambda: path(page) != before)
        settle(page)
        assert page.evaluate(SCROLLED) == 0
