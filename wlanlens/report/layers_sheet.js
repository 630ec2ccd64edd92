// The layers below the sequence: transfers on the bus and transmissions on the air, on the same axis.
function withLayers(sheet) {
  const { journeys } = PAGE;
  if (!journeys) return sheet;
  const pick = { pick: pickJourney };
  if (!journeys.bus && !journeys.air) return { ...sheet, ...pick };
  const [strip, sequence, rtt, flight] = sheet.rows;
  const both = journeys.bus && journeys.air;
  const bar = (row) => ({ look: { fixedrange: true }, wanted: (f) => f.picked?.journey, ...row });
  const bus = bar({
    axis: "yaxis5", y: "y5", share: both ? [0.475, 0.545] : [0.33, 0.53], title: "USB transfers: to the adapter above, to the host below",
    look: { fixedrange: true, showgrid: false, showticklabels: false }, paint: drawBus, describe: describeTransfer, bars: (data) => data.bus,
  });
  const air = bar({
    axis: "yaxis6", y: "y6", share: both ? [0.3, 0.445] : [0.3, 0.53], title: "transmissions: data above, other direction below",
    paint: drawTransmissions, describe: describeTransmission, bars: (data) => data.air,
  });
  const rows = [
    { ...strip, share: [0.92, 1] },
    { ...sequence, share: [0.58, 0.895] },
    { ...rtt, share: [0.155, 0.265] },
    { ...flight, share: [0, 0.12] },
    ...(journeys.bus ? [bus] : []), ...(journeys.air ? [air] : []),
  ];
  return {
    ...sheet, ...pick, rows,
    fit: (flow, x) => ({ ...sheet.fit(flow, x), yaxis5: levels(flow.layers?.bus), yaxis6: levels(flow.layers?.air) }),
    ticks: (y) => ({ ...sheet.ticks(y), ...(journeys.air ? transmissionTicks(y.yaxis6) : {}) }),
  };
}

function levels(bars) {
  return bars ? [-bars.down - 0.25, bars.up + 0.25] : [-1.25, 1.25];
}

// Numbers of transmissions, counted from the line in both directions.
function transmissionTicks([low, high]) {
  const step = high - low > 12 ? 4 : high - low > 6 ? 2 : 1, values = [];
  for (let level = 1; level < high; level++) if ((level - 1) % step === 0) values.push(level - 0.5);
  for (let level = 1; level < -low; level++) if ((level - 1) % step === 0 && (level > 1 || step === 1)) values.push(0.5 - level);
  return { "yaxis6.tickvals": values, "yaxis6.ticktext": values.map((v) => String(Math.abs(v) + 0.5)) };
}

// Bars [from, to] at their level, at least a pixel wide. Those of the chosen journey are outlined.
function drawBars(b, made, picked, colourOf, look) {
  const marked = [];
  b.pen.fillStyle = look.faint;
  b.pen.fillRect(0, Math.round(b.py(0)), b.w, b.unit);
  for (const bar of barsIn(made, ...b.x)) {
    const left = Math.max(-4, b.px(bar.from)), right = Math.min(b.w + 4, b.px(bar.to));
    const wide = Math.max(b.unit, right - left - (right - left > 6 * b.unit ? b.unit : 0));
    const top = b.py(bar.low + 0.92), high = Math.max(b.unit, b.py(bar.low + 0.08) - top);
    b.pen.fillStyle = colourOf(bar);
    b.pen.fillRect(left, top, wide, high);
    if (bar.j === picked) marked.push([left, top, wide, high]);
  }
  b.pen.strokeStyle = look.accent;
  b.pen.lineWidth = 2 * b.unit;
  for (const [left, top, wide, high] of marked) b.pen.strokeRect(left - 2 * b.unit, top - b.unit, wide + 4 * b.unit, high + 2 * b.unit);
}

function drawBus(b, f, look) {
  const { layers } = f.data;
  if (!layers) return;
  const [out, back] = [PAGE.journeys.stages.find(({ name }) => name === "bus"), PAGE.journeys.stages.find(({ name }) => name === "queue")];
  drawBars(b, layers.bus, f.picked?.journey, (bar) => (bar.out ? out : back).colours[look.side], look);
}

function drawTransmissions(b, f, look) {
  const { layers } = f.data;
  if (!layers) return;
  drawBars(b, layers.air, f.picked?.journey, (bar) => PAGE.journeys.rates[bar.colour]?.[look.side] ?? look.soft, look);
  b.pen.strokeStyle = look.line("retry");
  b.pen.lineWidth = 1.5 * b.unit;
  const arm = 3 * b.unit;
  for (const bar of barsIn(layers.air, ...b.x)) {
    if (!bar.lost) continue;
    const x = b.px(bar.to) + arm + 2 * b.unit, y = b.py(bar.low + 0.5);
    b.pen.beginPath();
    b.pen.moveTo(x - arm, y - arm); b.pen.lineTo(x + arm, y + arm);
    b.pen.moveTo(x - arm, y + arm); b.pen.lineTo(x + arm, y - arm);
    b.pen.stroke();
  }
}

// The bar under the pointer, or the nearest of its level within a few pixels.
function barAt(figure, at) {
  const row = figure.rows[at.row], { layers } = figure.data;
  if (!layers) return null;
  const [low, high] = figure.y[row.axis], box = figure.rowBox(row);
  const level = high - ((at.top - box.top) / box.height) * (high - low);
  const reach = 5 * at.perPixel;
  let best = null, least = Infinity;
  // A loss is rare: its cross, drawn after its bar, is preferred to bars around it.
  const wide = 2 * reach;
  for (const bar of barsIn(row.bars(layers), at.x - wide, at.x + wide)) {
    if (level < bar.low || level > bar.low + 1) continue;
    const away = at.x < bar.from ? bar.from - at.x : at.x > bar.to ? at.x - bar.to : 0;
    if (away > (bar.lost ? wide : reach)) continue;
    const rank = bar.lost ? away - 2 * wide : away;
    if (rank < least || (rank === 0 && least === 0)) { least = rank; best = bar; }
  }
  return best;
}

function pickJourney(figure, at) {
  const row = figure.rows[at.row];
  if (!row.bars) return pickSegment(figure, at);
  const bar = barAt(figure, at);
  return bar && { packet: figure.data.layers.packet[bar.j] || null, journey: bar.j };
}

function describeTransfer(figure, at) {
  const bar = barAt(figure, at);
  if (!bar) return "";
  const { layers } = figure.data, took = duration(bar.to - bar.from), range = figure.x[1] - figure.x[0];
  const what = bar.out ? `URB to the adapter, ${took}` : bar.to > bar.from ? `from the air to the host, ${took}` : "URB from the adapter, completed";
  return [`${what}, from ${moment(bar.from, range)}`, `${packetWords(layers, bar.j)}`].join("\n");
}

function describeTransmission(figure, at) {
  const bar = barAt(figure, at);
  if (!bar) return "";
  const { layers } = figure.data, { transmissions } = layers, { i, j } = bar;
  const count = transmissions.first[j + 1] - transmissions.first[j];
  const how = [`transmission ${i - transmissions.first[j] + 1} of ${count} heard`];
  if (transmissions.kbps[i] > 0) how.push(megabits(transmissions.kbps[i]));
  how.push(duration(transmissions.ns[i] / 1e9));
  if (transmissions.damaged[i]) how.push("damaged");
  if (bar.lost) how.push("the last: it did not arrive");
  return [how.join(", "), `frame ${transmissions.packet[i]} at ${moment(bar.from, figure.x[1] - figure.x[0])}`, packetWords(layers, j)].join("\n");
}

function packetWords(layers, j) {
  const what = layers.size[j] ? `${bytes(layers.size[j])} of data` : "no data, an ACK";
  return layers.packet[j] ? `packet ${layers.packet[j]}: ${what}` : `a packet that is not in this capture: ${what}`;
}
