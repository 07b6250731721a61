/* The lecture: steps that set the page, large type, and α that grows by itself. */
(function () {
  "use strict";
  const page = (window.widthwise = window.widthwise || {});
  const FRAME = 110; // milliseconds between two values of α
  const FRAMES = 110; // from the smallest to the largest
  let steps = null;
  let timer = null;

  const number = () => Number((page.state || {}).lecture) || 0;
  const isOn = () => number() > 0 && steps !== null;

  /* Go to a step; 0 ends the lecture and leaves what is shown. */
  function go(n) {
    stop();
    if (n > 0) {
      for (const [name, value] of Object.entries(steps[n - 1].state)) page.set(name, { value: value });
      page.set("view", { value: "point" });
    }
    page.set("lecture", { value: n });
  }

  function stop() {
    if (timer === null) return;
    clearInterval(timer);
    timer = null;
    page.rest();
    const button = document.getElementById("lecture-play");
    if (button) button.textContent = "Play α";
  }

  function play() {
    if (timer !== null) {
      stop();
      return;
    }
    const reach = Number(page.state.reach);
    const isLog = page.state.xaxis === "log";
    const low = isLog ? reach / 250 : reach / 60;
    let i = 0;
    document.getElementById("lecture-play").textContent = "Stop";
    timer = setInterval(() => {
      i += 1;
      const share = i / FRAMES;
      page.move("alpha", page.round(isLog ? low * Math.pow(reach / low, share) : low + (reach - low) * share));
      if (i >= FRAMES) stop();
    }, FRAME);
  }

  page.teach = function () {
    const what = window.dash_clientside.callback_context.triggered_id.replace("lecture-", "");
    const n = number();
    if (what === "start") go(n || 1);
    else if (what === "end") go(0);
    else if (what === "play") play();
    else go(Math.min(Math.max(n + (what === "next" ? 1 : -1), 1), steps.length));
    return window.dash_clientside.no_update;
  };

  /* Show the step that the state names. */
  page.showLecture = function (state, known) {
    steps = known;
    const n = Number(state.lecture) || 0;
    const was = document.body.classList.contains("lecture");
    const bar = document.getElementById("lecture-bar");
    document.body.classList.toggle("lecture", n > 0);
    bar.hidden = n <= 0;
    if (n > 0 && steps) {
      const step = steps[Math.min(n, steps.length) - 1];
      document.getElementById("lecture-title").textContent = step.title;
      document.getElementById("lecture-words").textContent = step.words;
      document.getElementById("lecture-number").textContent = n + " of " + steps.length;
      document.getElementById("lecture-back").disabled = n <= 1;
      document.getElementById("lecture-next").disabled = n >= steps.length;
    }
    if (was !== n > 0) {
      page.redraw();
      window.dispatchEvent(new Event("resize"));
    }
  };

  document.addEventListener("keydown", (event) => {
    if (!isOn() || event.target.closest("input, select, textarea, dialog") || event.ctrlKey || event.altKey) return;
    const n = number();
    if (event.key === "ArrowRight" || event.key === "PageDown") go(Math.min(n + 1, steps.length));
    else if (event.key === "ArrowLeft" || event.key === "PageUp") go(Math.max(n - 1, 1));
    else if (event.key === "Escape") go(0);
    else if (event.key === " " && !event.target.closest("button")) play();
    else return;
    event.preventDefault();
  });
})();
