// The figure of the USB bus: bytes completed per millisecond, and outstanding transfers.
const BUS_SHEET = {
  rows: [
    {
      axis: "yaxis4", y: "y4", share: [0.94, 1],
      look: { fixedrange: true, showgrid: false, showticklabels: false, ticks: "" }, laneShare: AIR_LANE_SHARE,
      wanted: (f) => `${f.chosen?.n} ${f.pointed?.n}`, paint: (b, f, look) => drawFindings(b, f, look, AIR_LANE_SHARE),
    },
    {
      axis: "yaxis", y: "y", share: [0.34, 0.9], title: "bytes per millisecond", look: { ticksuffix: "B", nticks: 6, rangemode: "tozero" },
      paint: (b, f, look) => drawBytes(b, f.data, look), describe: describeBus,
    },
    {
      axis: "yaxis2", y: "y2", share: [0, 0.29], title: "outstanding transfers", look: { nticks: 4, rangemode: "tozero" },
      paint: (b, f, look) => drawDepth(b, f.data, look), describe: describeBus,
    },
  ],
  fit: fitBus,
  profile: (endpoints, columns) => profile(
    endpoints.flatMap(({ ms, bytes: size }) => Array.from(ms, (at, i) => [at / 1e3, size[i]])), (pair) => pair, [], () => 0, columns,
  ),
  table: transferTable,
  ticks: () => ({}),
};

function readBus(raw) {
  const c = readColumns(raw);
  return PAGE.bus.endpoints.map((name, i) => ({ name, ms: c[`ms_${i}`], bytes: c[`bytes_${i}`], t: c[`t_${i}`], depth: c[`depth_${i}`] }));
}

// The rows of the milliseconds in view, for the table and for CSV.
function* transferTable(endpoints, [x0, x1]) {
  yield ["endpoint", "from_s", "bytes_per_ms", "outstanding"];
  for (const { name, ms, bytes: size, t, depth } of endpoints) {
    for (let i = lowerBound(ms.length, (k) => ms[k] / 1e3, x0 - 1e-3); i < ms.length && ms[i] / 1e3 <= x1; i++) {
      const j = lowerBound(t.length, (k) => t[k] / 1e6, ms[i] + 1) - 1;
      yield [name, (ms[i] / 1e3).toFixed(3), size[i], j >= 0 ? depth[j] : 0];
    }
  }
}

function busEnds(endpoints) {
  const ends = endpoints.flatMap(({ t }) => (t.length ? [t[0] / 1e9, t[t.length - 1] / 1e9] : []));
  return ends.length ? [Math.min(...ends), Math.max(...ends)] : [0, 1];
}

// [from, to) of the rows whose time in seconds is in the range, and one row before.
function reached(values, scale, [x0, x1]) {
  const at = (i) => values[i] * scale;
  return [Math.max(0, lowerBound(values.length, at, x0) - 1), lowerBound(values.length, at, x1 + 1e-12)];
}

function fitBus(endpoints, x) {
  let most = 1, deep = 1;
  for (const { ms, bytes: size, t, depth } of endpoints) {
    const [m0, m1] = reached(ms, 1e-3, x), [t0, t1] = reached(t, 1e-9, x);
    for (let i = m0; i < m1; i++) most = Math.max(most, size[i]);
    for (let i = t0; i < t1; i++) deep = Math.max(deep, depth[i]);
  }
  return { yaxis: [0, 1.08 * most], yaxis2: [0, 1.15 * deep] };
}

function drawBytes(b, endpoints, look) {
  endpoints.forEach(({ ms, bytes: size }, k) => {
    const [from, to] = reached(ms, 1e-3, b.x);
    const width = Math.max(b.unit, Math.floor(b.px(b.x[0] + 1e-3)));
    const bars = barPainter(b, PAGE.bus.colours[k][look.side], width, b.unit);
    bars.begin();
    for (let i = from; i < to; i++) bars.bar((ms[i] + 0.5) / 1e3, 0, size[i]);
    bars.end();
  });
}

function drawDepth(b, endpoints, look) {
  endpoints.forEach(({ t, depth }, k) => {
    const from = Math.max(0, reached(t, 1e-9, b.x)[0]), to = Math.min(t.length, reached(t, 1e-9, b.x)[1] + 1);
    stepLine(b, to - from, (i) => t[from + i] / 1e9, (i) => depth[from + i], PAGE.bus.colours[k][look.side], b.unit);
  });
}

function describeBus(figure, at) {
  const found = figure.data.flatMap(({ name, ms, bytes: size, t, depth }) => {
    const i = lowerBound(ms.length, (k) => (ms[k] + 1) / 1e3, at.x);
    const j = lowerBound(t.length, (k) => t[k] / 1e9, at.x) - 1;
    const now = i < ms.length && ms[i] / 1e3 <= at.x ? size[i] : 0;
    const waiting = j >= 0 ? depth[j] : 0;
    return now || waiting ? [`${name}: ${bytes(now)}, ${waiting} outstanding`] : [];
  });
  return [moment(at.x, figure.x[1] - figure.x[0]), ...found].join("\n");
}
