/* What runs in the browser: controls that follow each other, the state of the page and its address. */
(function () {
  "use strict";
  const skip = () => window.dash_clientside.no_update;
  const context = () => window.dash_clientside.callback_context;
  const set = (id, props) => window.dash_clientside.set_props(id, props);
  const LOGARITHMIC = ["gamma", "noise", "reach", "alpha"];
  const CURVE_ONLY = ["view", "alpha"]; // fields that do not change the learning curve
  const REST = 300; // milliseconds without a change after which all digits are computed
  let serial = 0;
  let timer = null;
  let last = null;
  let isRestoring = false;
  let usualValues = null;

  const round = (value) => Number(value.toPrecision(3));

  function sync(value, place) {
    const id = context().triggered_id || "";
    if (id.endsWith("-slider")) {
      if (place === null || place === undefined) return [skip(), skip()];
      const next = round(Math.pow(10, Number(place)));
      return [next, skip()];
    }
    if (!(Number(value) > 0)) return [skip(), skip()];
    const own = Math.log10(Number(value));
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
    const defaults = parts.pop();
    usualValues = defaults;
    const values = Array.isArray(parts[0]) && parts.length === 1 ? parts[0] : parts;
    const state = {};
    Object.keys(defaults).forEach((name, i) => { state[name] = values[i]; });
    const wanted = {};
    for (const name of Object.keys(state)) if (!CURVE_ONLY.includes(name)) wanted[name] = state[name];
    const text = JSON.stringify(wanted);
    const isNew = text !== last;
    if (isNew) {
      last = text;
      serial += 1;
      wanted.serial = serial;
    }
    show(state);
    clearTimeout(timer);
    timer = setTimeout(() => {
      const address = query(state, defaults);
      if (!isRestoring && address !== window.location.pathname + window.location.search &&
          address !== window.location.search) {
        window.history.pushState(null, "", address);
      }
      isRestoring = false;
      if (isNew) set("settled", { data: wanted });
    }, REST);
    window.widthwise_serial = serial;
    if (isNew) window.widthwise_asked = performance.now();
    return [state, isNew ? wanted : skip()];
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
    for (const [id, isShown] of Object.entries(places)) {
      const element = document.getElementById(id);
      if (element) element.hidden = !isShown;
    }
  }

  /* The newest figure that is not out of date; all digits before a sketch. */
  function choose(sketch, exact) {
    const best = exact && (!sketch || exact.serial >= sketch.serial) ? exact : sketch;
    const place = document.getElementById("progress");
    if (place) place.textContent = best === sketch ? "sketch, refining …" : "";
    if (!best) return skip();
    window.widthwise_drawn = best.serial;
    return best.figure;
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
    widthwise: { sync, gather, choose, begin, welcome, theme, pick },
  });
})();
