// A part that is swapped keeps what the reader has: the focus, and the tables that they opened.
"use strict";

(() => {
  let kept = null;

  // An element has the same place before and after by its id, or else by what it leads to.
  const nameOf = (element) =>
    element.id ? `#${CSS.escape(element.id)}`
    : element.getAttribute("href") ? `a[href="${CSS.escape(element.getAttribute("href"))}"]:not([tabindex])`
    : null;

  document.addEventListener("htmx:beforeSwap", (event) => {
    const part = event.detail.target;
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    kept = {
      focus: focused && nameOf(focused),
      open: [...part.querySelectorAll("details[open][id]")].map((details) => details.id),
    };
  });

  document.addEventListener("htmx:afterSwap", () => {
    for (const id of kept?.open ?? []) document.getElementById(id)?.setAttribute("open", "");
    if (kept?.focus && document.activeElement === document.body) {
      document.querySelector(`#live ${kept.focus}`)?.focus({ preventScroll: true });
    }
    kept = null;
    say();
  });

  // Nobody sees the figures of a hidden page.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.detail.elt.id === "live") event.preventDefault();
  });

  // Readers of the screen hear the state and every tenth of the way, not every figure.
  const say = () => {
    const words = document.getElementById("live")?.dataset.said;
    const region = document.getElementById("said");
    if (words && region && region.dataset.last !== words) {
      if (region.dataset.last) region.textContent = words;
      region.dataset.last = words;
    }
  };
  say();
})();
