// The editor saves a draft while it is written, and adds and removes conditions in place.
// Without it the buttons do the same by loading the page again.
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

  // A draft that is half written is not left by a slip.
  let isSubmitting = false;
  addEventListener("submit", () => { isSubmitting = true; });
  addEventListener("beforeunload", (event) => {
    if (isDirty && !isSubmitting) event.preventDefault();
  });

  // Conditions: a comparison that the chosen field does not have is not offered.
  const fit = (line) => {
    const kind = line.querySelector("[name=field]").selectedOptions[0]?.dataset.kind ?? "";
    const comparison = line.querySelector("[name=op]");
    for (const option of comparison.options) {
      option.hidden = option.disabled = kind !== "" && !option.dataset.kinds.split(" ").includes(kind);
    }
    if (comparison.selectedOptions[0]?.disabled) {
      comparison.value = [...comparison.options].find((option) => !option.disabled).value;
    }
    const value = line.querySelector("[name=value]");
    value.classList.toggle("unused", ["on", "not_on", "exists", "missing"].includes(comparison.value));
    // A field of days empties itself of anything else.
    const isDay = /^(\d{4}-\d{2}-\d{2})?$/.test(value.value);
    value.type = isDay && ["since", "before"].includes(comparison.value) ? "date" : "text";
  };
  const furnish = (line) => {
    const remove = line.querySelector("[data-remove-condition]");
    remove.hidden = false;
    remove.addEventListener("click", () => {
      const next = line.nextElementSibling?.querySelector("select, button") ?? null;
      if (draft.querySelectorAll(".condition").length > 1) line.remove();
      else line.querySelector("[name=field]").value = "";
      next?.focus();
      draft.querySelector("[name=match]").dispatchEvent(new Event("input", { bubbles: true }));
    });
    line.addEventListener("change", () => fit(line));
    fit(line);
  };
  draft.querySelectorAll(".condition").forEach(furnish);
  draft.querySelector("[data-add-condition]")?.addEventListener("click", (event) => {
    event.preventDefault();
    const lines = draft.querySelectorAll(".condition");
    const last = lines[lines.length - 1];
    const line = last.cloneNode(true);
    line.querySelector("[name=field]").value = "";
    line.querySelector("[name=value]").value = "";
    last.after(line);
    furnish(line);
    line.querySelector("[name=field]").focus();
  });
})();
