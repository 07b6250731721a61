"""The page in a real browser: one server, one browser, a fresh profile for each test."""

import json
import os
from pathlib import Path

import pytest
from browser import opened, until, wait_for_curve

TWO_JUMPS = "?activation=own&weights=rademacher&readouts=four-point&alpha=3.6"
IMAGES = Path(__file__).parents[2] / "docs" / "images"


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


def picture(page, name):
    """Keep a screenshot for the documentation, when asked to."""
    if os.environ.get("WIDTHWISE_SCREENSHOTS"):
        if page.is_visible("#understood"):
            page.click("#understood")
        page.mouse.move(5, 5)
        page.wait_for_timeout(800)
        page.screenshot(path=IMAGES / f"explorer-{name}.png", full_page=True)


def test_it_loads_and_shows_branches(page):
    wait_for_curve(page, is_exact=True)
    assert {trace["name"] for trace in traces(page)} >= {"equilibrium", "unstable"}
    assert "α = 0.63" in page.inner_text("#transitions")
    assert "learn it" in page.inner_text("#welcome")
    page.click("#understood")
    until(page, "document.getElementById('welcome').hidden")
    page.reload()
    wait_for_curve(page)
    assert not page.is_visible("#welcome")


def test_curve_is_the_theory(page):
    import widthwise as ww

    wait_for_curve(page, is_exact=True)
    problem = ww.Problem()
    for trace in traces(page):
        if trace["name"] == "equilibrium":
            alpha, error = trace["x"][len(trace["x"]) // 2], trace["y"][len(trace["y"]) // 2]
            assert ww.solve(problem, alpha).excess_error == pytest.approx(error, rel=1e-9)


def test_dragging_moves_the_curve(page):
    before = traces(page)
    box = page.locator("#gamma-slider").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for share in (0.55, 0.6, 0.65, 0.7):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        page.wait_for_timeout(40)
    page.mouse.up()
    until(page, "Number(document.getElementById('gamma').value) > 1.5")
    wait_for_curve(page)
    assert traces(page) != before


def test_sliders_work_with_the_keyboard(page):
    page.locator("#gamma-slider").focus()
    page.keyboard.press("ArrowRight")
    until(page, "Number(document.getElementById('gamma').value) > 0.5")
    wait_for_curve(page)


def test_own_expression(page):
    choose(page, "activation", "own")
    until(page, "!document.getElementById('formula-place').hidden")
    type_into(page, "formula", "sin(3*x)+x^2")
    until(page, "window.location.search.includes('sin')")
    wait_for_curve(page)
    assert "μ₂\u00a0=\u00a02" in page.inner_text("#facts")


@pytest.mark.parametrize(
    ("query", "field", "text", "place", "words"),
    [
        ("", "gamma", "0", "gamma", "between 0.02 and 20"),
        ("?activation=own", "formula", "1/x", "activation", "divides by zero"),
        ("?activation=own", "formula", "__import__('os')", "activation", "unknown"),
        ("?readouts=own", "p0", "0.9", "readouts", "sum to 1"),
    ],
)
def test_bad_input_says_why_and_keeps_the_plot(chromium, address, query, field, text, place, words):
    with opened(chromium, address, query) as page:
        wait_for_curve(page)
        before = traces(page)
        type_into(page, field, text)
        until(page, f"document.getElementById('{place}-error').textContent !== ''")
        assert words in page.inner_text(f"#{place}-error").lower()
        assert traces(page) == before


@pytest.mark.slow
def test_pins_stay_while_the_problem_changes(page):
    page.click("#pin")
    until(page, "window.location.search.includes('pins')")
    type_into(page, "gamma", "1.5")
    pinned = "document.querySelector('#curve .js-plotly-plot').data.some(t => /γ = 0.5/.test(t.name))"
    until(page, pinned)
    page.click("#unpin")
    until(page, f"!{pinned}")


@pytest.mark.slow
def test_address_holds_the_state(page, chromium, address):
    type_into(page, "gamma", "0.7")
    until(page, "window.location.search.includes('gamma=0.7')")
    wait_for_curve(page, is_exact=True)
    seen = traces(page)
    with opened(chromium, address, page.evaluate("window.location.search")) as other:
        wait_for_curve(other, is_exact=True)
        assert other.input_value("#gamma") == "0.7"
        assert traces(other) == seen
    page.go_back()
    until(page, "document.getElementById('gamma').value === '0.5'")
    wait_for_curve(page)


@pytest.mark.slow
def test_downloads(page):
    wait_for_curve(page, is_exact=True)
    with page.expect_download() as download:
        page.click("#save-json")
    found = json.loads(Path(download.value.path()).read_text())
    assert found["problem"]["activation"] == "relu"
    assert {"alpha", "excess_error", "weight_overlap"} <= found["points"][0].keys()
    with page.expect_download() as download:
        page.click("#save-csv")
    assert Path(download.value.path()).read_text().startswith("activation,")
    for kind, magic in (("svg", b"<svg"), ("png", b"\x89PNG")):
        with page.expect_download() as download:
            page.click(f"#save-{kind}")
        assert Path(download.value.path()).read_bytes().startswith(magic)
    look(page, "code")
    assert "ww.Problem(activation='relu'" in page.inner_text("#python")
    assert "widthwise predict --activation relu" in page.inner_text("#command")


@pytest.mark.slow
def test_one_point(chromium, address):
    with opened(chromium, address, TWO_JUMPS) as page:
        until(page, "document.querySelectorAll('#landscape .scatterlayer .trace').length >= 4")
        assert "5 solutions, 3 of them stable" in page.inner_text("#point-words")
        assert {t["name"] for t in traces(page, "landscape")} >= {"equilibrium", "metastable", "unstable"}
        assert len(traces(page, "spectrum")) == 2
        wait_for_curve(page, is_exact=True)


@pytest.mark.slow
def test_planner(chromium, address):
    with opened(chromium, address, "?view=plan") as page:
        type_into(page, "goal", "0.02")
        type_into(page, "dimension", "200")
        until(page, "document.getElementById('plan-answer').textContent.includes('d = 200')")
        assert "polynomial" in page.inner_text("#plan-answer")


@pytest.mark.slow
def test_data_appear_with_deviations(chromium, address):
    with opened(chromium, address, "?view=data") as page:
        table = b"alpha;error;std\n0.5;0.07;0.01\n2;0.03;0.001\n"
        file = {"name": "mine.csv", "mimeType": "text/csv", "buffer": table}
        page.set_input_files("#upload input[type=file]", files=[file])
        until(page, "document.querySelectorAll('#deviations tbody tr').length === 2")
        assert "σ" in page.inner_text("#deviations")
        assert any(t["name"] == "mine.csv" and t["x"] == [0.5, 2] for t in traces(page))
        bad = {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"alpha,error\n-1,0.2\n"}
        page.set_input_files("#upload input[type=file]", files=[bad])
        until(page, "document.getElementById('upload-error').textContent.includes('alpha must be > 0')")


@pytest.mark.slow
def test_live_experiment_runs_and_stops(chromium, address):
    with opened(chromium, address, "?view=run&size=24&alpha=1.5") as page:
        page.click("#run-start")
        until(page, "document.getElementById('run-progress').textContent.includes('Done')")
        run = traces(page, "run")
        assert len(run[0]["y"]) > 3 and run[0]["y"][-1] < run[0]["y"][0]
        choose(page, "learner", "hmc")
        page.click("#run-start")
        until(page, "document.querySelector('#run-stop:not([disabled])')")
        page.click("#run-stop")
        until(page, "document.getElementById('run-progress').textContent.includes('Stopped')")
        until(page, "!document.querySelector('#run-start[disabled]')")


@pytest.mark.slow
def test_diagram_refines_and_is_cancelled(chromium, address):
    with opened(chromium, address, "?view=diagram") as page:
        page.click("#diagram-start")
        until(page, "/^[2-9] of 33/.test(document.getElementById('diagram-progress').textContent)")
        until(page, "document.querySelector('#diagram .heatmaplayer image, #diagram .hm')")
        page.click("#diagram-stop")
        until(page, "document.getElementById('diagram-progress').textContent.includes('Stopped')")
        kept = page.inner_text("#diagram-progress")
        page.wait_for_timeout(1500)
        assert page.inner_text("#diagram-progress") == kept
        assert page.is_enabled("#diagram-start")


@pytest.mark.slow
def test_two_tabs_do_not_disturb_each_other(chromium, address):
    with opened(chromium, address, "?gamma=0.3") as one, opened(chromium, address, "?gamma=3") as two:
        type_into(one, "noise", "0.5")
        type_into(two, "noise", "0.2")
        for page, noise in ((one, 0.5), (two, 0.2)):
            until(page, f"window.location.search.includes('noise={noise}')")
            wait_for_curve(page, is_exact=True)
        assert "γ" not in one.inner_text("#gamma-error")
        assert traces(one) != traces(two)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "scheme"),
    [("light", (1280, 900), "light"), ("dark", (1920, 1080), "dark"), ("phone", (390, 844), "light")],
)
def test_accessibility(chromium, address, name, size, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with opened(chromium, address, TWO_JUMPS, size=size, scheme=scheme) as page:
        wait_for_curve(page, is_exact=True)
        until(page, "document.querySelectorAll('#landscape .scatterlayer .trace').length >= 4")
        found = axe.Axe().run(page).response["violations"]
        serious = [
            (v["id"], v["help"], [n["html"][:160] for n in v["nodes"]][:4])
            for v in found
            if v["impact"] in ("serious", "critical")
        ]
        assert not serious, serious
        until(page, "document.documentElement.scrollWidth <= window.innerWidth")  # nothing sticks out
        picture(page, name)
