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

  // Live records: rows come as HTML that the console has escaped.
  const ROWS_MAX = 500;
  let tail = null;
  const live = $("live");
  const stopTail = (said) => {
    tail?.close();
    tail = null;
    live.textContent = "Live";
    $("live-said").textContent = said;
  };
  live?.addEventListener("click", () => {
    if (tail) return stopTail("Stopped.");
    const query = new URLSearchParams(new FormData($("search")));
    const rows = $("rows");
    let passed = 0;
    let shown = 0;
    rows.replaceChildren();
    live.textContent = "Stop";
    $("live-said").textContent = "Waiting for records.";
    tail = new EventSource(`${live.dataset.path}?${query}`);
    tail.addEventListener("records", (event) => {
      const { rows: html, passed_over } = JSON.parse(event.data);
      const template = document.createElement("template");
      template.innerHTML = html;
      for (const row of [...template.content.children]) {
        rows.prepend(row);
        shown += 1;
      }
      while (rows.children.length > ROWS_MAX) rows.lastElementChild.remove();
      passed += passed_over;
      $("live-said").textContent = `Live: ${shown} shown, ${passed} passed over.`;
    });
    tail.addEventListener("trouble", (event) => ($("live-said").textContent = JSON.parse(event.data)));
    tail.addEventListener("end", (event) => stopTail(JSON.parse(event.data)));
    tail.onerror = () => {
      if (tail && tail.readyState === EventSource.CLOSED) stopTail("The console has ended the tail.");
    };
  });

  // Plots: figures are in the page, as JSON of columns.
  const drawn = [];
  const drawPlots = () => {
    for (const plot of drawn) plot.destroy();
    drawn.length = 0;
    for (const place of document.querySelectorAll("[data-plot]")) {
      const data = JSON.parse(place.dataset.plot);
      const style = getComputedStyle(root);
      const ink = style.getPropertyValue("--muted").trim();
      const grid = { stroke: style.getPropertyValue("--line").trim(), width: 1 };
      const axis = { stroke: ink, grid, ticks: grid };
      const line = style.getPropertyValue("--accent").trim();
      const series = [{}, { label: place.dataset.label || "", stroke: line, width: 2, points: { show: data[0].length < 3 } }];
      const width = place.clientWidth || 320;
      drawn.push(new uPlot({ width, height: 200, legend: { show: false }, axes: [{ ...axis, space: 80, values: (_, ticks) => ticks.map((at) => new Date(at * 1000).toLocaleTimeString([], { hour12: false })) }, { ...axis, size: 70 }], scales: { y: { range: (_, low, high) => [0, Math.max(high, 1)] } }, series }, data, place));
    }
  };
  drawPlots();
  let resizing = 0;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(drawPlots, 150);
  });
})();
