/* What runs in the browser: controls that follow each other, the state of the page and its address. */
(function () {
  "use strict";
  const skip = () => window.dash_clientside.no_update;
  const context = () => window.dash_clientside.callback_context;
  const set = (id, props) => window.dash_clientside.set_props(id, props);
  const LINEAR = ["size"]; // sliders of whole numbers; the others are logarithmic
  const PROBLEM = /^(activation|formula|weights|law|readouts|[vp]\d|channel|noise|label|gamma)$/;
  const REST = 300; // milliseconds without a change after which all digits are computed
  let serial = 0;
  let timer = null;
  let last = null;
  let settled = null;
  let isRestoring = false;
  let usualValues = null;

  const round = (value) => Number(value.toPrecision(3));

  function sync(value, place) {
    const id = context().triggered_id || "";
    if (id.endsWith("-slider")) {
      if (place === null || place === undefined) return [skip(), skip()];
      const isLinear = LINEAR.includes(id.replace("-slider", ""));
      return [isLinear ? Math.round(Number(place)) : round(Math.pow(10, Number(place))), skip()];
    }
    if (!(Number(value) > 0)) return [skip(), skip()];
    const own = LINEAR.includes(id) ? Number(value) : Math.log10(Number(value));
    return [skip(), Math.abs(own - Number(place)) < 2e-3 ? skip() : own];
  }

  function query(state, defaults) {
    const pairs = new URLSearchParams();
    for (const name of Object.keys(defaults)) {
      const value = state[name];
      if (value === null || value === undefined || value === "" || value === defaults[name]) continue;
      pairs.set(name, String(value));
    }
    const text = pairs.toString();
    return text ? "?" + text : window.location.pathname;
  }

  function gather(...parts) {
    const known = parts.pop();
    const defaults = known.all;
    usualValues = defaults;
    const values = Array.isArray(parts[0]) && parts.length === 1 ? parts[0] : parts;
    const state = {};
    Object.keys(defaults).forEach((name, i) => { state[name] = values[i]; });
    const wanted = {};
    for (const name of known.curve) wanted[name] = state[name];
    const text = JSON.stringify(wanted);
    const isNew = text !== last;
    if (isNew) {
      last = text;
      serial += 1;
      wanted.serial = serial;
    }
    show(state);
    clearTimeout(timer);
    timer = setTimeout(() => remember(state, defaults, wanted, text), REST);
    window.widthwise_serial = serial;
    
    return [state, isNew ? wanted : skip()];
  }

  /* Nothing has moved for a moment: write the address, and ask for what takes longer. */
  function remember(state, defaults, wanted, text) {
    const address = query(state, defaults);
    const isNew = ![window.location.search, window.location.pathname + window.location.search].includes(address);
    if (!isRestoring && isNew) window.history.pushState(null, "", address);
    isRestoring = false;
    settle(state, wanted, text, 0);
  }

  /* All digits are asked for only after the sketch is drawn: a slow machine must not do both at once. */
  function settle(state, wanted, text, tries) {
    if (window.widthwise_drawn !== serial && tries < 100) {
      timer = setTimeout(() => settle(state, wanted, text, tries + 1), REST);
      return;
    }
    if (text !== settled) {
      settled = text;
      set("settled", { data: Object.assign({}, wanted, { serial: serial }) });
    }
    if (["point", "plan", "data"].includes(state.view)) set("ask-" + state.view, { data: state });
  }

  /* Parts of the page that belong to one choice are shown with it. */
  function show(state) {
    const places = {
      "formula-place": state.activation === "own",
      "law-place": state.weights === "own",
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
    for (const [id, isShown] of Object.entries(places)) {
      const element = document.getElementById(id);
      if (element) element.hidden = !isShown;
    }
  }

  /* The newest figure that is not out of date; all digits before a sketch. */
  function choose(sketch, exact, pinned, points, alpha) {
    const best = exact && (!sketch || exact.serial >= sketch.serial) ? exact : sketch;
    const place = document.getElementById("progress");
    if (place) place.textContent = best === sketch ? "sketch, refining …" : "";
    const words = document.getElementById("transitions");
    if (words) words.classList.toggle("stale", best === sketch); // they belong to the curve before
    if (!best) return skip();
    window.widthwise_drawn = best.serial;
    const more = (pinned || []).concat(points ? [points.trace] : []);
    const layout = Object.assign({}, best.figure.layout);
    if (window.innerWidth < 600) {
      const title = Object.assign({}, layout.xaxis.title, { text: "α = n/d²" });
      layout.xaxis = Object.assign({}, layout.xaxis, { title: title });
      layout.margin = { l: 70, r: 8, t: 44, b: 92 };
    }
    if (Number(alpha) > 0) {
      const line = { color: "#9b59b6", width: 1.4, dash: "dot" };
      const mark = { type: "line", x0: alpha, x1: alpha, y0: 0, y1: 1, yref: "paper", line: line };
      layout.shapes = (layout.shapes || []).concat([mark]);
    }
    return Object.assign({}, best.figure, { data: best.figure.data.concat(more), layout: layout });
  }

  /* Pins are the fields in which a problem differs from the usual one, as text in the address. */
  function pin(clicks, unclicks, state) {
    if (context().triggered_id === "unpin") return "";
    let pins = [];
    try { pins = JSON.parse(state.pins || "[]"); } catch (error) { pins = []; }
    const own = {};
    for (const [name, usual] of Object.entries(usualValues)) {
      if (PROBLEM.test(name) && state[name] !== usual && state[name] !== null) own[name] = state[name];
    }
    const text = JSON.stringify(own);
    pins = pins.filter((other) => JSON.stringify(other) !== text).concat([own]);
    return JSON.stringify(pins.slice(-6));
  }

  function press() {
    return context().triggered_id.split("-is-")[1];
  }

  function picture() {
    const kind = context().triggered_id.replace("save-", "");
    const figure = document.querySelector("#curve .js-plotly-plot");
    if (figure) {
      window.Plotly.downloadImage(figure, {
        format: kind, filename: "widthwise", width: 1000, height: 620, scale: kind === "png" ? 2 : 1,
      });
    }
    return skip();
  }

  function restore() {
    const defaults = usualValues;
    if (!defaults) return;
    const given = new URLSearchParams(window.location.search);
    isRestoring = true;
    for (const [name, usual] of Object.entries(defaults)) {
      let value = given.has(name) ? given.get(name) : usual;
      if (given.has(name) && (typeof usual === "number" || /^[vp]\d$/.test(name))) value = Number(value);
      set(name, { value: value });
    }
  }

  function begin() {
    window.addEventListener("popstate", restore);
    document.addEventListener("change", (event) => {
      if (event.target.matches("select.choice")) {
        set(event.target.id.replace("-list", ""), { value: event.target.value });
      }
    });
    let isKnown = null;
    try { isKnown = window.localStorage.getItem("widthwise-welcome"); } catch (error) { isKnown = null; }
    if (!isKnown) set("welcome", { hidden: false });
    return skip();
  }

  function welcome() {
    const id = context().triggered_id;
    if (id === "understood") {
      try { window.localStorage.setItem("widthwise-welcome", "seen"); } catch (error) { return true; }
      return true;
    }
    return false;
  }

  function theme(clicks) {
    const root = document.documentElement;
    let chosen = null;
    try { chosen = window.localStorage.getItem("widthwise-theme"); } catch (error) { chosen = null; }
    if (clicks) {
      const isDark = chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
      chosen = isDark ? "light" : "dark";
      try { window.localStorage.setItem("widthwise-theme", chosen); } catch (error) { /* private window */ }
    }
    if (chosen) root.dataset.theme = chosen;
    return "switch between light and dark";
  }

  function pick(click) {
    if (!click || !click.points || !click.points.length) return skip();
    return round(Number(click.points[0].x));
  }

  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    widthwise: { sync, gather, choose, begin, welcome, theme, pick, pin, picture, press },
  });
})();
