/* The views of one α: the one that is chosen, or the one that the mouse points at on the curve. */
(function () {
  "use strict";
  const page = (window.widthwise = window.widthwise || {});
  const SHORT = 60; // milliseconds on one point before it is asked for
  const BACK = 500; // milliseconds off the curve before the chosen α returns
  const ask = page.asker("live/point", use);
  let timer = null;
  let isWatched = false;
  page.pointed = null; // the α whose views are shown

  function use(answer, question) {
    const found = answer.found;
    if (!question.isHovered) page.say("alpha", (answer.own || {}).alpha || (found.errors || {}).alpha || "");
    if (!found.figures) return;
    for (const [name, figure] of Object.entries(found.figures)) page.draw(name, figure);
    const how = question.isHovered ? "Pointed at " : "Chosen ";
    document.getElementById("point-words").textContent = how + found.words;
    page.pointed = question.alpha;
  }

  /* Ask for the views of an α; the chosen one if none is given. */
  page.lookAt = function (alpha) {
    const state = page.now();
    if (state.view !== "point") return;
    const more = alpha === undefined ? {} : { alpha: alpha, isHovered: true };
    ask(Object.assign({ tab: page.known.tab }, state, more));
  };

  /* Listen to the mouse on the learning curve, once. */
  page.watch = function (place) {
    if (isWatched) return;
    isWatched = true;
    const later = (wait, act) => {
      clearTimeout(timer);
      timer = setTimeout(act, wait);
    };
    const usual = {};
    place.on("plotly_relayout", (change) => {
      for (const name of ["xaxis", "yaxis"]) {
        const axis = place.layout[name];
        const isMoved = Object.keys(change).some((key) => key.startsWith(name + ".range"));
        if (axis.type !== "log" || !(isMoved || change[name + ".autorange"])) continue;
        if (!(name in usual)) usual[name] = axis.dtick;
        const decades = Math.abs(axis.range[1] - axis.range[0]);
        const fitting = decades < 0.8 || decades >= 7 ? null : decades < 2.2 ? "D2" : 1;
        const dtick = isMoved ? fitting : usual[name];
        if (dtick !== axis.dtick) window.Plotly.relayout(place, { [name + ".dtick"]: dtick });
      }
    });
    place.on("plotly_hover", (event) => later(SHORT, () => page.lookAt(Number(event.points[0].x))));
    place.on("plotly_unhover", () => later(BACK, () => page.lookAt()));
    place.on("plotly_click", (event) => {
      clearTimeout(timer);
      page.set("alpha", { value: page.round(Number(event.points[0].x)) });
    });
  };
})();
