// Adds to the page what needs a pointer or a keyboard. Texts are only ever set as text.
"use strict";
(() => {
  // A point further from the pointer than this, in CSS pixels, is not meant.
  const REACH = 60;

  for (const button of document.querySelectorAll("button[data-copies]")) {
    const text = document.getElementById(button.dataset.copies);
    button.hidden = false;
    button.parentElement.classList.add("ready");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        // Where the clipboard is refused, the text is marked for the reader's own keys.
        getSelection().selectAllChildren(text);
        button.textContent = "Marked";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  const data = JSON.parse(document.getElementById("data").textContent);
  for (const { chart, places } of data.charts) {
    const element = document.querySelector(`[data-chart="${chart}"]`);
    if (element && places.length > 0) {
      attach(element, places);
    }
  }

  function attach(chart, places) {
    const svg = chart.querySelector("svg");
    const tip = chart.querySelector(".tip");
    const ring = svg.querySelector(".ring");
    const { width, height } = svg.viewBox.baseVal;
    let current = 0;

    const show = (index) => {
      current = index;
      const words = data.points[index];
      tip.replaceChildren(...[words.curve, words.place, words.value, words.basis].map((line) => {
        const span = document.createElement("span");
        span.textContent = line;
        return span;
      }));
      const [x, y] = places[index];
      ring.setAttribute("cx", x);
      ring.setAttribute("cy", y);
      ring.setAttribute("visibility", "visible");
      tip.classList.add("shown");
      const box = svg.getBoundingClientRect();
      const left = x * box.width / width - tip.offsetWidth / 2;
      const above = y * box.height / height - tip.offsetHeight - 14;
      const below = y * box.height / height + 14;
      tip.style.left = `${Math.max(0, Math.min(left, box.width - tip.offsetWidth))}px`;
      tip.style.top = `${above < 0 ? below : above}px`;
    };

    const hide = () => {
      tip.classList.remove("shown");
      ring.setAttribute("visibility", "hidden");
    };

    const follow = (event) => {
      const box = svg.getBoundingClientRect();
      const distance = ([x, y]) => Math.hypot(
        x * box.width / width - (event.clientX - box.left),
        y * box.height / height - (event.clientY - box.top),
      );
      const distances = places.map(distance);
      const nearest = distances.indexOf(Math.min(...distances));
      if (distances[nearest] <= REACH) {
        show(nearest);
      } else {
        hide();
      }
    };
    svg.addEventListener("pointermove", follow);
    svg.addEventListener("pointerdown", follow);
    svg.addEventListener("pointerleave", (event) => {
      // A finger leaves when it is lifted: what it asked for stays.
      if (event.pointerType === "mouse") {
        hide();
      }
    });

    // The nearest point of the curve before or after this one.
    const neighbour = (step) => {
      const names = data.points.map((point) => point.curve);
      const curves = [...new Set(names)];
      const wanted = curves[curves.indexOf(names[current]) + step];
      let best = current;
      let least = Infinity;
      places.forEach(([x], index) => {
        const distance = Math.abs(x - places[current][0]);
        if (names[index] === wanted && distance < least) {
          best = index;
          least = distance;
        }
      });
      return best;
    };
    const along = (step) => {
      const next = data.points[current + step];
      return next && next.curve === data.points[current].curve ? current + step : current;
    };
    const keys = {
      ArrowRight: () => along(1),
      ArrowLeft: () => along(-1),
      ArrowDown: () => neighbour(1),
      ArrowUp: () => neighbour(-1),
    };
    chart.tabIndex = 0;
    chart.setAttribute("role", "application");
    chart.setAttribute("aria-label", "Curves: arrow keys go from point to point");
    chart.addEventListener("focus", () => {
      if (chart.matches(":focus-visible")) {
        show(current);
      }
    });
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        hide();
      } else if (Object.hasOwn(keys, event.key)) {
        event.preventDefault();
        show(keys[event.key]());
      }
    });
  }
})();
