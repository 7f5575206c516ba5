// Draws lines over time in place of the server's pictures, in the colours of the tokens.
"use strict";

(() => {
  const drawn = new Map(); // the id of a chart → {plot, part}

  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // A token may hold light-dark(): a painted element resolves it for the canvas.
  const colour = (name) => {
    const probe = document.createElement("span");
    probe.hidden = true;
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  };

  const read = (part) => {
    const block = document.getElementById(part.dataset.chart);
    return block && JSON.parse(block.textContent);
  };

  const options = (part, data) => {
    const language = document.documentElement.lang;
    const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
    const line = colour("--st-accepted");
    const font = `12px ${token("--font-sans")}`;
    const axis = { stroke: colour("--text-3"), font, grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    return {
      width: part.clientWidth,
      height: 190,
      padding: [8, 28, 0, 0],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), data.zone),
      legend: { show: true, live: true },
      cursor: { y: false, points: { size: 6 } },
      scales: { y: { range: (_, low, high) => [0, Math.max(1, high * 1.1)] } },
      axes: [
        { ...axis, size: 28, space: 70, grid: { show: false }, values: times(language, data.zone) },
        { ...axis, size: 56, incrs: wholeSteps, values: (_, splits) => splits.map((split) => number.format(split)) },
      ],
      series: [
        { label: data.from, value: (_, seconds) => (seconds ? moment(language, data.zone).format(seconds * 1e3) : "—") },
        {
          label: data.unit, stroke: line, width: 1.75, points: { show: false },
          fill: line.replace(/^rgb\((.*)\)$/, "rgb($1 / 12%)").replaceAll(",", " "),
          value: (_, value) => (value == null ? "—" : number.format(value)),
        },
      ],
    };
  };

  // Between the lines of a chart of mails or people: they are whole.
  const wholeSteps = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power));

  const moment = (language, timeZone) =>
    new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone });

  // Seconds where labels lie within a minute, days where they lie a day apart.
  const times = (language, timeZone) => (_, splits) => {
    const step = splits.length > 1 ? splits[1] - splits[0] : 60;
    const minutes = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone };
    const parts = step < 60 ? { ...minutes, second: "2-digit" } : step < 86_400 ? minutes : { day: "numeric", month: "short", timeZone };
    const format = new Intl.DateTimeFormat(language, parts);
    return splits.map((seconds) => format.format(seconds * 1e3));
  };

  const draw = (part) => {
    const data = read(part);
    if (!data) return;
    const series = [data.times, data.values];
    const known = drawn.get(part.id);
    if (known && known.part === part) return known.plot.setData(series);
    known?.plot.destroy();
    part.classList.add("plotted");
    part.replaceChildren();
    part.setAttribute("role", "img");
    part.setAttribute("aria-label", data.story);
    drawn.set(part.id, { part, plot: new uPlot(options(part, data), series, part) });
    resized.observe(part);
  };

  const redraw = () => {
    for (const { plot, part } of [...drawn.values()]) {
      plot.destroy();
      drawn.delete(part.id);
      if (part.isConnected) draw(part);
    }
  };

  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      drawn.get(target.id)?.plot.setSize({ width: target.clientWidth, height: 190 });
    }
  });

  const drawAll = () => document.querySelectorAll("[data-chart]").forEach(draw);
  document.addEventListener("htmx:afterSettle", drawAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  drawAll();
})();
