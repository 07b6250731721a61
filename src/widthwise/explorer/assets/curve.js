/* The learning curve: it follows every movement, and is made smooth at rest; pins, data and the chosen α on it. */
(function () {
  "use strict";
  const page = (window.widthwise = window.widthwise || {});
  const parts = { moving: null, exact: null, pinned: null, points: null };
  const LONG = 300; // milliseconds after which the page says that it computes
  let last = null;
  page.asked = 0; // number of the newest wish
  page.drawn = 0; // number of the wish that the figure answers

  const ask = page.asker("live/curve", use); // asking.js comes first in the alphabet

  /* Ask for a curve if what is wanted has changed; returns the wish as text. */
  page.wish = function (state) {
    const wanted = {};
    for (const name of page.known.curve) wanted[name] = state[name];
    const text = JSON.stringify(wanted);
    if (text !== last) {
      last = text;
      page.asked += 1;
      setTimeout(say, LONG);
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
    parts.moving = { serial: question.serial, figure: found.figure };
    paint();
  }

  /* All digits, pins and data come from Dash. */
  page.take = function (data) {
    const name = window.dash_clientside.callback_context.triggered_id;
    const isNothing = (pins) => !pins || pins.traces.length === 0;
    const isSame = name === "pinned" && isNothing(data) && isNothing(parts.pinned);
    parts[name] = data;
    if (name === "pinned") page.namePins();
    if (!isSame) paint();
    return window.dash_clientside.no_update;
  };

  /* How far it is: nothing to say once the smooth curve of the newest wish is drawn. */
  function say() {
    const isLate = page.asked !== page.drawn;
    const isRough = !(parts.exact && parts.exact.serial >= page.drawn);
    document.getElementById("progress").textContent = isLate ? "computing …" : isRough ? "refining …" : "";
    document.getElementById("transitions").classList.toggle("stale", isLate || isRough); // of the curve before
  }

  /* The newest figure that is not out of date; the smooth one if it is there. */
  function paint() {
    const { moving, exact, pinned, points } = parts;
    const best = exact && (!moving || exact.serial >= moving.serial) ? exact : moving;
    if (!best) return;
    const layout = Object.assign({}, best.figure.layout);
    if (window.innerWidth < 600) {
      const title = Object.assign({}, layout.xaxis.title, { text: "α = n/d²" });
      layout.xaxis = Object.assign({}, layout.xaxis, { title: title });
      layout.margin = { l: 60, r: 8, t: 44, b: 84 };
    }
    const alpha = Number(page.now().alpha);
    if (alpha > 0) {
      const line = { color: "#9b59b6", width: 1.6, dash: "dot" };
      const mark = { type: "line", x0: alpha, x1: alpha, y0: 0, y1: 1, yref: "paper", line: line };
      layout.shapes = (layout.shapes || []).concat([mark]);
      const x = layout.xaxis.type === "log" ? Math.log10(alpha) : alpha;
      const isRight = alpha > 0.85 * Number(page.now().reach);
      const note = { x: x, y: 0, yref: "paper", xanchor: isRight ? "right" : "left", yanchor: "bottom", showarrow: false };
      layout.annotations = (layout.annotations || []).concat([
        Object.assign(note, { text: "α = " + alpha, font: { size: 12 } }),
      ]);
    }
    const data = best.figure.data.concat(pinned ? pinned.traces : [], points ? [points.trace] : []);
    page.draw("curve", { data: data, layout: layout }, (place) => {
      page.drawn = Math.max(page.drawn, best.serial);
      say();
      page.watch(place);
    });
  }
  page.paint = paint;

  /* Names of the pinned curves below the figure, each with a button that removes it. */
  page.namePins = function () {
    const list = document.getElementById("pin-names");
    list.replaceChildren();
    for (const one of (parts.pinned || {}).legend || []) {
      const item = document.createElement("li");
      const swatch = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.background = page.tint(one.color);
      item.append(swatch, one.pin === null ? "this curve: " + one.name : one.name);
      if (one.pin !== null) {
        const cross = document.createElement("button");
        cross.type = "button";
        cross.className = "cross";
        cross.textContent = "×";
        cross.setAttribute("aria-label", "remove the pin " + one.name);
        cross.addEventListener("click", () => page.unpin(one.pin));
        item.append(cross);
      }
      list.append(item);
    }
  };
})();
