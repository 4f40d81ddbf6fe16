// Keys, dark or light, pages that come back, plots and live records. Everything else is HTML, and htmx.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;

  $("theme")?.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    drawPlots();
  });
  $("keys")?.addEventListener("click", () => $("help").showModal());
  $("back")?.addEventListener("click", (event) => {
    event.preventDefault();
    history.back();
  });

  let pending = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    if (pending === "g") {
      pending = "";
      for (const link of document.querySelectorAll("[data-key]"))
        if (link.dataset.key === event.key) link.click();
    } else if (event.key === "g") pending = "g";
    else if (event.key === "/") {
      const search = document.querySelector("[data-search]");
      if (search) event.preventDefault(), search.focus();
    } else if (event.key === "?") $("help").showModal();
  });

  // A cluster that was away: the page is loaded again when it answers.
  const away = $("come-back");
  if (away)
    setInterval(async () => {
      try {
        if ((await fetch(location.href)).status !== 503) location.reload();
      } catch {
        // The console itself is away; the next round asks again.
      }
    }, 1000 * Number(away.dataset.every));

  // A part that could not be had says so above the old one.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status >= 400) event.detail.shouldSwap = true;
  });
  document.addEventListener("htmx:afterSettle", () => drawPlots());

  // Plots: figures are in the page, as JSON of columns.
  const drawn = new Map();
  const drawPlots = () => {
    for (const [place, plot] of drawn) if (!place.isConnected || true) plot.destroy(), drawn.delete(place);
    for (const place of document.querySelectorAll("[data-plot]")) {
      const data = JSON.parse(place.dataset.plot);
      const style = getComputedStyle(root);
      const ink = style.getPropertyValue("--muted").trim();
      const grid = { stroke: style.getPropertyValue("--line").trim(), width: 1 };
      const axis = { stroke: ink, grid, ticks: grid };
      const line = style.getPropertyValue("--accent").trim();
      const series = [{}, { label: place.dataset.label || "", stroke: line, width: 2, points: { show: data[0].length < 3 } }];
      const width = place.clientWidth || 320;
      drawn.set(place, new uPlot({ width, height: 200, legend: { show: false }, axes: [axis, { ...axis, size: 70 }], scales: { y: { range: (_, low, high) => [0, Math.max(high, 1)] } }, series }, data, place));
    }
  };
  drawPlots();
  let resizing = 0;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(drawPlots, 150);
  });
})();
