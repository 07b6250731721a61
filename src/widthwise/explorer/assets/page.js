/* Welcome, light and dark, pictures to save; and the names by which Dash calls all of it. */
(function () {
  "use strict";
  const page = (window.widthwise = window.widthwise || {});
  const context = () => window.dash_clientside.callback_context;

  /* What this browser was told before; nothing in a private window. */
  page.recall = function (name) {
    try { return window.localStorage.getItem("widthwise-" + name); } catch (error) { return null; }
  };
  function keep(name, value) {
    try { window.localStorage.setItem("widthwise-" + name, value); } catch (error) { /* private window */ }
  }

  function welcome() {
    keep("welcome", "seen");
    return true;
  }

  function help() {
    const dialogue = document.getElementById("help-page");
    if (context().triggered_id === "help") dialogue.showModal();
    else dialogue.close();
    return window.dash_clientside.no_update;
  }

  function theme(clicks) {
    let chosen = page.recall("theme");
    if (clicks) {
      const isDark = chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
      chosen = isDark ? "light" : "dark";
      keep("theme", chosen);
    }
    if (chosen) document.documentElement.dataset.theme = chosen;
    if (clicks) page.redraw();
    return "switch between light and dark";
  }

  function picture() {
    const kind = context().triggered_id.replace("save-", "");
    const shown = page.shown("curve");
    if (shown) {
      // By day, on white, with pins in the legend, since their names are no part of the figure.
      const data = shown.data.map((trace) => (trace.meta && trace.meta.pin ? Object.assign({}, trace, { showlegend: true }) : trace));
      const layout = Object.assign({}, shown.layout, { paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff" });
      layout.margin = Object.assign({}, layout.margin, { b: 120 });
      const size = { width: 1000, height: 660, scale: kind === "png" ? 2 : 1 };
      window.Plotly.downloadImage({ data: data, layout: layout }, Object.assign({ format: kind, filename: "widthwise" }, size));
    }
    return window.dash_clientside.no_update;
  }

  const call = (name) => (...given) => page[name](...given); // the other files may come later
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.redraw());
  const callbacks = { welcome, help, theme, picture };
  for (const name of ["sync", "gather", "take", "begin", "pin", "press", "teach"]) callbacks[name] = call(name);
  window.dash_clientside = Object.assign({}, window.dash_clientside, { widthwise: callbacks });
})();
