// A folded figure: Plotly draws it as SVG when its details are first opened. more_figures.py made its JSON.
const PANEL_HEIGHT = 210, NARROW = 700;

class Chart {
  constructor(details, { name, file }) {
    this.details = details;
    this.name = name;
    this.file = file;
    this.box = details.querySelector(".chart-box");
    this.status = document.getElementById(`chart-${name}-status`);
    this.figure = null;
    this.onChange = [];
    this.opening = null;
    details.addEventListener("toggle", (event) => { if (event.target === details && details.open) this.act(() => this.resized()); });
    new ResizeObserver(() => this.resized()).observe(this.box);
    darkQuery.addEventListener("change", () => this.figure?.restyle());
  }

  say(text) { this.status.textContent = text; }

  opened() {
    this.opening ??= (async () => {
      await loadPlotly();
      this.spec = JSON.parse(new TextDecoder().decode(await stored(`chart-${this.name}`, this.file)));
      const plot = document.createElement("div"), size = () => this.size();
      this.box.replaceChildren(plot);
      this.width = this.size().width;
      await Plotly.newPlot(plot, this.data(), this.layout(), { displayModeBar: false, typesetMath: false, showTips: false, scrollZoom: false });
      this.figure = { plot, size, data: this.spec, x: null, sheet: { table: chartTable }, restyle: () => Plotly.react(plot, this.data(), this.layout(true)) };
      plot.on("plotly_relayout", () => { for (const then of this.onChange) then(); });
      this.box.dataset.drawn = "";
    })().catch((error) => {
      this.box.textContent = `No figure: ${error.message}.`;
      this.box.dataset.failed = "";
      throw error;
    });
    return this.opening;
  }

  act(move) {
    return this.opened().then(() => move(this.figure)).catch((error) => this.say(error.message));
  }

  get stacked() { return this.box.clientWidth < NARROW; }

  size() {
    const panels = "beside" in this.box.dataset && !this.stacked ? 1.6 : Number(this.box.dataset.panels);
    return { width: Math.max(280, this.box.clientWidth), height: Math.round(PANEL_HEIGHT * Math.max(panels, 1.5) + 40) };
  }

  data() {
    const { side } = theme();
    return this.spec.data.map((trace) => {
      const colour = trace.meta.colours[side], made = { ...trace, showlegend: false };
      if (trace.line) made.line = { ...trace.line, color: colour };
      if (trace.marker) made.marker = { ...trace.marker, color: colour };
      return made;
    });
  }

  // With `keep`, the part in view stays as it is.
  layout(keep = false) {
    const look = theme(), coarse = window.matchMedia("(pointer: coarse)").matches;
    const of = this.stacked ? this.spec.narrow : this.spec.layout, now = keep && this.figure ? this.figure.plot.layout : {};
    const axis = { zeroline: false, gridcolor: look.faint, linecolor: look.soft, tickfont: { size: 11 }, automargin: false, showline: true };
    const made = {
      ...of, ...this.size(), showlegend: false, dragmode: coarse ? false : "zoom",
      margin: { l: this.stacked ? 56 : 72, r: 14, t: 26, b: 44 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", color: look.ink, size: 11 },
      hoverlabel: { bgcolor: look.paper, bordercolor: look.soft, font: { color: look.ink, size: 11 } },
      annotations: of.annotations.map((note) => ({ ...note, font: { size: 11, color: look.quiet } })),
    };
    for (const name of Object.keys(of).filter((key) => /^[xy]axis/.test(key))) {
      made[name] = { ...axis, ...of[name], title: { text: of[name].title.text, font: { size: 11 }, standoff: 6 } };
      if (keep && now[name]?.range) Object.assign(made[name], { range: [...now[name].range], autorange: now[name].autorange });
      if (of[name].type === "log") Object.assign(made[name], { minor: { showgrid: false } });
    }
    return made;
  }

  resized() {
    if (!this.figure || !this.box.clientWidth || this.box.clientWidth === this.width) return;
    this.width = this.box.clientWidth;
    this.figure.restyle();
  }

  svg(alone = true) {
    return figureSvg(this.figure, this.spec.title, alone ? legendOf(this.box.closest("section")) : []);
  }
}

// One row a mark; the axes of each panel say what x and y are.
function* chartTable(spec) {
  yield ["x", "y", "y_end", "series", "panel"];
  for (const { name, x, y, meta } of spec.data) {
    const of = spec.panels[meta.panel], panel = `${of.title ? `${of.title}: ` : ""}${of.y} against ${of.x}`, plain = unescaped(name);
    const step = meta.kind === "ticks" ? 3 : 1;
    for (let i = 0; i < x.length; i += step) {
      if (y[i] !== null) yield [x[i], y[i], step === 3 ? y[i + 1] : "", plain, panel];
    }
  }
}

const unescaped = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
