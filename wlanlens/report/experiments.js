// The page of experiments: each figure is drawn when it is scrolled into view, in the reader's colours.
const PAGE = JSON.parse(document.getElementById("page").textContent);
document.documentElement.className = "js";
const darkQuery = window.matchMedia("(prefers-color-scheme: dark)");

// Distinguishable for colour-blind readers (Okabe and Ito), lighter on dark paper.
const COLOURS = [
  ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#5c6470"],
  ["#62b5f7", "#ff8a5c", "#3ed3a6", "#f0a3cf", "#e8c84e", "#9ad7ff", "#b9c0ca"],
];
const BLACK = new Set(["black", "#000", "#000000"]);

// Black in a study's figure becomes the reader's text colour.
function inked(value, ink) {
  if (Array.isArray(value)) return value;
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, k === "color" && BLACK.has(v) ? ink : inked(v, ink)]));
  return value;
}

function merged(base, over) {
  const out = { ...base };
  for (const [key, value] of Object.entries(over ?? {})) {
    const both = value && typeof value === "object" && !Array.isArray(value) && out[key] && typeof out[key] === "object";
    out[key] = both ? merged(out[key], value) : value;
  }
  return out;
}

function look(layout, box) {
  const css = getComputedStyle(document.documentElement);
  const [ink, quiet, rule] = ["--ink", "--quiet", "--rule"].map((name) => css.getPropertyValue(name).trim());
  const axis = { gridcolor: rule, linecolor: quiet, zeroline: false, ticks: "outside", tickcolor: rule, automargin: true, title: { font: { size: 12 } } };
  const axes = Object.fromEntries(Object.keys({ xaxis: 0, yaxis: 0, ...layout }).filter((key) => /^[xy]axis\d*$/.test(key)).map((key) => [key, axis]));
  const base = {
    ...axes, colorway: COLOURS[darkQuery.matches ? 1 : 0], paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", color: ink, size: 12 }, margin: { l: 50, r: 12, t: layout.title?.text ? 44 : 12, b: 40 },
    title: { font: { size: 14 }, x: 0, xanchor: "left", xref: "paper", yref: "container", y: 0.98, yanchor: "top", automargin: true },
    hoverlabel: { bgcolor: css.getPropertyValue("--paper").trim(), font: { color: ink } },
    legend: { orientation: "h", y: 1.02, x: 0, yanchor: "bottom", font: { size: 11 } },
    dragmode: window.matchMedia("(pointer: coarse)").matches ? false : "zoom",
  };
  const over = inked(layout, ink);
  for (const name of ["width", "height", "paper_bgcolor", "plot_bgcolor", "template", "font"]) delete over[name];
  return merged(base, { ...over, height: box.clientHeight });
}

async function draw(box) {
  const { data, layout } = PAGE.figures[Number(box.dataset.figure)];
  await loadPlotly();
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
  await Plotly.react(box, data.map((trace) => inked(trace, ink)), look(layout, box), { responsive: true, displayModeBar: false });
  box.dataset.drawn = "";
}

const drawing = (box) => draw(box).catch((error) => { box.textContent = `No figure: ${error.message}.`; box.dataset.failed = ""; });
const watcher = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (!isIntersecting) continue;
    watcher.unobserve(target);
    drawing(target);
  }
}, { rootMargin: "200px" });
// The library follows this script in the page.
addEventListener("DOMContentLoaded", () => { for (const box of document.querySelectorAll("[data-figure]")) watcher.observe(box); });
darkQuery.addEventListener("change", () => { for (const box of document.querySelectorAll("[data-drawn]")) drawing(box); });
