// The lines of a filter: added and removed in place, with the comparisons that each field has.
// Without it a line is added by loading the page again, and removed by leaving its field empty.
"use strict";

for (const conditions of document.querySelectorAll(".conditions")) {
  // A comparison that the chosen field does not have is not offered.
  const fit = (line) => {
    const kind = line.querySelector("[name=field]").selectedOptions[0]?.dataset.kind ?? "";
    const comparison = line.querySelector("[name=op]");
    for (const option of comparison.options) {
      option.hidden = option.disabled = kind !== "" && !option.dataset.kinds.split(" ").includes(kind);
    }
    // What a person chose stays while the field has it; what was chosen for them does not: arrow
    // keys go through all fields.
    if (comparison.selectedOptions[0]?.disabled || "fitted" in comparison.dataset) {
      comparison.value = [...comparison.options].find((option) => !option.disabled).value;
      comparison.dataset.fitted = "";
    }
    const value = line.querySelector("input[name=value]");
    // One language is chosen by its name, from a list in place of the field.
    const language = line.querySelector("select[name=value]");
    const hasLanguage = kind === "locale" && ["is", "is_not"].includes(comparison.value);
    value.hidden = value.disabled = hasLanguage;
    language.hidden = language.disabled = !hasLanguage;
    value.classList.toggle("unused", ["on", "not_on", "exists", "missing"].includes(comparison.value));
    value.setAttribute("list", `values-${line.querySelector("[name=field]").value}`);
    // A field of days empties itself of anything else.
    const isDay = /^(\d{4}-\d{2}-\d{2})?$/.test(value.value);
    value.type = isDay && ["since", "before"].includes(comparison.value) ? "date" : "text";
  };
  const empty = (line) => {
    const comparison = line.querySelector("[name=op]");
    line.querySelector("[name=field]").value = "";
    comparison.selectedIndex = 0;
    delete comparison.dataset.fitted;
    for (const value of line.querySelectorAll("[name=value]")) {
      value.value = "";
      value.removeAttribute("aria-invalid");
      value.removeAttribute("aria-describedby");
    }
    line.querySelector(".error")?.remove();
    fit(line);
  };
  const furnish = (line) => {
    const remove = line.querySelector("[data-remove-condition]");
    remove.hidden = false;
    remove.addEventListener("click", () => {
      const field = line.querySelector("[name=field]");
      const next = line.nextElementSibling?.querySelector("select") ?? conditions.querySelector("[data-add-condition]");
      if (conditions.querySelectorAll(".condition").length > 1) line.remove();
      else empty(line);
      (field.isConnected ? field : next).focus();
      conditions.querySelector("[name=match]").dispatchEvent(new Event("input", { bubbles: true }));
    });
    line.addEventListener("change", (event) => {
      if (event.target.name === "op") delete event.target.dataset.fitted;
      fit(line);
    });
    fit(line);
  };
  conditions.querySelectorAll(".condition").forEach(furnish);
  conditions.querySelector("[data-add-condition]")?.addEventListener("click", (event) => {
    event.preventDefault();
    const lines = conditions.querySelectorAll(".condition");
    const last = lines[lines.length - 1];
    const line = last.cloneNode(true);
    empty(line);
    last.after(line);
    furnish(line);
    line.querySelector("[name=field]").focus();
  });
}

// A segment keeps what the fields say, also what was changed since the last search.
document.querySelector("[data-keeps-search]")?.addEventListener("formdata", ({ formData }) => {
  const search = new FormData(document.querySelector("main form[role=search]"));
  for (const name of search.keys()) formData.delete(name);
  for (const [name, value] of search) formData.append(name, value);
});
