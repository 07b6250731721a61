"""The views below the curve, in a real browser."""

import pytest
from browser import LONG, choose, opened, traces, type_into, until, wait_for_curve

pytestmark = pytest.mark.slow

TWO_JUMPS = "?activation=own&weights=rademacher&readouts=four-point&alpha=3.6"
PATIENT = 3 * LONG
"""Milliseconds for what has to be compiled first."""

POINTED = "document.getElementById('point-words').textContent.startsWith('Pointed at α = ')"

# A point in the middle of the equilibrium curve, in pixels of the window.
MIDDLE = """() => {
  const place = document.querySelector("#curve .js-plotly-plot");
  const own = place._fullData.find((trace) => trace.name === "equilibrium" && trace.x.length > 4);
  const i = Math.floor(own.x.length / 2);
  const { xaxis, yaxis } = place._fullLayout;
  const box = place.getBoundingClientRect();
  return [box.x + xaxis._offset + xaxis.d2p(own.x[i]), box.y + yaxis._offset + yaxis.d2p(own.y[i])];
}"""


def test_one_point(chromium, address):
    with opened(chromium, address, TWO_JUMPS) as page:
        until(page, "document.querySelectorAll('#landscape .scatterlayer .trace').length >= 4")
        assert "5 solutions, 3 of them stable" in page.inner_text("#point-words")
        assert {t["name"] for t in traces(page, "landscape")} >= {"equilibrium", "metastable", "unstable"}
        assert len(traces(page, "spectrum")) == 2
        wait_for_curve(page, is_exact=True)


def test_views_follow_the_mouse(page):
    wait_for_curve(page, is_exact=True)
    until(page, "document.getElementById('point-words').textContent.startsWith('Chosen α = 2:')")
    page.mouse.move(*page.evaluate(MIDDLE))
    until(page, POINTED)
    at = page.evaluate("window.widthwise.pointed")
    assert at != 2 and any(at in trace["x"] for trace in traces(page))
    page.mouse.move(5, 5)
    until(page, "document.getElementById('point-words').textContent.startsWith('Chosen α = 2:')")
    page.mouse.move(*page.evaluate(MIDDLE))
    until(page, POINTED)
    page.mouse.down()
    page.mouse.up()
    until(page, "/alpha=/.test(window.location.search)")


def test_planner(chromium, address):
    with opened(chromium, address, "?view=plan") as page:
        type_into(page, "goal", "0.02")
        type_into(page, "dimension", "200")
        until(page, "document.getElementById('plan-answer').textContent.includes('d = 200')")
        assert "polynomial" in page.inner_text("#plan-answer")


def test_scaling_law_follows_its_sliders(chromium, address):
    with opened(chromium, address, "?view=scaling&activation=own&formula=tanh(2*x)&noise=0.01") as page:
        words = "document.getElementById('scaling-words').textContent"
        until(page, f"{words}.includes('of 100 features are learnt')")
        type_into(page, "samples", "4")  # n = 4 k d = 80000
        until(page, f"{words}.includes('31 of 100 features are learnt')")
        assert "n^-0.50 while features are found" in page.inner_text("#scaling-words")
        assert page.evaluate("document.querySelectorAll('#scaling .scatterlayer .trace').length") == 4


def test_data_appear_with_deviations(chromium, address):
    with opened(chromium, address, "?view=data") as page:
        table = b"alpha;error;std\n0.5;0.07;0.01\n2;0.03;0.001\n"
        file = {"name": "mine.csv", "mimeType": "text/csv", "buffer": table}
        page.set_input_files("#upload input[type=file]", files=[file])
        until(page, "document.querySelectorAll('#deviations tbody tr').length === 2")
        assert "undecided" in page.inner_text("#deviations") and "%" in page.inner_text("#deviations")
        assert any(t["name"] == "mine.csv" and t["x"] == [0.5, 2] for t in traces(page))
        bad = {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"alpha,error\n-1,0.2\n"}
        page.set_input_files("#upload input[type=file]", files=[bad])
        until(page, "document.getElementById('upload-error').textContent.includes('alpha must be > 0')")


def test_a_series_of_the_store(chromium, address):
    with opened(chromium, address, "?view=data") as page:
        choose(page, "series", "0")
        until(page, "document.querySelectorAll('#deviations tbody tr').length === 2")
        assert "±" in page.inner_text("#deviations")
        assert any(t["name"] == "result store" and t["x"] == [0.5, 1] for t in traces(page))
        page.click("#no-data")
        until(page, "document.getElementById('deviations').textContent.includes('No data yet')")
        assert not any(t["name"] == "result store" for t in traces(page))


def test_gamp_rie_runs_to_its_end(chromium, address):
    with opened(chromium, address, "?view=run&size=24&alpha=1.5") as page:
        page.click("#run-start")
        until(page, "document.getElementById('run-progress').textContent.includes('Done')")
        # The words may be there a moment before the figure is drawn.
        until(page, "(document.querySelector('#run .js-plotly-plot')._fullData[0] || {x: []}).x.length > 3")
        run, *theory = traces(page, "run")
        assert len(run["y"]) > 3 and run["y"][-1] < run["y"][0]
        assert {t["name"] for t in theory} == {"theory, equilibrium", "theory, universal"}


def test_hmc_is_watched_and_stopped(chromium, address):
    # 400 iterations with 43200 labels take minutes: it is far from its end when it is stopped.
    with opened(chromium, address, "?view=run&learner=hmc&size=60&alpha=12") as page:
        page.click("#run-start")
        steps = "document.querySelector('#run .js-plotly-plot')._fullData[0]"
        until(page, f"({steps} || {{x: []}}).x.length >= 1", PATIENT)
        page.click("#run-stop")
        until(page, "document.getElementById('run-progress').textContent.includes('Stopped')")
        until(page, "!document.querySelector('#run-start[disabled]')")
        assert traces(page, "run")[0]["y"][0] > 0


def test_diagram_refines_and_is_cancelled(chromium, address):
    words = "document.getElementById('diagram-progress').textContent"
    with opened(chromium, address, "?view=diagram") as page:
        page.click("#diagram-start")
        until(page, f"/^([2-9]|[123][0-9]) of 33/.test({words})")
        until(page, "document.querySelector('#diagram .heatmaplayer image, #diagram .hm')")
        # Many processors may have it ready by now, with nothing to stop (test_phases.py always stops).
        page.evaluate("document.getElementById('diagram-stop').click()")
        until(page, f"/Stopped after|33 of 33/.test({words})")
        until(page, "!document.querySelector('#diagram-start[disabled]')")
        kept = page.inner_text("#diagram-progress")
        page.wait_for_timeout(1500)
        assert page.inner_text("#diagram-progress") == kept
