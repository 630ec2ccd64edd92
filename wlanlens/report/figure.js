// The figure: Plotly draws axes, grid and zoom; marks are drawn on a canvas and passed to Plotly as an image.
// A sheet (flow_sheet.js, air_sheet.js, bus_sheet.js) defines its rows; the first row shows the findings.
const MARGIN = { r: 10, t: 4, b: 40 };

class Figure {
  constructor(box, sheet) {
    this.box = box;
    this.sheet = sheet;
    this.rows = sheet.rows;
    this.data = null;
    this.findings = [];
    this.chosen = null;
    this.pointed = null;
    this.picked = null;
    this.held = {};
    this.pictures = [];
  }

  async open() {
    await loadPlotly();
    this.plot = document.createElement("div");
    this.box.replaceChildren(this.plot);
    const anchors = this.rows.map((row) => ({ x: [0], y: [1], xaxis: "x", yaxis: row.y, mode: "markers", marker: { opacity: 0 }, hoverinfo: "skip" }));
    this.x = [0, 1];
    await Plotly.newPlot(this.plot, anchors, this.layout(), {
      displayModeBar: false, typesetMath: false, doubleClick: false, showTips: false, scrollZoom: false,
    });
    this.minimap = new Minimap(this, this.box.parentElement.querySelector(".minimap"));
    this.plot.on("plotly_relayout", (change) => this.moved(change));
    this.plot.on("plotly_doubleclick", () => this.showAll());
    darkQuery.addEventListener("change", () => this.restyle());
    new ResizeObserver(() => this.resized()).observe(this.box);
  }

  // Rows whose range follows the visible data: all but the row of findings.
  get axes() {
    return this.rows.slice(1).map((row) => row.axis);
  }

  // Room for long labels such as 1.218812GB in deep zooms; less on a narrow screen.
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

  // A row's share of the height in whole pixels, so that its image is not scaled.
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
      xaxis: { ...axis, anchor: this.rows.reduce((low, row) => (row.share[0] < low.share[0] ? row : low)).y, range: this.x, title: { text: label("seconds since the start of the trace"), font: { size: 11 }, standoff: 4 }, hoverformat: ".9f" },
      ...Object.fromEntries(this.rows.map((row) => [row.axis, { ...axis, domain: this.domain(row), range: [0, 1], ...row.look }])),
      images: [], shapes: [],
      annotations: this.rows.filter((row) => row.title).map((row) => ({
        text: label(row.title), xref: "paper", yref: "paper", x: 0, y: row.share[1], xanchor: "left", yanchor: "bottom",
        showarrow: false, font: { size: 11, color: look.quiet }, borderpad: 0,
      })),
    };
  }

  // Show other data, from `first` to `last` and as far as its findings extend.
  setData(data, findings, [first, last]) {
    this.data = data;
    this.pictures = [];
    this.findings = inLanes(findings);
    for (const f of findings) [first, last] = [Math.min(first, f.from), Math.max(last, f.to)];
    const margin = Math.max((last - first) * 0.02, 1e-4);
    this.whole = [first - margin, last + margin];
    this.minimap.paint();
    return this.show(...this.whole);
  }

  showAll() { return this.show(...this.whole); }

  get showsAll() { return this.x[0] <= this.whole[0] && this.x[1] >= this.whole[1]; }

  // What happens after each change of what is shown: the address follows it.
  onShow() {}

  // Show a range of x; the y range of each row follows the visible data unless it is held.
  show(x0, x1, held = {}) {
    const least = 2e-7, middle = (x0 + x1) / 2;
    if (!(x1 - x0 >= least)) [x0, x1] = [middle - least / 2, middle + least / 2];
    this.x = [x0, x1];
    this.held = held;
    this.y = { ...this.sheet.fit(this.data, this.x), ...held };
    this.minimap.moved();
    this.onShow();
    return this.draw();
  }

  draw() {
    if (!this.data || !this.plot) return Promise.resolve();
    const change = { "xaxis.range": this.x, images: this.images(), shapes: this.bands() };
    for (const axis of this.axes) change[`${axis}.range`] = this.y[axis];
    Object.assign(change, this.sheet.ticks(this.y));
    return Plotly.relayout(this.plot, change).then(() => {
      this.box.dataset.x0 = this.x[0];
      this.box.dataset.x1 = this.x[1];
      this.box.dispatchEvent(new CustomEvent("drawn"));
    });
  }

  images() {
    const look = theme(), width = this.area().width;
    // A row whose view did not change keeps its image: pointing at a finding repaints only the first row.
    const view = [...this.x, width, this.size().height, look.side].join();
    return this.rows.map((row, i) => {
      const range = this.y[row.axis] ?? [0, 1];
      const key = [view, ...range, row.wanted?.(this)].join();
      if (this.pictures[i]?.key === key) return this.pictures[i].image;
      const b = board(width, this.rowBox(row).height, this.x, range, row.log);
      row.paint(b, this, look);
      const image = {
        source: b.canvas.toDataURL(), xref: "x", yref: row.y, x: this.x[0], y: range[1],
        sizex: this.x[1] - this.x[0], sizey: range[1] - range[0], xanchor: "left", yanchor: "top", sizing: "stretch", layer: "above",
      };
      this.pictures[i] = { key, image };
      return image;
    });
  }

  // The chosen finding and the one under the pointer, shaded over all rows.
  bands() {
    const look = theme();
    const shown = [...new Set([this.chosen, this.pointed])].filter((f) => f && this.findings.includes(f));
    return shown.map((f) => ({
      type: "rect", xref: "x", yref: "paper", x0: f.from, x1: f.to, y0: 0, y1: this.domain(this.rows[1])[1], layer: "below",
      fillcolor: look.accent, opacity: 0.13, line: { width: 0 },
    }));
  }

  // Mark a packet, and the journey that is open: { packet, journey }; null: none.
  pick(picked) {
    if (picked?.packet === this.picked?.packet && picked?.journey === this.picked?.journey) return Promise.resolve();
    this.picked = picked;
    this.onShow();
    return this.draw();
  }

  mark(chosen, pointed) {
    if (chosen === this.chosen && pointed === this.pointed) return;
    this.chosen = chosen;
    this.pointed = pointed;
    this.draw();
  }

  // A drag reports the ends of a range, "xaxis.range[0]"; our own changes report whole ranges and stop here.
  moved(change) {
    if (!Object.keys(change).some((key) => key.endsWith(".range[0]"))) return;
    const layout = this.plot.layout;
    const held = {};
    for (const axis of this.axes) {
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
    for (const row of this.rows) change[`${row.axis}.domain`] = this.domain(row);
    this.minimap.paint();
    Plotly.relayout(this.plot, change).then(() => this.draw());
  }

  restyle() {
    if (!this.data) return;
    this.minimap.paint();
    const layout = { ...this.layout(), images: this.images(), shapes: this.bands() };
    for (const axis of this.axes) layout[axis].range = this.y[axis];
    for (const [key, value] of Object.entries(this.sheet.ticks(this.y))) {
      const [axis, name] = key.split(".");
      layout[axis][name] = value;
    }
    Plotly.react(this.plot, this.plot.data, layout);
  }
}

function spansPart(range, before) {
  return Math.abs(range[1] - range[0]) < 0.98 * Math.abs(before[1] - before[0]) || range[0] > before[0];
}

// Assign findings to as few lanes as possible without overlap, at most LANES.
function inLanes(findings) {
  const ends = new Array(LANES).fill(-Infinity);
  for (const f of [...findings].sort((a, b) => a.from - b.from || b.to - a.to)) {
    const free = ends.findIndex((end) => end <= f.from);
    f.lane = free >= 0 ? free : LANES - 1;
    ends[f.lane] = Math.max(ends[f.lane], f.to);
  }
  return findings;
}
