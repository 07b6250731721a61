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

  /* Draw a figure into its place as soon as Plotly has made one there. */
  page.draw = function (name, figure, done) {
    const place = document.querySelector("#" + name + " .js-plotly-plot");
    if (!place || !window.Plotly) {
      setTimeout(() => page.draw(name, figure, done), 30);
      return;
    }
    window.Plotly.react(place, figure.data, figure.layout).then(() => { if (done) done(place); });
  };
})();
