"""Finding a browser for the tests of the page: an installed one, Debian's package, or Playwright's own build.

As a script (``python tests/explorer/browser.py``) it makes sure that there is one, installing it if it may.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from patience import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# Headless and alone: no updates, no accounts, nothing fetched in the background. Without a sandbox, which
# root and most containers cannot have; the only page it opens is ours.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


LONG = int(1000 * PATIENCE)
"""Milliseconds to wait for what a slow machine still manages."""


def installed() -> str | None:
    """Path of a browser on this machine, or None."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    return _own_build()


def install() -> str | None:
    """Path of a browser, installed first where that is allowed; None if it could not be."""
    if path := installed():
        return path
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        for command in (("apt-get", "update"), ("apt-get", "install", "--yes", "chromium")):
            subprocess.run(
                command, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, timeout=8 * PATIENCE
            )
        if path := installed():
            return path
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], timeout=8 * PATIENCE)
    return installed()


def _own_build() -> str | None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    try:
        with sync_playwright() as playwright:
            path = playwright.chromium.executable_path
    except Exception:  # Playwright without its driver: as good as none
        return None
    return path if Path(path).exists() else None


class opened:
    """A tab with the explorer in it, as a visitor sees it who comes for the first time."""

    def __init__(self, context, address, query="", *, size=(1280, 1000), scheme="light"):
        self.context, self.address, self.query = context, address, query
        self.size, self.scheme = size, scheme
        self.complaints = []

    def __enter__(self):
        self.page = page = self.context.new_page()
        page.set_default_timeout(LONG)
        page.set_viewport_size({"width": self.size[0], "height": self.size[1]})
        page.emulate_media(color_scheme=self.scheme)
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(self.address + self.query)
        wait_for_curve(page)
        return page

    def _note(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def __exit__(self, kind, *_):
        self.page.evaluate("window.localStorage.clear()")
        self.page.close()
        if kind is None:
            assert not self.complaints, self.complaints


def until(page, condition, timeout=LONG):
    """Wait until a condition in JavaScript holds (Playwright's way needs eval: forbidden)."""
    end = time.monotonic() + timeout / 1000
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"not so after {timeout / 1000:g} s: {condition}"
        page.wait_for_timeout(50)


def wait_for_curve(page, *, is_exact=False):
    """Wait until the curve of the current state is drawn."""
    page.wait_for_selector("#curve .scatterlayer .trace", state="attached", timeout=LONG)
    until(page, "window.widthwise.drawn === window.widthwise.asked")
    if is_exact:
        until(page, "document.getElementById('progress').textContent === ''")


def traces(page, name="curve"):
    """The lines of a figure as the browser has them."""
    return page.evaluate(
        f"document.querySelector('#{name} .js-plotly-plot')._fullData"
        ".map(t => ({name: t.name, x: Array.from(t.x || []), y: Array.from(t.y || [])}))"
    )


def type_into(page, name, text):
    """Replace what a field holds, as a person would."""
    page.locator(f"#{name}").fill(text)


def choose(page, name, value):
    """Pick an entry of a list."""
    page.select_option(f"#{name}-list", value)


def look(page, view):
    page.click(f"#view-is-{view}")


def main() -> int:
    path = install()
    if path is not None:
        print(f"browser for the tests of the page: {path}")
        return 0
    message = "no browser could be found or installed; the tests of the page"
    is_required = os.environ.get("CI") == "true"
    print(f"{message} {'cannot run' if is_required else 'will be skipped'}", file=sys.stderr)
    return 1 if is_required else 0


if __name__ == "__main__":
    raise SystemExit(main())
