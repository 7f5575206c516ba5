// A value of the reader goes where the caret was, in the subject or in the text above its button.
"use strict";

// The editor inserts pictures by it, too.
const insertText = (field, text) => {
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
};

(() => {
  const TEXTS = ["subject", "preheader", "body", "text"];
  let written = null;
  document.addEventListener("focusin", (event) => {
    const name = event.target.name ?? "";
    if (TEXTS.includes(name.slice(name.lastIndexOf("-") + 1))) written = event.target;
  });
  document.addEventListener("click", (event) => {
    const row = event.target.closest("[data-insert-value]")?.parentElement;
    if (!row) return;
    const name = row.querySelector("select").value;
    // What would end the value, or its text, is left out: Liquid has no way to write it.
    let text = row.querySelector("input").value.trim().replace(/[{}%]/g, "");
    if (text.includes("'")) text = text.replaceAll('"', "”");
    const quote = text.includes('"') ? "'" : '"';
    const otherwise = text ? ` | default: ${quote}${text}${quote}` : "";
    const part = row.parentElement;
    const field = part.contains(written) ? written : part.querySelector("textarea");
    insertText(field, `{{ ${name}${otherwise} }}`);
  });
  // Else Enter would send a form.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches(".default-value")) return;
    event.preventDefault();
    event.target.closest("label").parentElement.querySelector("[data-insert-value]").click();
  });
})();
