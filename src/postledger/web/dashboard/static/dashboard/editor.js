// The editor saves a draft while it is written. Without it, Save does.
"use strict";

(() => {
  const draft = document.getElementById("draft");
  if (!draft) return;
  const PAUSE = 1200; // milliseconds without a key
  let timer = null;
  // What was refused, or waits for a choice between two people, stands above the form.
  const hasProblems = () => document.getElementById("problems").childElementCount > 0;
  let isDirty = hasProblems();

  // What is not saved yet can neither be tested nor launched.
  const showState = () => {
    for (const button of document.querySelectorAll("[data-needs-saved]")) button.disabled = isDirty;
  };

  const save = () => {
    clearTimeout(timer);
    timer = null;
    draft.dispatchEvent(new CustomEvent("autosave", { bubbles: true }));
  };

  draft.addEventListener("input", (event) => {
    // Controls of the preview stand in the draft and belong to another form.
    if (event.target.form !== draft) return;
    isDirty = true;
    showState();
    clearTimeout(timer);
    timer = setTimeout(save, PAUSE);
  });

  document.body.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.elt !== draft) return;
    const isFailed = !event.detail.successful;
    isDirty = timer !== null || isFailed || hasProblems();
    if (isFailed && timer === null) timer = setTimeout(save, 4 * PAUSE);
    showState();
  });
  document.body.addEventListener("htmx:afterSettle", showState);

  // A picture that was uploaded goes where the caret was.
  document.body.addEventListener("picture", (event) => {
    const body = draft.querySelector("[name=body]");
    const { snippet } = event.detail;
    body.setRangeText(snippet, body.selectionStart, body.selectionEnd, "end");
    body.dispatchEvent(new Event("input", { bubbles: true }));
    for (const id of ["f-picture", "f-description"]) document.getElementById(id).value = "";
    body.focus();
  });

  // A draft that is half written is not left by a slip.
  let isSubmitting = false;
  addEventListener("submit", (event) => { isSubmitting = event.target.id !== "picture-form"; });
  addEventListener("beforeunload", (event) => {
    if (isDirty && !isSubmitting) event.preventDefault();
  });
})();
