"""One server and one browser for all tests of the page."""

import os

import browser as browsers
import pytest
from browser import opened

import widthwise as ww


def pytest_collection_modifyitems(items):
    # A server and a browser are shared by the whole folder: one worker process runs all of it.
    for item in items:
        names = getattr(item, "fixturenames", ())
        if "explorer" in item.path.parts and "page" in names:
            item.add_marker(pytest.mark.xdist_group("explorer"))
        if "explorer" in item.path.parts and "chromium" in names:
            item.add_marker(pytest.mark.waits)
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """Results of a small sweep."""
    folder = tmp_path_factory.mktemp("sweep") / "store"
    sweep = ww.Sweep(ww.Problem(gamma=0.5), learners=["gamp_rie"], d=[12], alpha=[0.5, 1.0], seeds=[0, 1])
    sweep.run(folder, n_workers=1, progress=False)
    return ww.open_store(folder)


@pytest.fixture(scope="session")
def address(store):
    """Address of a running explorer."""
    pytest.importorskip("dash")
    from widthwise.explorer.server import Running

    with Running(store=store) as running:
        yield running.address


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A browser; without one the tests are skipped, but not where everything must run."""
    api = pytest.importorskip("playwright.sync_api")
    path = browsers.installed()
    if path is None:
        message = "no browser for the tests of the page: run python tests/explorer/browser.py"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(browsers.FLAGS))
        yield browser.new_context()  # one for all: scripts are fetched once
        browser.close()


@pytest.fixture
def page(chromium, address):
    """A fresh page that has the explorer open; complaints of the browser fail the test."""
    with opened(chromium, address) as page:
        yield page
