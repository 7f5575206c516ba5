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
    if (comparison.selectedOptions[0]?.disabled) {
      comparison.value = [...comparison.options].find((option) => !option.disabled).value;
    }
    const value = line.querySelector("[name=value]");
    value.classList.toggle("unused", ["on", "not_on", "exists", "missing"].includes(comparison.value));
    value.setAttribute("list", `values-${line.querySelector("[name=field]").value}`);
    // A field of days empties itself of anything else.
    const isDay = /^(\d{4}-\d{2}-\d{2})?$/.test(value.value);
    value.type = isDay && ["since", "before"].includes(comparison.value) ? "date" : "text";
  };
  const furnish = (line) => {
    const remove = line.querySelector("[data-remove-condition]");
    remove.hidden = false;
    remove.addEventListener("click", () => {
      const field = line.querySelector("[name=field]");
      const next = line.nextElementSibling?.querySelector("select") ?? conditions.querySelector("[data-add-condition]");
      if (conditions.querySelectorAll(".condition").length > 1) line.remove();
      else field.value = "";
      (field.isConnected ? field : next).focus();
      conditions.querySelector("[name=match]").dispatchEvent(new Event("input", { bubbles: true }));
    });
    line.addEventListener("change", () => fit(line));
    fit(line);
  };
  conditions.querySelectorAll(".condition").forEach(furnish);
  conditions.querySelector("[data-add-condition]")?.addEventListener("click", (event) => {
    event.preventDefault();
    const lines = conditions.querySelectorAll(".condition");
    const last = lines[lines.length - 1];
    const line = last.cloneNode(true);
    line.querySelector("[name=field]").value = "";
    const value = line.querySelector("[name=value]");
    value.value = "";
    value.removeAttribute("aria-invalid");
    value.removeAttribute("aria-describedby");
    last.after(line);
    furnish(line);
    line.querySelector("[name=field]").focus();
  });
}
