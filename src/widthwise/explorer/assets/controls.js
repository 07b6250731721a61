/* Controls that follow each other. A slider that moves is answered past Dash, which hears of it once it rests. */
(function () {
  "use strict";
  const page = (window.widthwise = window.widthwise || {});
  const LINEAR = ["size"]; // sliders of whole numbers; the others are logarithmic
  const PAUSE = 400; // milliseconds after which a slider that is still held counts as at rest
  let moved = {};
  let timer = null;

  page.round = (value) => Number(value.toPrecision(3));
  page.set = (id, props) => window.dash_clientside.set_props(id, props);

  /* What the controls say now, with sliders that Dash does not know of yet. */
  page.now = () => Object.assign({}, page.state, moved);

  function tellDash() {
    clearTimeout(timer);
    const news = moved;
    moved = {};
    for (const [name, value] of Object.entries(news)) page.set(name, { value: value });
  }

  function slide(event) {
    const slider = event.target;
    if (!(slider instanceof HTMLInputElement) || slider.type !== "range") return;
    event.stopPropagation();
    const name = slider.id.replace("-slider", "");
    const place = Number(slider.value);
    const value = LINEAR.includes(name) ? Math.round(place) : page.round(Math.pow(10, place));
    const field = document.getElementById(name);
    if (event.type === "input") {
      field.value = value;
      moved[name] = value;
      page.follow(page.now(), name);
      clearTimeout(timer);
      timer = setTimeout(tellDash, PAUSE);
    } else {
      tellDash(); // released
    }
  }

  /* Move a slider as a hand would; ``rest`` lets go of it. */
  page.move = function (name, value) {
    const field = document.getElementById(name);
    if (field) field.value = value;
    const slider = document.getElementById(name + "-slider");
    if (slider) slider.value = LINEAR.includes(name) ? value : Math.log10(value);
    moved[name] = value;
    page.follow(page.now(), name);
  };
  page.rest = tellDash;

  /* A number was typed, or Dash has heard of a slider: the slider goes there. */
  page.sync = function (value, place) {
    const keep = window.dash_clientside.no_update;
    if (!(Number(value) > 0)) return keep;
    const name = window.dash_clientside.callback_context.triggered_id;
    const own = LINEAR.includes(name) ? Number(value) : Math.log10(Number(value));
    return Math.abs(own - Number(place)) < 1e-9 ? keep : own;
  };

  /* Parts of the page that belong to one choice are shown with it. */
  page.show = function (state) {
    const places = {
      "formula-place": state.activation === "own",
      "law-place": state.weights === "own",
      "eigenvalues-place": state.inputs === "own",
      "table-place": state.readouts === "own",
      "label-place": state.channel === "own",
      "noise-place": !["sign", "own"].includes(state.channel),
    };
    for (const list of document.querySelectorAll("select.choice")) {
      const value = state[list.id.replace("-list", "")];
      if (value !== undefined && list.value !== value) list.value = value;
    }
    for (const button of document.querySelectorAll(".choice-button")) {
      const [name, value] = button.id.split("-is-");
      button.setAttribute("aria-pressed", String(state[name] === value));
    }
    for (const element of document.querySelectorAll(".view")) {
      const isShown = element.id === "view-" + state.view;
      if (element.hidden === isShown) {
        element.hidden = !isShown;
        if (isShown) window.dispatchEvent(new Event("resize")); // figures learn their size
      }
    }
    const file = document.querySelector("#upload input[type=file]"); // Dash gives it no name
    if (file) file.setAttribute("aria-label", "table of measurements, a CSV file");
    for (const [id, isShown] of Object.entries(places)) {
      const element = document.getElementById(id);
      if (element) element.hidden = !isShown;
    }
  };

  page.press = () => window.dash_clientside.callback_context.triggered_id.split("-is-")[1];

  page.listen = function () {
    // Before React, whose listeners are on a part of the document.
    for (const kind of ["input", "change"]) document.addEventListener(kind, slide, true);
    document.addEventListener("change", (event) => {
      if (event.target.matches("select.choice")) {
        page.set(event.target.id.replace("-list", ""), { value: event.target.value });
      }
    });
  };
})();
