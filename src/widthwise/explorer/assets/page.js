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
    if (context().triggered_id !== "understood") return false;
    keep("welcome", "seen");
    return true;
  }

  function theme(clicks) {
    let chosen = page.recall("theme");
    if (clicks) {
      const isDark = chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
      chosen = isDark ? "light" : "dark";
      keep("theme", chosen);
    }
    if (chosen) document.documentElement.dataset.theme = chosen;
    return "switch between light and dark";
  }

  function picture() {
    const kind = context().triggered_id.replace("save-", "");
    const figure = document.querySelector("#curve .js-plotly-plot");
    if (figure) {
      window.Plotly.downloadImage(figure, {
        format: kind, filename: "widthwise", width: 1000, height: 620, scale: kind === "png" ? 2 : 1,
      });
    }
    return window.dash_clientside.no_update;
  }

  const call = (name) => (...given) => page[name](...given); // the other files may come later
  const callbacks = { welcome, theme, picture };
  for (const name of ["sync", "gather", "take", "begin", "pin", "press"]) callbacks[name] = call(name);
  window.dash_clientside = Object.assign({}, window.dash_clientside, { widthwise: callbacks });
})();
