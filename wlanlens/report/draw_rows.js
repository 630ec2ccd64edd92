// The lower rows: round-trip times with the RTO, and bytes in flight with the receive window.
function drawRtt(b, flow, look) {
  const { row, ns } = flow.rtt;
  const at = (i) => flow.x[row[i]];
  const rto = flow.rto;
  stepLine(b, rto.row.length, (i) => flow.x[rto.row[i]], (i) => Math.max(rto.ns[i], 1) / 1e9, look.line("rto"), b.unit);
  const from = lowerBound(row.length, at, b.x[0]), to = lowerBound(row.length, at, b.x[1]);
  dots(b, from, to, at, (i) => Math.max(ns[i], 1) / 1e9, look.line("rtt"), 2 * b.unit);
}

function drawFlight(b, flow, look) {
  const [w0, w1] = span(flow, flow.windows, b.x[0], b.x[1]);
  stepLine(b, w1 - w0, (i) => flow.x[flow.windows[w0 + i]], (i) => flow.size[flow.windows[w0 + i]], look.line("window"), b.unit);
  edgeDashes(b, w1 - w0, (i) => flow.x[flow.windows[w0 + i]], (i) => flow.size[flow.windows[w0 + i]], look.line("window"));
  const [f0, f1] = span(flow, flow.flights, b.x[0], b.x[1]);
  stepLine(b, f1 - f0, (i) => flow.x[flow.flights[f0 + i]], (i) => flow.flight[flow.flights[f0 + i]], look.line("flight"), b.unit);
}

// The top row: one bar per finding, and below them the ledger over time.
const LANES = 3;
const LANE_SHARE = 0.24;

function laneBox(b, finding, laneShare) {
  const left = b.px(finding.from), right = b.px(finding.to);
  const wide = Math.max(4 * b.unit, right - left);
  const top = finding.lane * laneShare * b.h;
  return { left: Math.min(left, (left + right - wide) / 2), wide, top, high: laneShare * b.h - 2 * b.unit };
}

function drawFindings(b, { findings, chosen, pointed }, look, laneShare) {
  b.pen.font = `600 ${Math.round(9.5 * b.unit)}px system-ui, sans-serif`;
  b.pen.textBaseline = "middle";
  for (const finding of findings) {
    const box = laneBox(b, finding, laneShare);
    if (box.left > b.w || box.left + box.wide < 0) continue;
    const loud = finding === chosen || finding === pointed;
    b.pen.fillStyle = loud ? look.accent : look.soft;
    b.pen.fillRect(box.left, box.top, box.wide, box.high);
    const left = Math.max(2 * b.unit, box.left + 3 * b.unit);
    if (box.left + box.wide - left > 8 * b.unit * String(finding.n).length) {
      b.pen.fillStyle = loud ? look.paper : look.ink;
      b.pen.fillText(String(finding.n), left, box.top + box.high / 2);
    }
  }
}

// Every pixel column shows the categories of its slice of time, each as high as its share; lost time is at the bottom
// and at least one pixel high.
function drawLedger(b, { from, to, category }, top) {
  const kinds = PAGE.categories.length, shares = new Float64Array(b.w * kinds);
  for (let i = lowerBound(to.length, (k) => to[k] / 1e9, b.x[0]); i < from.length && from[i] / 1e9 <= b.x[1]; i++) {
    const left = Math.max(0, b.px(from[i] / 1e9)), right = Math.min(b.w, b.px(to[i] / 1e9));
    for (let column = Math.floor(left); column < right; column++) {
      shares[column * kinds + category[i]] += Math.min(right, column + 1) - Math.max(left, column);
    }
  }
  const order = PAGE.categories.map((_, k) => k).sort((a, z) => Number(PAGE.categories[z].lost) - Number(PAGE.categories[a].lost));
  const full = b.h - top;
  for (let column = 0; column < b.w; column++) {
    let bottom = b.h;
    for (const k of order) {
      const share = shares[column * kinds + k];
      if (!share) continue;
      const high = Math.min(bottom - top, Math.max(PAGE.categories[k].lost ? b.unit : 0, share * full));
      b.pen.fillStyle = PAGE.categories[k].colour;
      b.pen.fillRect(column, bottom - high, 1, high);
      if (PAGE.categories[k].hatched) hatch(b, column, bottom - high, high);
      bottom -= high;
    }
  }
}

// Diagonal lines, as the bar of the ledger has them for unknown time.
function hatch(b, column, top, high) {
  const step = 5 * b.unit;
  b.pen.fillStyle = "#9aa3ad";
  for (let y = top + (step - (column + top) % step) % step; y < top + high; y += step) b.pen.fillRect(column, y, 1, b.unit);
}
