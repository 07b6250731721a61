/* One question of a kind at a time: the newest waits for the answer before it, and older ones are never asked. */
(function () {
  "use strict";
  const page = (window.widthwise = window.widthwise || {});

  page.asker = function (address, use) {
    let waiting = null;
    let isBusy = false;

    async function send() {
      while (waiting !== null) {
        const question = waiting;
        waiting = null;
        try {
          const answer = await fetch(address, {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify(question),
          });
          if (answer.status === 200) use(await answer.json(), question);
        } catch (error) {
          console.info("no answer from the server: " + error.message); // what is drawn stays
        }
      }
      isBusy = false;
    }

    return function (question) {
      waiting = question;
      if (!isBusy) {
        isBusy = true;
        send();
      }
    };
  };

  /* A sentence beside a control. */
  page.say = function (name, words) {
    const place = document.getElementById(name + "-error");
    if (place && place.textContent !== words) place.textContent = words;
  };

  /* Colours of the figures on a dark ground: the same hues, lighter. */
  const DARK = {
    "#0072B2": "#4DB2F0", "#D55E00": "#FF8F45", "#009E73": "#35C99E", "#CC79A7": "#E8A4CB", "#E69F00": "#F7BC40",
    "#56B4E9": "#8AD0F9", "#6A51A3": "#AE97EA", "#8C510A": "#D6A15E", "#AA3377": "#EC86BC", "#C2185B": "#F4759F",
    "#9b59b6": "#C99BE0", "#8a8f98": "#9aa1ab", "#333940": "#e9ecf0",
  };
  const NAMES = new RegExp(Object.keys(DARK).join("|"), "g");
  page.isDark = function () {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  };
  page.tint = (text) => (page.isDark() ? text.replace(NAMES, (name) => DARK[name]) : text);

  /* Larger type and lines for the last row of a lecture hall. */
  function enlarge(figure) {
    const LARGE = Math.min(2, Math.max(1.15, window.innerWidth / 1150));
    const grow = (part, name) => { if (part && part[name]) part[name] *= LARGE; };
    const { data, layout } = figure;
    grow(layout.font, "size");
    grow((layout.legend || {}).font, "size");
    for (const name of ["xaxis", "yaxis", "yaxis2"]) grow(((layout[name] || {}).title || {}).font, "size");
    for (const note of layout.annotations || []) grow(note.font, "size");
    for (const trace of data) {
      grow(trace.line, "width");
      grow(trace.marker, "size");
    }
    for (const side of ["t", "b"]) grow(layout.margin, side);
  }

  /* A figure as it is shown now: by day or night, near or far. */
  function dressed(figure) {
    const own = JSON.parse(page.tint(JSON.stringify({ data: figure.data, layout: figure.layout })));
    if (document.body.classList.contains("lecture")) enlarge(own);
    return own;
  }

  const drawn = {};

  /* Draw a figure into its place as soon as Plotly has made one there. */
  page.draw = function (name, figure, done) {
    const place = document.querySelector("#" + name + " .js-plotly-plot");
    if (!place || !window.Plotly) {
      setTimeout(() => page.draw(name, figure, done), 30);
      return;
    }
    drawn[name] = figure;
    const own = dressed(figure);
    window.Plotly.react(place, own.data, own.layout).then(() => { if (done) done(place); });
  };

  /* The same figures again, in other clothes. */
  page.redraw = function () {
    for (const [name, figure] of Object.entries(drawn)) page.draw(name, figure);
    if (page.namePins) page.namePins();
  };
  page.shown = (name) => drawn[name];
})();
