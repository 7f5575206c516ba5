// The editor saves a draft while it is written. Without it, Save does.
"use strict";

(() => {
  const draft = document.getElementById("draft");
  if (!draft) return;
  const PAUSE = 1200; // milliseconds without a key
  let timer = null;
  // What was refused, or waits for a choice between two people, stands above the form.
  const hasProblems = () => document.getElementById("problems").childElementCount > 0;
  let hasUnsent = false; // written after the last save was sent
  let isDirty = hasProblems();

  // What is not saved yet can neither be tested nor launched, and the reason stands there too.
  const showState = () => {
    for (const button of document.querySelectorAll("[data-needs-saved]")) button.disabled = isDirty || hasProblems();
    const texts = [...document.querySelectorAll("#problems li")].map((line) => line.textContent);
    for (const place of document.querySelectorAll("[data-unsaved]")) {
      place.hidden = !hasProblems();
      place.querySelector("span").textContent = texts.join(" ");
    }
  };

  // Screen readers say of a field what stands below it, and whether it is wrong.
  const describe = (field) => {
    const below = [`${field.id}_helptext`, `${field.id}_error`].filter((id) => document.getElementById(id));
    field.setAttribute("aria-describedby", below.join(" "));
    field.setAttribute("aria-invalid", below.includes(`${field.id}_error`));
  };

  // Conditions without a field are not counted.
  const findCondition = (number) => {
    const lines = [...draft.querySelectorAll(".condition")];
    return lines.filter((line) => line.querySelector("[name=field]").value !== "")[number];
  };

  // A refusal stands at its field as well; one that was mended goes.
  const showAtFields = () => {
    for (const old of draft.querySelectorAll(".error[id^=id_]")) {
      const field = document.getElementById(old.id.replace(/_error$/, ""));
      old.remove();
      if (field) describe(field);
    }
    for (const value of draft.querySelectorAll(".condition [aria-invalid]")) {
      value.removeAttribute("aria-invalid");
      value.removeAttribute("aria-describedby");
    }
    for (const line of document.querySelectorAll("#problems li[data-field], #flaws li[data-field]")) {
      const field = document.getElementById(line.dataset.field);
      const condition = findCondition(line.dataset.line);
      const place = condition ?? field?.closest(".field");
      if (!place) continue;
      const error = document.createElement("span");
      error.className = "error";
      error.id = `${line.dataset.field}_error`;
      error.textContent = line.querySelector("span").textContent;
      place.append(error);
      if (!condition) describe(field);
      const value = condition?.querySelector("[name=value]:enabled");
      value?.setAttribute("aria-invalid", "true");
      value?.setAttribute("aria-describedby", error.id);
    }
  };

  const save = () => {
    clearTimeout(timer);
    timer = null;
    draft.dispatchEvent(new CustomEvent("autosave", { bubbles: true }));
  };

  draft.addEventListener("input", (event) => {
    // Controls of the preview stand in the draft and belong to another form.
    if (event.target.form !== draft) return;
    hasUnsent = isDirty = true;
    showState();
    clearTimeout(timer);
    timer = setTimeout(save, PAUSE);
  });

  // Saved is not said of what is not. That somebody is signed out is also told by a part that is
  // only read.
  const showAt = (selector, isShown) => {
    for (const place of document.querySelectorAll(selector)) place.hidden = !isShown;
  };
  const showFailure = (request) => {
    const isSignedOut = request.status === 401;
    const isUnanswered = [0, 403].includes(request.status) || request.status >= 500;
    showAt("[data-signed-out]", isSignedOut);
    showAt("[data-unanswered]", isUnanswered);
    showAt("#saved", !isSignedOut && !isUnanswered);
    // Signing in again made a new token.
    const token = request.getResponseHeader("X-CSRF-Token");
    if (!token) return;
    for (const field of document.querySelectorAll("[name=csrfmiddlewaretoken]")) field.value = token;
  };

  // A save that waits for another one reads the fields when it is its turn.
  document.body.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.elt === draft) hasUnsent = false;
  });
  document.body.addEventListener("htmx:afterRequest", (event) => {
    const isSave = event.detail.elt === draft;
    if (!isSave && event.detail.xhr.status !== 401) return;
    const isFailed = !event.detail.successful;
    showFailure(event.detail.xhr);
    if (isSave) isDirty = hasUnsent || isFailed || hasProblems();
    if (!isFailed) showAtFields();
    if (isFailed && timer === null) timer = setTimeout(save, 4 * PAUSE);
    showState();
  });
  document.body.addEventListener("htmx:afterSettle", showState);

  // A picture that was uploaded goes where the caret was, on a line of its own; to the end of a
  // text in which nobody has set one.
  let isCaretSet = false;
  draft.querySelector("[name=body]").addEventListener("focus", () => { isCaretSet = true; });
  document.body.addEventListener("picture", (event) => {
    const body = draft.querySelector("[name=body]");
    if (!isCaretSet) body.setSelectionRange(body.value.length, body.value.length);
    const before = body.value.slice(0, body.selectionStart);
    const after = body.value.slice(body.selectionEnd);
    const above = before === "" || before.endsWith("\n\n") ? "" : before.endsWith("\n") ? "\n" : "\n\n";
    const below = after.startsWith("\n\n") ? "" : after.startsWith("\n") ? "\n" : "\n\n";
    insertText(body, `${above}${event.detail.snippet}${below}`);
    for (const id of ["f-picture", "f-description"]) document.getElementById(id).value = "";
  });

  // A draft that is half written is not left by a slip.
  let isSubmitting = false;
  addEventListener("submit", (event) => { isSubmitting = !["picture-form", "test-form", "preview-form"].includes(event.target.id); });
  addEventListener("beforeunload", (event) => {
    if (isDirty && !isSubmitting) event.preventDefault();
  });
})();
