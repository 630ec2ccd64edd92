// The figure: Plotly draws axes, grid and zoom; every mark is drawn on a canvas and given to it as an image.
const ROWS = [
  { axis: "yaxis4", y: "y4", share: [0.89, 1] },
  { axis: "yaxis", y: "y", share: [0.395, 0.86] },
  { axis: "yaxis2", y: "y2", share: [0.215, 0.36] },
  { axis: "yaxis3", y: "y3", share: [0, 0.18] },
];
const MARGIN = { r: 10, t: 4, b: 40 };
// What a row shows, written over it.
const NAMES = [["sequence", 1], ["round trip, and the timer over it", 2], ["in flight, and the window over it", 3]];

class Figure {
  constructor(box) {
    this.box = box;
    this.flow = null;
    this.findings = [];
    this.chosen = null;
    this.pointed = null;
    this.held = {};
    this.pictures = [];
  }

  async open() {
    await loadPlotly();
    this.plot = document.createElement("div");
    this.box.replaceChildren(this.plot);
    const anchors = ROWS.map((row) => ({ x: [0], y: [1], xaxis: "x", yaxis: row.y, mode: "markers", marker: { opacity: 0 }, hoverinfo: "skip" }));
    this.x = [0, 1];
    await Plotly.newPlot(this.plot, anchors, this.layout(), {
      displayModeBar: false, typesetMath: false, doubleClick: false, showTips: false, scrollZoom: false,
    });
    this.plot.on("plotly_relayout", (change) => this.moved(change));
    this.plot.on("plotly_doubleclick", () => this.showAll());
    darkQuery.addEventListener("change", () => this.restyle());
    new ResizeObserver(() => this.resized()).observe(this.box);
  }

  // Room for labels such as 1.218812GB, which deep zooms need; less of it on a narrow screen.
  margin() {
    return { ...MARGIN, l: this.box.clientWidth > 600 ? 72 : 56 };
  }

  size() {
    return { width: Math.max(280, this.box.clientWidth), height: Math.max(320, this.box.clientHeight) };
  }

  // Pixels of the plotting area and of a row in it.
  area() {
    const { width, height } = this.size(), { l, r, t, b } = this.margin();
    return { left: l, top: t, width: width - l - r, height: height - t - b };
  }

  rowBox(row) {
    const area = this.area(), [bottom, top] = this.domain(row);
    return { top: area.top + (1 - top) * area.height, height: (top - bottom) * area.height };
  }

  // A row's share of the height in whole pixels, so that its picture is not scaled.
  domain(row) {
    const { height } = this.area();
    return row.share.map((end) => Math.round(end * height) / height);
  }

  layout() {
    const look = theme();
    const axis = { zeroline: false, gridcolor: look.faint, linecolor: look.faint, tickfont: { size: 11 }, automargin: false, exponentformat: "SI" };
    const coarse = window.matchMedia("(pointer: coarse)").matches;
    return {
      ...this.size(), margin: this.margin(), showlegend: false, hovermode: false, dragmode: coarse ? false : "zoom",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", color: look.ink, size: 11 },
      xaxis: { ...axis, anchor: "y3", range: this.x, title: { text: label("seconds since the capture's first packet"), font: { size: 11 }, standoff: 4 }, hoverformat: ".9f" },
      yaxis4: { ...axis, domain: this.domain(ROWS[0]), range: [0, 1], fixedrange: true, showgrid: false, showticklabels: false, ticks: "" },
      yaxis: { ...axis, domain: this.domain(ROWS[1]), range: [0, 1], ticksuffix: "B", nticks: 7 },
      yaxis2: { ...axis, domain: this.domain(ROWS[2]), type: "log", range: [-3, 1] },
      yaxis3: { ...axis, domain: this.domain(ROWS[3]), range: [0, 1], ticksuffix: "B", nticks: 4, rangemode: "tozero" },
      images: [], shapes: [],
      annotations: NAMES.map(([text, row]) => ({
        text: label(text), xref: "paper", yref: "paper", x: 0, y: ROWS[row].share[1], xanchor: "left", yanchor: "bottom",
        showarrow: false, font: { size: 11, color: look.quiet }, borderpad: 0,
      })),
    };
  }

  setFlow(flow, findings) {
    this.flow = flow;
    this.pictures = [];
    this.findings = inLanes(findings);
    const n = flow.x.length;
    const ends = [...(n ? [flow.x[0], flow.x[n - 1]] : []), ...this.findings.flatMap((f) => [f.from, f.to])];
    const first = ends.length ? Math.min(...ends) : 0, last = ends.length ? Math.max(...ends) : 1;
    const margin = Math.max((last - first) * 0.02, 1e-4);
    this.whole = [first - margin, last + margin];
    return this.show(...this.whole);
  }

  showAll() { return this.show(...this.whole); }

  // Show a range of x; each row's y follows what is visible unless it is held.
  show(x0, x1, held = {}) {
    const least = 2e-7, middle = (x0 + x1) / 2;
    if (!(x1 - x0 >= least)) [x0, x1] = [middle - least / 2, middle + least / 2];
    this.x = [x0, x1];
    this.held = held;
    this.y = { ...fitRows(this.flow, this.x), ...held };
    return this.draw();
  }

  draw() {
    if (!this.flow || !this.plot) return Promise.resolve();
    const change = { "xaxis.range": this.x, images: this.images(), shapes: this.bands() };
    for (const axis of ["yaxis", "yaxis2", "yaxis3"]) change[`${axis}.range`] = this.y[axis];
    Object.assign(change, timeTicks(this.y.yaxis2));
    return Plotly.relayout(this.plot, change).then(() => {
      this.box.dataset.x0 = this.x[0];
      this.box.dataset.x1 = this.x[1];
      this.box.dispatchEvent(new CustomEvent("drawn"));
    });
  }

  images() {
    const look = theme(), width = this.area().width;
    // A row whose view did not change keeps its picture: pointing at a finding repaints only the strip.
    const view = [...this.x, width, this.box.clientHeight, look.side].join();
    const make = (i, range, log, wanted, paint) => {
      const key = [view, ...range, wanted].join();
      if (this.pictures[i]?.key === key) return this.pictures[i].image;
      const row = ROWS[i];
      const b = board(width, this.rowBox(row).height, this.x, range, log);
      paint(b);
      const image = {
        source: b.canvas.toDataURL(), xref: "x", yref: row.y, x: this.x[0], y: range[1],
        sizex: this.x[1] - this.x[0], sizey: range[1] - range[0], xanchor: "left", yanchor: "top", sizing: "stretch", layer: "above",
      };
      this.pictures[i] = { key, image };
      return image;
    };
    const flow = this.flow, chosen = this.chosen;
    return [
      make(0, [0, 1], false, `${chosen?.n} ${this.pointed?.n}`, (b) => drawStrip(b, flow, this.findings, look, chosen, this.pointed)),
      make(1, this.y.yaxis, false, chosen?.n, (b) => drawSequence(b, flow, look, chosen)),
      make(2, this.y.yaxis2, true, "", (b) => drawRtt(b, flow, look)),
      make(3, this.y.yaxis3, false, "", (b) => drawFlight(b, flow, look)),
    ];
  }

  // The chosen and the pointed finding, shaded over all rows.
  bands() {
    const look = theme();
    const shown = [...new Set([this.chosen, this.pointed])].filter((f) => f && this.findings.includes(f));
    return shown.map((f) => ({
      type: "rect", xref: "x", yref: "paper", x0: f.from, x1: f.to, y0: 0, y1: this.domain(ROWS[1])[1], layer: "below",
      fillcolor: look.accent, opacity: 0.13, line: { width: 0 },
    }));
  }

  mark(chosen, pointed) {
    if (chosen === this.chosen && pointed === this.pointed) return;
    this.chosen = chosen;
    this.pointed = pointed;
    this.draw();
  }

  // Drags name the ends of a range, "xaxis.range[0]"; our own changes name ranges and end here.
  moved(change) {
    if (!Object.keys(change).some((key) => key.endsWith(".range[0]"))) return;
    const layout = this.plot.layout;
    const held = {};
    for (const axis of ["yaxis", "yaxis2", "yaxis3"]) {
      const asked = `${axis}.range[0]` in change;
      if (asked && spansPart(layout[axis].range, this.y[axis])) held[axis] = [...layout[axis].range];
    }
    this.show(...layout.xaxis.range, held);
  }

  zoom(factor, at = (this.x[0] + this.x[1]) / 2) {
    const [x0, x1] = this.x;
    return this.show(at - (at - x0) * factor, at + (x1 - at) * factor);
  }

  pan(share) {
    const step = (this.x[1] - this.x[0]) * share;
    return this.show(this.x[0] + step, this.x[1] + step);
  }

  resized() {
    const { width, height } = this.size();
    if (width === this.plot._fullLayout.width && height === this.plot._fullLayout.height) return;
    const change = { width, height, margin: this.margin() };
    for (const row of ROWS) change[`${row.axis}.domain`] = this.domain(row);
    Plotly.relayout(this.plot, change).then(() => this.draw());
  }

  restyle() {
    const layout = { ...this.layout(), images: this.images(), shapes: this.bands() };
    for (const axis of ["yaxis", "yaxis2", "yaxis3"]) layout[axis].range = this.y[axis];
    Object.assign(layout.yaxis2, { tickvals: timeTicks(this.y.yaxis2)["yaxis2.tickvals"], ticktext: timeTicks(this.y.yaxis2)["yaxis2.ticktext"] });
    Plotly.react(this.plot, this.plot.data, layout);
  }
}

// Ticks of the logarithmic row: powers of ten, with 2 and 5 between them where there is room.
function timeTicks([low, high]) {
  const values = [];
  for (let power = Math.floor(low); power <= high; power++) {
    for (const digit of high - low > 1.7 ? [1] : [1, 2, 5]) values.push(digit * 10 ** power);
  }
  return { "yaxis2.tickvals": values, "yaxis2.ticktext": values.map((v) => label(lasting(v).replace(/\.0+(?=\D|$)/, ""))) };
}

function spansPart(range, before) {
  return Math.abs(range[1] - range[0]) < 0.98 * Math.abs(before[1] - before[0]) || range[0] > before[0];
}

// Findings in as few lanes as keep their bars apart, at most LANES.
function inLanes(findings) {
  const ends = new Array(LANES).fill(-Infinity);
  for (const f of [...findings].sort((a, b) => a.from - b.from || b.to - a.to)) {
    const free = ends.findIndex((end) => end <= f.from);
    f.lane = free >= 0 ? free : LANES - 1;
    ends[f.lane] = Math.max(ends[f.lane], f.to);
  }
  return findings;
}

// Plotly comes with the page, compressed; its element is allowed by its hash in the page's policy.
let plotlyLoading = null;
function loadPlotly() {
  plotlyLoading ??= (async () => {
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(await stored("plotly", null));
    document.head.append(script);
    if (!window.Plotly) throw new Error("the figure's library did not start");
  })();
  return plotlyLoading;
}
