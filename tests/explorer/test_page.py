"""The page in a real browser."""

from browser import opened, until, wait_for_curve


def figure(page, name="curve"):
    """The data of a figure as the browser has it."""
    return page.evaluate(
        f"document.querySelector('#{name} .js-plotly-plot').data.map(t => ({{name: t.name, y: t.y}}))"
    )


def test_it_loads_and_shows_branches(page):
    wait_for_curve(page, is_exact=True)
    assert {trace["name"] for trace in figure(page)} >= {"equilibrium", "unstable"}
    assert "continuous at alpha = 0.63" in page.inner_text("#transitions")
    assert "learn it" in page.inner_text("#welcome")


def test_dragging_moves_the_curve(page):
    before = figure(page)
    page.locator("#gamma-slider").fill("0.5")
    until(page, "document.getElementById('gamma').value === '3.16'")
    wait_for_curve(page)
    assert figure(page) != before


def test_address_holds_the_state(page, chromium, address):
    page.locator("#gamma").fill("0.7")
    until(page, "window.location.search.includes('gamma=0.7')")
    wait_for_curve(page, is_exact=True)
    seen = figure(page)
    query = page.evaluate("window.location.search")
    with opened(chromium, address, query) as other:
        wait_for_curve(other, is_exact=True)
        assert other.input_value("#gamma") == "0.7"
        assert figure(other) == seen
    page.go_back()
    until(page, "document.getElementById('gamma').value === '0.5'")
