"""The page in a real browser: one server, one browser, a fresh tab for each test."""

import json
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import pytest
from browser import LONG, choose, look, opened, traces, type_into, until, wait_for_curve


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


@pytest.mark.slow
def test_curve_is_the_theory(page):
    import widthwise as ww

    wait_for_curve(page, is_exact=True)
    problem = ww.Problem()
    for trace in traces(page):
        if trace["name"] == "equilibrium":
            alpha, error = trace["x"][len(trace["x"]) // 2], trace["y"][len(trace["y"]) // 2]
            assert ww.solve(problem, alpha).excess_error == pytest.approx(error, rel=1e-9)


# Every figure that is drawn leaves the words over its transitions behind.
LISTEN = """() => {
  window.seen = [];
  const draw = window.Plotly.react;
  window.Plotly.react = (place, data, layout) => {
    if (place.closest("#curve")) window.seen.push((layout.annotations || []).map((note) => note.text));
    return draw(place, data, layout);
  };
}"""


@pytest.mark.slow
def test_curve_and_transitions_follow_a_slider_that_is_held(page):
    wait_for_curve(page, is_exact=True)
    before = traces(page)
    page.evaluate(LISTEN)
    box = page.locator("#gamma-slider").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for share in (0.48, 0.45):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    until(page, "Number(document.getElementById('gamma').value) < 0.48")
    wait_for_curve(page)
    assert traces(page) != before
    page.mouse.up()
    until(page, "/gamma=0\\.\\d+/.test(window.location.search)")
    wait_for_curve(page, is_exact=True)
    seen = [words[0] for words in page.evaluate("window.seen")]
    assert len(seen) > 1 and all(words.endswith("onset") for words in seen)


@pytest.mark.slow
def test_sliders_work_with_the_keyboard(page):
    page.locator("#gamma-slider").focus()
    page.keyboard.press("ArrowRight")
    until(page, "Number(document.getElementById('gamma').value) > 0.5")
    wait_for_curve(page)


@pytest.mark.slow
def test_own_expression(page):
    choose(page, "activation", "own")
    until(page, "!document.getElementById('formula-place').hidden")
    type_into(page, "formula", "sin(3*x)+x^2")
    until(page, "window.location.search.includes('sin')")
    wait_for_curve(page)
    assert "μ₂\u00a0=\u00a02" in page.inner_text("#facts")


@pytest.mark.slow
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
        wait_for_curve(page, is_exact=True)
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
    names = "Array.from(document.querySelectorAll('#pin-names li'), item => item.textContent)"
    until(page, f"{names}.length === 2 && {names}[0] === 'γ = 0.5×'")
    pinned = "document.querySelector('#curve .js-plotly-plot').data.some(t => /γ = 0.5/.test(t.name))"
    assert page.evaluate(pinned)
    page.click("#pin-names .cross")
    until(page, f"!{pinned} && {names}.length === 0")


@pytest.mark.slow
def test_an_address_written_by_hand(chromium, address):
    with opened(chromium, address, "?activation=tanh(2*x)&gama=3") as page:
        assert page.input_value("#formula") == "tanh(2*x)" and page.is_visible("#formula")
        assert "gama=3" in page.inner_text("#notes")
        until(page, "window.location.search.includes('activation=own')")


@pytest.mark.slow
def test_lecture(page):
    wait_for_curve(page, is_exact=True)
    page.click("#lecture-start")
    until(page, "document.body.classList.contains('lecture')")
    assert "1 of 6" in page.inner_text("#lecture-bar")
    page.keyboard.press("ArrowRight")
    until(page, "/lecture=2/.test(window.location.search)")
    page.click("#lecture-next")
    until(page, "document.getElementById('lecture-number').textContent === '3 of 6'")
    until(page, "window.widthwise.state.weights === 'rademacher'")
    wait_for_curve(page, is_exact=True)
    page.click("#lecture-play")
    until(page, "Number(document.getElementById('alpha').value) > 0.3")
    until(page, "Number(document.getElementById('alpha').value) !== 1.7")
    page.keyboard.press("Escape")
    until(page, "!document.body.classList.contains('lecture')")
    page.click("#help")
    assert "How to read this page" in page.inner_text("#help-page")
    page.click("#help-close")
    until(page, "!document.getElementById('help-page').open")


@pytest.mark.slow
def test_one_file_with_a_slider(chromium, address, tmp_path):
    with opened(chromium, address, "?reach=2") as page:
        wait_for_curve(page, is_exact=True)
        with page.expect_download(timeout=4 * LONG) as download:
            page.click("#save-html")
        file = tmp_path / "page.html"
        download.value.save_as(file)
        other = chromium.new_page()
        other.goto(file.as_uri())
        before = other.get_attribute("path.curve.s0", "d")
        other.evaluate("slider.value = 2; slider.dispatchEvent(new Event('input'))")
        assert other.get_attribute("path.curve.s0", "d") != before
        assert "transition" in other.inner_text("#words")
        other.close()


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


EVERYTHING = {
    "activation": "own", "formula": "sin(2*x)+x^2", "weights": "own", "law": "-1,1@0.5,0.5",
    "readouts": "own", "v0": "-1", "p0": "0.25", "v1": "0.6", "p1": "0.75", "v2": "", "p2": "",
    "channel": "own", "label": "laplace:0.2", "noise": "0.37", "gamma": "0.8", "reach": "3", "alpha": "1.1",
    "quantity": "bayes_error", "yaxis": "linear", "xaxis": "log", "pins": '[{"gamma":0.3}]', "view": "plan",
    "against": "noise", "goal": "0.05", "dimension": "70", "learner": "hmc", "size": "21", "start": "teacher",
}  # fmt: skip


@pytest.mark.slow
def test_every_field_makes_the_round_trip(chromium, address):
    with opened(chromium, address, "?" + urlencode(EVERYTHING)) as page:
        given = page.evaluate("window.widthwise.state")
        numbers = {name for name, value in EVERYTHING.items() if isinstance(given[name], (int, float))}
        wanted = {name: float(value) if name in numbers else value for name, value in EVERYTHING.items()}
        assert {name: given[name] for name in EVERYTHING} == {**wanted, "v2": None, "p2": None}
        type_into(page, "gamma", "0.9")
        until(page, "window.location.search.includes('gamma=0.9')")
        written = dict(parse_qsl(page.evaluate("window.location.search").lstrip("?"), keep_blank_values=True))
        assert written == {**EVERYTHING, "gamma": "0.9"}


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
def test_two_tabs_do_not_disturb_each_other(chromium, address):
    with opened(chromium, address, "?gamma=0.3") as one, opened(chromium, address, "?gamma=3") as two:
        type_into(one, "noise", "0.5")
        type_into(two, "noise", "0.2")
        for page, noise in ((one, 0.5), (two, 0.2)):
            until(page, f"window.location.search.includes('noise={noise}')")
            wait_for_curve(page, is_exact=True)
        assert "γ" not in one.inner_text("#gamma-error")
        assert traces(one) != traces(two)
