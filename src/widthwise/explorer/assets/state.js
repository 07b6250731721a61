/* The state of the page, its address, and what is asked for when nothing moves any more. */
(function () {
  "use strict";
  const page = (window.widthwise = window.widthwise || {});
  const PROBLEM = /^(activation|formula|weights|law|readouts|[vp]\d|channel|noise|label|gamma|inputs|eigenvalues)$/;
  const CELL = /^[vp]\d$/; // of the table of readouts
  const REST = 250; // milliseconds without a change after which the curve is made smooth
  const AGAIN = 50; // and between looks whether it is there at all
  let timer = null;
  let settled = null;
  let isRestoring = false;
  let isFirst = true;

  /* All controls as Dash knows them. */
  page.gather = function (...given) {
    page.known = given.pop();
    const values = Array.isArray(given[0]) && given.length === 1 ? given[0] : given;
    const state = {};
    Object.keys(page.known.all).forEach((name, i) => { state[name] = values[i]; });
    const isMoved = !page.state || page.state.alpha !== state.alpha;
    page.state = state;
    page.show(state);
    page.showLecture(state, page.known.steps);
    const text = page.wish(state);
    if (isMoved) page.paint();
    clearTimeout(timer);
    timer = setTimeout(() => remember(text), REST);
    return state;
  };

  /* A slider moves: what can follow at once does. */
  page.follow = function (state, name) {
    clearTimeout(timer);
    if (name === "alpha") {
      page.paint();
      page.lookAt();
    } else {
      page.wish(state);
    }
  };

  function query(state) {
    const pairs = new URLSearchParams();
    for (const [name, usual] of Object.entries(page.known.all)) {
      const value = state[name];
      const isEmpty = value === null || value === undefined || value === "";
      if (value === usual || (isEmpty && (usual === null || !CELL.test(name)))) continue;
      pairs.set(name, isEmpty ? "" : String(value)); // a cell that was cleared
    }
    const text = pairs.toString();
    return text ? "?" + text : window.location.pathname;
  }

  /* Nothing has moved for a moment: write the address, and ask for what takes longer. */
  function remember(text) {
    const address = query(page.state);
    const isNew = ![window.location.search, window.location.pathname + window.location.search].includes(address);
    // The address that the page was opened with may say the same in other words: it is replaced.
    if (!isRestoring && isNew) window.history[isFirst ? "replaceState" : "pushState"](null, "", address);
    isRestoring = isFirst = false;
    settle(text, 600);
  }

  /* More points are asked for only after the curve is drawn: a slow machine must not do both at once. */
  function settle(text, tries) {
    if (page.drawn !== page.asked && tries > 0) {
      timer = setTimeout(() => settle(text, tries - 1), AGAIN);
      return;
    }
    if (text !== settled) {
      settled = text;
      page.set("settled", { data: Object.assign(JSON.parse(text), { serial: page.asked }) });
    }
    page.lookAt();
    if (["plan", "data", "scaling"].includes(page.state.view)) page.set("ask-" + page.state.view, { data: page.state });
  }

  function restore() {
    if (!page.known) return;
    const given = new URLSearchParams(window.location.search);
    isRestoring = true;
    for (const [name, usual] of Object.entries(page.known.all)) {
      let value = given.has(name) ? given.get(name) : usual;
      if (given.has(name) && (typeof usual === "number" || CELL.test(name))) {
        value = value === "" ? null : Number(value);
      }
      page.set(name, { value: value });
    }
  }

  /* Pins are the fields in which a problem differs from the usual one, as text in the address. */
  page.pin = function (clicks, unclicks, state) {
    if (window.dash_clientside.callback_context.triggered_id === "unpin") return "";
    let pins = [];
    try { pins = JSON.parse(state.pins || "[]"); } catch (error) { pins = []; }
    const own = {};
    for (const [name, usual] of Object.entries(page.known.all)) {
      if (PROBLEM.test(name) && state[name] !== usual && (state[name] !== null || CELL.test(name))) own[name] = state[name];
    }
    const text = JSON.stringify(own);
    pins = pins.filter((other) => JSON.stringify(other) !== text).concat([own]);
    return JSON.stringify(pins.slice(-6));
  };

  page.unpin = function (i) {
    const pins = JSON.parse(page.state.pins || "[]");
    pins.splice(i, 1);
    page.set("pins", { value: pins.length ? JSON.stringify(pins) : "" });
  };

  page.begin = function () {
    window.addEventListener("popstate", restore);
    page.listen();
    if (!page.recall("welcome")) page.set("welcome", { hidden: false });
    return window.dash_clientside.no_update;
  };
})();
