"""A browser for the tests that need one; where there is none they are skipped, in words."""

import os

import pytest
from browser import Browser, find_browser


@pytest.fixture(scope="session")
def chromium():
    if find_browser() is None or os.environ.get("DAEDALUS_BROWSER") == "none":
        if os.environ.get("DAEDALUS_BROWSER") == "required":
            pytest.fail("no Chromium was found, and DAEDALUS_BROWSER=required asks for one")
        pytest.skip("no Chromium on this machine: apt-get install chromium, and these tests run")
    with Browser() as one:
        yield one


@pytest.fixture
def browser(chromium):
    yield chromium
    chromium.open("about:blank")  # a page left open goes on drawing, beside all the tests that follow
