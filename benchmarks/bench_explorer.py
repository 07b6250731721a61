"""Dragging a slider of the explorer: time from a movement to the redrawn curve, measured in the browser.

The median of steps that each ask for a problem not seen before; and, beside it, the processor time that the
sketch of such a problem takes, which other work on the machine does not change much.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "explorer"))

CASES = {
    "homogeneous readouts": ("", 150),
    "four values, binary weights": ("?activation=own&weights=rademacher&readouts=four-point", 150),
    "Gaussian readouts": ("?readouts=gaussian", 500),
}
N_STEPS = 20

# Each step moves the slider as a hand does; the clock runs in the browser until Plotly has drawn the answer.
DRAG = """async ([n, shift]) => {
  const slider = document.getElementById("gamma-slider");
  const figure = document.querySelector("#curve .js-plotly-plot");
  const put = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
  const times = [];
  for (let i = 0; i < n; i++) {
    const before = window.widthwise.asked;
    const begin = performance.now();
    const drawn = new Promise((done) => {
      const check = () => setTimeout(() => { // the page notes what it has drawn just after
        if (window.widthwise.asked > before && window.widthwise.drawn === window.widthwise.asked) {
          figure.removeListener("plotly_afterplot", check);
          done(performance.now() - begin);
        }
      }, 0);
      figure.on("plotly_afterplot", check);
    });
    put.call(slider, -0.6 + shift + 0.7 * i / n);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    times.push(await drawn);
  }
  return times;
}"""


def sketch_time(query):
    """Median processor time of a curve while a hand moves, in milliseconds."""
    from widthwise.explorer.state import from_query, problem_fields
    from widthwise.explorer.tasks import read_curve

    fields = problem_fields(from_query(query))
    times = []
    for gamma in np.linspace(0.31, 1.3, 9):
        start = time.process_time()
        read_curve({**fields, "gamma": float(gamma)}, 6.0, "excess_error", {}, is_smooth=False)
        times.append(time.process_time() - start)
    return 1e3 * float(np.median(times[1:]))


def main():
    import browser as browsers
    from playwright.sync_api import sync_playwright

    from widthwise.explorer.server import Running

    path = browsers.installed()
    if path is None:
        print("no browser is installed: python tests/explorer/browser.py")
        return
    with Running() as running, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=list(browsers.FLAGS))
        context = chromium.new_context()
        for name, (query, wanted) in CASES.items():
            with browsers.opened(context, running.address, query) as page:
                page.evaluate(DRAG, [4, 0.003])  # worker processes and scripts warm up
                times = page.evaluate(DRAG, [N_STEPS, 0.0])
            middle, fastest = np.median(times), np.min(times)
            print(
                f"{name}: a drag redraws in {middle:.0f} ms (median of {len(times)}, fastest {fastest:.0f}, "
                f"wanted {wanted}); its sketch takes {sketch_time(query):.0f} ms of processor time",
                flush=True,
            )
        chromium.close()


if __name__ == "__main__":
    main()
