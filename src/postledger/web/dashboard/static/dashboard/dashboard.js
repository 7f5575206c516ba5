// Copies, lets messages leave, and keeps live parts honest. Everything else works without scripts.
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

// Shows what was typed into a field that hides it, so that nobody stores a slip.
for (const button of document.querySelectorAll("[data-show]")) button.hidden = false;
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-show]");
  if (!button) return;
  const input = document.getElementById(button.dataset.show);
  input.type = input.type === "password" ? "text" : "password";
  [button.textContent, button.dataset.other] = [button.dataset.other, button.textContent];
});

// A message leaves after a while, unless it tells of an error or somebody is about to use it.
const shownFor = 8_000; // milliseconds
const isInUse = (toast) => toast.matches(":hover, :focus-within");
const letLeave = (toast) => {
  setTimeout(() => (isInUse(toast) ? letLeave(toast) : toast.remove()), shownFor);
};
for (const box of document.querySelectorAll(".toasts")) {
  // Screen readers say what is added to a live region, and not what it begins with.
  const toasts = [...box.children];
  box.replaceChildren();
  setTimeout(() => box.append(...toasts), 100);
  for (const toast of toasts) {
    toast.querySelector("[data-close]").hidden = false;
    if (!("stays" in toast.dataset)) letLeave(toast);
  }
}
document.addEventListener("click", (event) => {
  event.target.closest("[data-close]")?.closest(".toast").remove();
});

// A file that is too large is refused before it is sent: what else was typed stays.
document.addEventListener("change", (event) => {
  const input = event.target;
  if (!input.dataset.most) return;
  const isTooLarge = [...input.files].some((file) => file.size > Number(input.dataset.most));
  const text = isTooLarge ? input.dataset.tooLarge : "";
  input.setCustomValidity(text);
  input.setAttribute("aria-invalid", isTooLarge);
  input.parentElement.querySelector("[data-size-error]")?.remove();
  if (!isTooLarge) return;
  const error = document.createElement("span");
  error.className = "error";
  error.dataset.sizeError = "";
  error.setAttribute("role", "alert");
  error.textContent = text;
  input.after(error);
});

// A form that is half written, or was sent and not stored, is not left by a slip.
let isHalfWritten = document.querySelector("[data-asks-before-leaving=unsaved]") !== null;
document.addEventListener("input", (event) => {
  if (event.target.form?.matches("[data-asks-before-leaving]")) isHalfWritten = true;
});
addEventListener("submit", (event) => {
  const isShownBeside = event.submitter?.formTarget; // a preview, in a frame of this page
  if (event.target.matches("[data-asks-before-leaving]") && !isShownBeside) isHalfWritten = false;
});
addEventListener("beforeunload", (event) => {
  if (isHalfWritten) event.preventDefault();
});

// A second click sends nothing twice. htmx has prevented the default of its own forms already.
addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post" || event.submitter?.formTarget) return;
  if ("sent" in form.dataset) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "";
  setTimeout(() => delete form.dataset.sent, 10000); // no answer came: it can be sent again
});
addEventListener("pageshow", () => { // the browser came back to the page as it was left
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// A part that cannot be refreshed says so, in place of old figures that look new.
document.addEventListener("htmx:afterRequest", (event) => {
  document.body.toggleAttribute("data-stale", !event.detail.successful);
  // The page leads to sign-in, unless somebody writes in it: the editor says that they are signed out.
  const isWritten = isHalfWritten || document.getElementById("draft") !== null;
  if (event.detail.xhr.status === 401 && !isWritten) location.reload();
});
