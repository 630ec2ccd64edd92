// The figure of the air: use of the air, rate of every frame, and its signal.
const AIR_LANE_SHARE = 1 / LANES;

const AIR_SHEET = {
  rows: [
    {
      axis: "yaxis4", y: "y4", share: [0.94, 1],
      look: { fixedrange: true, showgrid: false, showticklabels: false, ticks: "" }, laneShare: AIR_LANE_SHARE,
      wanted: (f) => `${f.chosen?.n} ${f.pointed?.n}`, paint: (b, f, look) => drawFindings(b, f, look, AIR_LANE_SHARE),
    },
    {
      axis: "yaxis", y: "y", share: [0.73, 0.905], title: "share of time used", look: { ticksuffix: "%", nticks: 4, rangemode: "tozero" },
      paint: (b, f) => drawUses(b, f.data.slices), describe: describeUses,
    },
    {
      axis: "yaxis2", y: "y2", share: [0.3, 0.69], title: "data rate of each frame (Mbit/s)", log: true, look: { type: "log", range: [0, 2] },
      wanted: (f) => f.picked?.packet, paint: (b, f, look) => drawFrames(b, f, look, (row) => f.data.rate[row] / 1e3), describe: describeFrame,
    },
    {
      axis: "yaxis3", y: "y3", share: [0, 0.255], title: "signal (dBm)", look: { nticks: 5 },
      wanted: (f) => f.picked?.packet, paint: drawSignal,
      describe: describeFrame,
    },
  ],
  fit: fitAir,
  // Shares over time belong to no frame.
  pick: (figure, at) => {
    const row = at.row > 1 ? nearestFrame(figure, at) : -1;
    return row < 0 ? null : { packet: figure.data.packet[row] };
  },
  profile: (air, columns) => profile(air.rows, (row) => [air.x[row], air.size[row]], air.retries, (row) => air.x[row], columns),
  table: frameTable,
  ticks: (y) => rateTicks(y.yaxis2),
};

function fitAir(air, x) {
  const reach = (value, holds) => {
    const [from, to] = within(air, air.rows, x);
    let low = Infinity, high = -Infinity;
    for (let i = from; i < to; i++) {
      const v = value[air.rows[i]];
      if (!holds(v)) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
    return low <= high ? [low, high] : null;
  };
  const rate = reach(air.rate, (v) => v > 0), signal = reach(air.signal, (v) => v !== NO_SIGNAL);
  const [slow, fast] = rate ? rate.map((kbps) => Math.log10(kbps / 1e3)) : [0, 2];
  const margin = Math.max(0.12, 0.08 * (fast - slow));
  let most = 0;
  eachSlice(air.slices, x, (i) => { most = Math.max(most, air.slices.shares.reduce((sum, share) => sum + share[i], 0)); });
  return {
    yaxis: [0, Math.max(1, 1.08 * most / 100)], yaxis2: [slow - margin, fast + margin],
    yaxis3: signal ? [signal[0] - 3, signal[1] + 3] : [-100, -20],
  };
}

// Slices that overlap the range; shares are in hundredths of a percent.
function eachSlice({ from }, [x0, x1], visit) {
  const start = Math.max(0, lowerBound(from.length, (i) => from[i] / 1e9, x0) - 1);
  for (let i = start; i < from.length - 1 && from[i] / 1e9 <= x1; i++) visit(i);
}

function drawUses(b, slices) {
  eachSlice(slices, b.x, (i) => {
    const left = b.px(slices.from[i] / 1e9), right = b.px(slices.from[i + 1] / 1e9);
    let level = 0;
    slices.shares.forEach((share, k) => {
      if (!share[i]) return;
      const bottom = b.py(level), top = b.py(level += share[i] / 100);
      b.pen.fillStyle = PAGE.air.uses[k].colour;
      b.pen.fillRect(left, top, Math.max(b.unit, right - left), Math.max(b.unit / 2, bottom - top));
    });
  });
}

// Originals as dots in the transmitter's colour; every retry as a vertical tick, with a cross where the frame was dropped.
function drawFrames(b, { data: air, picked }, look, value) {
  const size = Math.max(2, Math.round((air.rows.length > 20000 ? 2 : 3) * b.unit));
  air.byColour.forEach((index, k) => {
    const [from, to] = within(air, index, b.x);
    dots(b, from, to, (i) => air.x[index[i]], (i) => value(index[i]), PAGE.air.colours[k][look.side], size);
  });
  const [from, to] = within(air, air.retries, b.x);
  b.pen.fillStyle = b.pen.strokeStyle = look.line("retry");
  b.pen.lineWidth = 1.5 * b.unit;
  const high = 4 * b.unit, arm = 3.5 * b.unit;
  for (let i = from; i < to; i++) {
    const row = air.retries[i], x = Math.round(b.px(air.x[row])), y = b.py(value(row));
    if (!(y >= -arm && y <= b.h + arm)) continue;
    if (air.result[row] & 1) b.pen.fillRect(x - b.unit / 2, y - high, b.unit, 2 * high);
    if (air.result[row] & 2) {
      b.pen.beginPath();
      b.pen.moveTo(x - arm, y - arm); b.pen.lineTo(x + arm, y + arm);
      b.pen.moveTo(x - arm, y + arm); b.pen.lineTo(x + arm, y - arm);
      b.pen.stroke();
    }
  }
  const row = picked ? air.packet.indexOf(picked.packet) : -1;
  if (row < 0) return;
  b.pen.strokeStyle = look.accent;
  b.pen.lineWidth = 2.5 * b.unit;
  b.pen.beginPath();
  b.pen.arc(b.px(air.x[row]), b.py(value(row)), 8 * b.unit, 0, 2 * Math.PI);
  b.pen.stroke();
}

function drawSignal(b, figure, look) {
  const { rows, signal } = figure.data;
  if (rows.some((row) => signal[row] !== NO_SIGNAL)) {
    drawFrames(b, figure, look, (row) => (signal[row] === NO_SIGNAL ? -1e9 : signal[row]));
    return;
  }
  b.pen.font = `${Math.round(12 * b.unit)}px system-ui, sans-serif`;
  b.pen.fillStyle = look.ink;
  b.pen.fillText("The capture does not record the signal of these frames.", 12 * b.unit, b.h / 2);
}

function describeUses(figure, at) {
  const { from, shares } = figure.data.slices;
  const i = lowerBound(from.length, (k) => from[k] / 1e9, at.x) - 1;
  if (i < 0 || i >= from.length - 1) return "";
  const parts = PAGE.air.uses.map((use, k) => [use.title, shares[k][i] / 100]).filter(([, share]) => share > 0);
  const head = `${moment(from[i] / 1e9, figure.x[1] - figure.x[0])}, ${duration((from[i + 1] - from[i]) / 1e9)} long`;
  return [head, ...parts.reverse().map(([title, share]) => `${threeDigits(share)} % ${title}`)].join("\n");
}

function describeFrame(figure, at) {
  const row = nearestFrame(figure, at);
  return row < 0 ? "" : frameWords(figure.data, row, figure.x[1] - figure.x[0]);
}

// The row of the frame nearest to the pointer; -1 if none is near.
function nearestFrame(figure, at) {
  const air = figure.data, log = figure.rows[at.row].log === true;
  const { py } = pixelsOf(figure, at.row, log);
  const value = log ? (row) => air.rate[row] / 1e3 : (row) => air.signal[row];
  const reach = 7 * at.perPixel;
  const [from, to] = within(air, air.rows, [at.x - reach, at.x + reach]);
  let best = -1, least = 18 * 18;
  for (let i = from; i < to; i++) {
    const row = air.rows[i], dx = (air.x[row] - at.x) / at.perPixel, dy = py(value(row)) - at.top;
    // Retries are rare: they are drawn on top of other frames, and preferred to them.
    const distance = dx * dx + dy * dy - (air.result[row] && dx * dx + dy * dy < 36 ? 400 : 0);
    if (distance < least) { least = distance; best = row; }
  }
  return best;
}

// The rows of the frames in view, for the table and for CSV.
function* frameTable(air, [x0, x1]) {
  yield ["packet", "t_s", "transmitter", "receiver", "subtype", "bytes", "rate_mbps", "signal_dbm", "result"];
  const [from, to] = within(air, air.rows, [x0, x1]);
  for (let i = from; i < to; i++) {
    const row = air.rows[i], pair = PAGE.air.pairs[air.pair[row]];
    yield [
      air.packet[row], air.x[row].toFixed(9), pair.sender, pair.receiver, PAGE.air.subtypes[air.subtype[row]] ?? "", air.size[row],
      air.rate[row] === NO_RATE ? "" : air.rate[row] / 1e3, air.signal[row] === NO_SIGNAL ? "" : air.signal[row],
      ["", "retry", "dropped", "retry, dropped"][air.result[row]],
    ];
  }
}

function frameWords(air, row, range) {
  const pair = PAGE.air.pairs[air.pair[row]];
  const subtype = (PAGE.air.subtypes[air.subtype[row]] ?? "frame").replace(/_/g, " ");
  const how = [subtype, bytes(air.size[row])];
  if (air.rate[row] !== NO_RATE) how.push(`${threeDigits(air.rate[row] / 1e3)} Mbit/s`);
  if (air.signal[row] !== NO_SIGNAL) how.push(`${air.signal[row]} dBm`);
  const result = ["", "retry", "dropped", "retry, dropped"][air.result[row]];
  return [`packet ${air.packet[row]} at ${moment(air.x[row], range)}`, `${pair.sender} > ${pair.receiver}`, how.join(", "), result].filter(Boolean).join("\n");
}

// Well-known rates of 802.11b and g, and round numbers above.
function rateTicks([low, high]) {
  const known = [1, 2, 5.5, 11, 24, 54, 130, 300, 600, 1200, 2400, 4800, 9600];
  const values = known.filter((rate) => Math.log10(rate) >= low && Math.log10(rate) <= high);
  return { "yaxis2.tickvals": values, "yaxis2.ticktext": values.map(String) };
}
