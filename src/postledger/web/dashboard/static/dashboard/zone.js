// Proposes the zone of the browser where nobody has chosen one. Without scripts it stays UTC.
"use strict";

for (const select of document.querySelectorAll("select[data-propose-zone]")) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const isKnown = [...select.options].some((option) => option.value === zone);
  if (isKnown) select.value = zone;
}
