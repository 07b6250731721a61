/* The learning curve: a sketch that follows every movement, then all digits; pins, data and the chosen α on it. */
(function () {
  "use strict";
  const page = (window.widthwise = window.widthwise || {});
  const parts = { sketch: null, exact: null, pinned: null, points: null };
  let last = null;
  page.asked = 0; // number of the newest wish
  page.drawn = 0; // number of the wish that the figure answers

  const ask = page.asker("live/curve", use); // asking.js comes first in the alphabet

  /* Ask for a sketch if what is wanted has changed; returns the wish as text. */
  page.wish = function (state) {
    const wanted = {};
    for (const name of page.known.curve) wanted[name] = state[name];
    const text = JSON.stringify(wanted);
    if (text !== last) {
      last = text;
      page.asked += 1;
      ask(Object.assign(wanted, { serial: page.asked, tab: page.known.tab }));
    }
    return text;
  };

  function use(answer, question) {
    const found = answer.found;
    const errors = Object.assign({}, found.errors, answer.own);
    for (const name of page.known.blamed) page.say(name, errors[name] || "");
    if (found.facts) {
      const graph = document.getElementById("graph");
      if (graph.getAttribute("src") !== found.facts.graph) {
        graph.src = found.facts.graph;
        graph.alt = found.facts.alt;
        document.getElementById("hermite").textContent = found.facts.words;
      }
    }
    if (!found.figure) return;
    parts.sketch = { serial: question.serial, figure: found.figure };
    paint();
  }

  /* All digits, pins and data come from Dash. */
  page.take = function (data) {
    const name = window.dash_clientside.callback_context.triggered_id;
    const isNothing = (pins) => !pins || pins.length === 0;
    const isSame = name === "pinned" && isNothing(data) && isNothing(parts.pinned);
    parts[name] = data;
    if (!isSame) paint();
    return window.dash_clientside.no_update;
  };

  /* The newest figure that is not out of date; all digits before a sketch. */
  function paint() {
    const { sketch, exact, pinned, points } = parts;
    const best = exact && (!sketch || exact.serial >= sketch.serial) ? exact : sketch;
    if (!best) return;
    const layout = Object.assign({}, best.figure.layout);
    if (window.innerWidth < 600) {
      const title = Object.assign({}, layout.xaxis.title, { text: "α = n/d²", standoff: 22 });
      layout.xaxis = Object.assign({}, layout.xaxis, { title: title });
      layout.margin = { l: 70, r: 8, t: 44, b: 116 };
    }
    const alpha = Number(page.now().alpha);
    if (alpha > 0) {
      const line = { color: "#9b59b6", width: 1.4, dash: "dot" };
      const mark = { type: "line", x0: alpha, x1: alpha, y0: 0, y1: 1, yref: "paper", line: line };
      layout.shapes = (layout.shapes || []).concat([mark]);
      const x = layout.xaxis.type === "log" ? Math.log10(alpha) : alpha;
      const note = { x: x, y: 0, yref: "paper", xanchor: "left", yanchor: "bottom", showarrow: false };
      layout.annotations = (layout.annotations || []).concat([
        Object.assign(note, { text: "α = " + alpha, font: { size: 11 } }),
      ]);
    }
    const data = best.figure.data.concat(pinned || [], points ? [points.trace] : []);
    page.draw("curve", { data: data, layout: layout }, (place) => {
      page.drawn = Math.max(page.drawn, best.serial);
      const isSketch = best === sketch;
      document.getElementById("progress").textContent = isSketch ? "refining …" : "";
      document.getElementById("transitions").classList.toggle("stale", isSketch); // of the curve before
      page.watch(place);
    });
  }
  page.paint = paint;
})();
