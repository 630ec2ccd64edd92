// The time-sequence graph in the style of xplot and tcptrace: a vertical tick per segment, R for retransmissions, lines
// for ACKs and window, vertical bars for SACK blocks.
function drawSequence(b, flow, look, chosen) {
  const [x0, x1] = b.x;
  const [a0, a1] = span(flow, flow.acks, x0, x1);
  const [w0, w1] = span(flow, flow.windows, x0, x1);
  const thin = Math.ceil(b.unit);
  stepLine(b, w1 - w0, (i) => flow.x[flow.windows[w0 + i]], (i) => flow.seq[flow.windows[w0 + i]] + flow.size[flow.windows[w0 + i]],
    look.line("window"), thin);
  edgeDashes(b, w1 - w0, (i) => flow.x[flow.windows[w0 + i]], (i) => flow.seq[flow.windows[w0 + i]] + flow.size[flow.windows[w0 + i]], look.line("window"));
  drawSack(b, flow, look);
  drawData(b, flow, look);
  stepLine(b, a1 - a0, (i) => flow.x[flow.acks[a0 + i]], (i) => flow.seq[flow.acks[a0 + i]], look.line("ack"), thin);
  drawDupacks(b, flow, look);
  drawRare(b, flow, look);
  drawChosen(b, flow, look, chosen);
}

function drawSack(b, flow, look) {
  const { row, left, right } = flow.sack;
  const at = (i) => flow.x[row[i]];
  const from = lowerBound(row.length, at, b.x[0]), to = lowerBound(row.length, at, b.x[1]);
  const bars = barPainter(b, look.line("sack"), Math.ceil(b.unit), 1);
  bars.begin();
  for (let i = from; i < to; i++) bars.bar(at(i), left[i], right[i]);
  bars.end();
}

function drawData(b, flow, look) {
  const [d0, d1] = span(flow, flow.data, b.x[0], b.x[1]);
  const roomy = d1 - d0 < b.w;
  const width = roomy ? 2 * b.unit : b.unit;
  if (flow.strokes) drawStrokes(b, flow.strokes, look);
  const bars = barPainter(b, look.line("data"), width, b.unit);
  bars.begin();
  for (let i = d0; i < d1; i++) {
    const row = flow.data[i];
    if (flow.mark[row] >= RETRANSMISSION || (flow.strokes && flow.mark[row] === 0)) continue;
    bars.bar(flow.x[row], flow.seq[row], flow.seq[row] + flow.size[row]);
  }
  bars.end();
  if (roomy) drawCaps(b, flow, d0, d1);
}

// The arrow heads of xplot, as short bars at both ends of tall ticks.
function drawCaps(b, flow, d0, d1) {
  const wide = 5 * b.unit, thick = b.unit;
  for (let i = d0; i < d1; i++) {
    const row = flow.data[i], x = b.px(flow.x[row]);
    const top = b.py(flow.seq[row] + flow.size[row]), bottom = b.py(flow.seq[row]);
    if (flow.mark[row] >= RETRANSMISSION || bottom - top < 6 * b.unit) continue;
    b.pen.fillRect(x - wide / 2, top, wide, thick);
    b.pen.fillRect(x - wide / 2, bottom - thick, wide, thick);
  }
}

// Merged ordinary segments of a long capture; no stroke crosses a gap.
function drawStrokes(b, strokes, look) {
  const to = lowerBound(strokes.t0.length, (i) => strokes.t0[i] / 1e9, b.x[1]);
  b.pen.strokeStyle = look.line("data");
  b.pen.lineWidth = 1.5 * b.unit;
  b.pen.beginPath();
  for (let i = 0; i < to; i++) {
    if (strokes.t1[i] / 1e9 < b.x[0]) continue;
    b.pen.moveTo(b.px(strokes.t0[i] / 1e9), b.py(strokes.lo[i]));
    b.pen.lineTo(b.px(strokes.t1[i] / 1e9) + 0.5, b.py(strokes.hi[i]));
  }
  b.pen.stroke();
}

function drawDupacks(b, flow, look) {
  const [from, to] = span(flow, flow.dupacks, b.x[0], b.x[1]);
  const bars = barPainter(b, look.line("ack"), b.unit, 4 * b.unit);
  bars.begin();
  for (let i = from; i < to; i++) bars.bar(flow.x[flow.dupacks[i]], flow.seq[flow.dupacks[i]], flow.seq[flow.dupacks[i]]);
  bars.end();
}

function drawRare(b, flow, look) {
  const [from, to] = span(flow, flow.glyphs, b.x[0], b.x[1]);
  const resent = new Map(), others = [];
  for (let i = from; i < to; i++) {
    const row = flow.glyphs[i], mark = flow.mark[row];
    if (mark < RETRANSMISSION || mark >= ACK) others.push(row);
    else if (resent.has(mark)) resent.get(mark).push(row);
    else resent.set(mark, [row]);
  }
  // Timeouts are first in the list of triggers: their marks are on top, and their letters get room first.
  const causes = [...resent].sort(([a], [z]) => a - z);
  for (const [mark, rows] of [...causes].reverse()) {
    const bars = barPainter(b, look.trigger(mark), 3 * b.unit, 3 * b.unit);
    bars.begin();
    for (const row of rows) bars.bar(flow.x[row], flow.seq[row], flow.seq[row] + flow.size[row]);
    bars.end();
  }
  const glyph = glyphPainter(b, look.paper);
  const visible = (y) => y >= 0 && y <= b.h + 2;
  for (const [mark, rows] of causes) {
    for (const row of rows) {
      const y = b.py(flow.seq[row] + flow.size[row]);
      if (visible(y)) glyph("R", b.px(flow.x[row]), y, look.trigger(mark), PAGE.needs[(mark - RETRANSMISSION) % 3]);
    }
  }
  for (const row of others) {
    const text = glyphOf(flow, row), isAck = flow.mark[row] >= ACK;
    const y = b.py(flow.seq[row] + (isAck ? 0 : flow.size[row]));
    if (visible(y)) glyph(text, b.px(flow.x[row]), y, look.line(text === "Z" ? "window" : "other_copy"), "", isAck);
  }
  const [t0, t1] = span(flow, flow.thirds, b.x[0], b.x[1]);
  for (let i = t0; i < t1; i++) {
    const y = b.py(flow.seq[flow.thirds[i]]) + 3 * b.unit;
    if (visible(y)) glyph("3", b.px(flow.x[flow.thirds[i]]), y, look.line("ack"), "", true);
  }
}

// Rings around the packets of evidence of the chosen finding.
function drawChosen(b, flow, look, chosen) {
  if (!chosen) return;
  const rows = chosenRows(flow, chosen);
  b.pen.strokeStyle = look.accent;
  b.pen.lineWidth = 1.5 * b.unit;
  let lastX = NaN, lastY = NaN;
  for (const row of rows) {
    const x = b.px(flow.x[row]), y = b.py(flow.seq[row] + (flow.mark[row] >= ACK ? 0 : flow.size[row] / 2));
    if (x < 0 || x > b.w || Math.hypot(x - lastX, y - lastY) < 8 * b.unit) continue;
    [lastX, lastY] = [x, y];
    b.pen.beginPath();
    b.pen.arc(x, y, 6 * b.unit, 0, 2 * Math.PI);
    b.pen.stroke();
  }
}

// A ring around the picked packet.
function drawPicked(b, flow, look, packet) {
  const row = packet ? flow.packet.indexOf(packet) : -1;
  if (row < 0) return;
  const x = b.px(flow.x[row]), y = b.py(flow.seq[row] + (flow.mark[row] >= ACK ? 0 : flow.size[row] / 2));
  b.pen.strokeStyle = look.accent;
  b.pen.lineWidth = 2.5 * b.unit;
  b.pen.beginPath();
  b.pen.arc(x, y, 9 * b.unit, 0, 2 * Math.PI);
  b.pen.stroke();
}

function chosenRows(flow, finding) {
  flow.chosen ??= new Map();
  if (!flow.chosen.has(finding.n)) {
    const wanted = new Set(finding.packets);
    flow.chosen.set(finding.n, rowsWhere(flow.x.length, (i) => wanted.has(flow.packet[i])));
  }
  return flow.chosen.get(finding.n);
}
