"""How the page looks: every view in light and dark, on a phone and on a projector, checked by axe."""

import json
import os
from pathlib import Path
from urllib.parse import urlencode

import pytest
from browser import look as turn_to
from browser import opened, until, wait_for_curve
from PIL import Image

pytestmark = pytest.mark.slow

TWO_JUMPS = "?activation=own&weights=rademacher&readouts=four-point&alpha=3.6&size=16"
IMAGES = Path(os.environ.get("WIDTHWISE_SCREENSHOTS", ""))
"""Screenshots are kept in this folder, when it is given: ``docs/images`` for those of the documentation."""

TABLE = {
    "name": "mine.csv",
    "mimeType": "text/csv",
    "buffer": b"alpha,error,std\n0.5,0.16,0.01\n3.9,0.04,0.01\n",
}


def show(page, view):
    """Turn to a view and wait until it is filled."""
    turn_to(page, view)
    if view == "point":
        until(page, "document.querySelectorAll('#landscape .scatterlayer .trace').length >= 4")
    elif view == "diagram":
        page.click("#diagram-start")
        until(page, "document.querySelector('#diagram .heatmaplayer image, #diagram .hm')")
        if not IMAGES.name:  # the whole of it only for the documentation
            page.evaluate("document.getElementById('diagram-stop').click()")  # it may be ready already
        until(page, "!document.querySelector('#diagram-start[disabled]')")
    elif view == "plan":
        until(page, "document.querySelector('#plan-answer table')")
    elif view == "scaling":
        until(page, "document.getElementById('scaling-words').textContent.includes('features are learnt')")
    elif view == "data":
        page.set_input_files("#upload input[type=file]", files=[TABLE])
        until(page, "document.querySelectorAll('#deviations tbody tr').length === 2")
    elif view == "run":
        page.click("#run-start")
        until(page, "document.getElementById('run-progress').textContent.includes('Done')")
    else:
        until(page, "document.getElementById('python').textContent.includes('ww.Problem')")


def check(page, what):
    """No serious finding of axe, and nothing that sticks out of the window."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (v["id"], v["help"], [n["html"][:160] for n in v["nodes"]][:4])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
    assert not serious, (what, serious)
    until(page, "document.documentElement.scrollWidth <= window.innerWidth")


def picture(page, name):
    """Keep a screenshot, when asked to."""
    if IMAGES.name:
        if page.is_visible("#understood"):
            page.click("#understood")
        page.mouse.move(5, 5)
        page.wait_for_timeout(800)
        path = IMAGES / f"explorer-{name}.png"
        page.screenshot(path=path, full_page=True)
        Image.open(path).convert("RGB").quantize(160).save(path, optimize=True)  # a third of the size


VIEWS = ("point", "diagram", "plan", "scaling", "data", "run", "code")


@pytest.mark.parametrize(
    ("name", "size", "scheme", "views"),
    [
        ("light", (1280, 900), "light", VIEWS),
        ("dark", (1280, 900), "dark", VIEWS),
        ("phone", (390, 844), "light", ("point", "plan", "run")),
        ("projector", (1920, 1080), "dark", ("point",)),
    ],
)
def test_every_view(chromium, address, name, size, scheme, views):
    with opened(chromium, address, TWO_JUMPS, size=size, scheme=scheme) as page:
        wait_for_curve(page, is_exact=True)
        for view in views:
            show(page, view)
            check(page, (name, view))
            picture(page, name if view == "point" else f"{name}-{view}")


def test_six_pins_keep_the_axis_free(chromium, address):
    pins = [{"gamma": gamma} for gamma in (0.1, 0.2, 0.7, 1.0, 1.5)] + [{"activation": "elu", "noise": 0.2}]
    with opened(chromium, address, "?" + urlencode({"pins": json.dumps(pins), "reach": 3})) as page:
        until(page, "document.querySelectorAll('#pin-names li').length === 7")
        names = page.evaluate(
            "Array.from(document.querySelectorAll('#pin-names li'), item => item.textContent)"
        )
        assert names[0] == "γ = 0.1×" and names[5] == "elu, Δ = 0.2×"
        until(page, "document.querySelectorAll('#curve .scatterlayer .trace').length >= 8")
        legend = page.locator("#curve .legend").bounding_box()
        axis = page.locator("#curve .xtitle").bounding_box()
        assert legend["y"] >= axis["y"] + axis["height"] and legend["height"] < 40
        colors = page.evaluate("Array.from(document.querySelectorAll('.swatch'), s => s.style.background)")
        assert len(set(colors)) == 7
        check(page, "pins")
        picture(page, "pins")


def test_a_lecture_fills_the_screen(chromium, address):
    step = "?lecture=4&activation=tanh(2*x)&weights=rademacher&readouts=four-point&alpha=3"
    with opened(chromium, address, step, size=(1600, 900), scheme="light") as page:
        wait_for_curve(page, is_exact=True)
        until(page, "document.querySelectorAll('#landscape .scatterlayer .trace').length >= 4")
        assert not page.is_visible("#gamma") and page.is_visible("#lecture-title")
        size = "parseFloat(getComputedStyle(document.querySelector('#curve .xtick text')).fontSize)"
        until(page, f"{size} >= 18")  # read from the last row
        until(page, "document.documentElement.scrollHeight <= window.innerHeight + 1")
        check(page, "lecture")
        picture(page, "lecture")
