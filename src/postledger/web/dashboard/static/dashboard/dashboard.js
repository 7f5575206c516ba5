// Copies, and keeps live parts honest. Everything else works without scripts.
"use strict";

const showCopyButtons = () => {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
};
showCopyButtons();
document.addEventListener("htmx:load", showCopyButtons);
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(source.textContent);
  button.dataset.copied = "true";
});

// A part that cannot be refreshed says so, in place of old figures that look new.
document.addEventListener("htmx:afterRequest", (event) => {
  document.body.toggleAttribute("data-stale", !event.detail.successful);
});
