// One direction of one connection, ready to draw: columns, x in seconds, and lists of rows by kind.
const RETRANSMISSION = 16;
const ACK = 128;

function readFlow(raw) {
  const c = readColumns(raw);
  const n = c.t.length;
  const x = new Float64Array(n);
  for (let i = 0; i < n; i++) x[i] = c.t[i] / 1e9;
  const flow = {
    x, packet: Uint32Array.from(c.packet), kind: c.kind, mark: c.mark, seq: c.seq, size: c.size, flight: c.flight,
    sack: { row: c.sack_row, left: c.sack_left, right: c.sack_right },
    rtt: { row: c.rtt_row, ns: c.rtt_ns }, rto: { row: c.rto_row, ns: c.rto_ns },
    ledger: { from: c.ledger_from, to: c.ledger_to, category: c.ledger_category },
    strokes: c.stroke_t0 ? { t0: c.stroke_t0, t1: c.stroke_t1, lo: c.stroke_lo, hi: c.stroke_hi } : null,
  };
  flow.data = rowsWhere(n, (i) => c.mark[i] < ACK);
  flow.acks = rowsWhere(n, (i) => c.mark[i] >= ACK);
  flow.windows = rowsWhere(n, (i) => c.mark[i] >= ACK && c.size[i] >= 0);
  flow.flights = rowsWhere(n, (i) => c.flight[i] >= 0);
  flow.glyphs = rowsWhere(n, (i) => glyphOf(flow, i) !== "");
  thirdDuplicates(flow);
  return flow;
}

function rowsWhere(n, holds) {
  const out = new Uint32Array(n);
  let count = 0;
  for (let i = 0; i < n; i++) if (holds(i)) out[count++] = i;
  return out.slice(0, count);
}

// The letters of tcptrace: O out of order, D delivered twice, P window probe, Z zero window, 3 third duplicate ACK.
function glyphOf(flow, row) {
  const mark = flow.mark[row], kind = PAGE.kinds[flow.kind[row]];
  if (mark >= ACK) {
    if (kind === "rst") return "RST";
    return flow.size[row] === 0 ? "Z" : "";
  }
  if (mark >= RETRANSMISSION) return "R";
  if (mark > 0) return ["", "O", "D", "C", "M"][mark];
  return { syn: "SYN", synack: "SYN", fin: "FIN", rst: "RST", window_probe: "P", keepalive: "K" }[kind] ?? "";
}

function thirdDuplicates(flow) {
  const duplicate = PAGE.kinds.indexOf("dupack");
  const third = [];
  let run = 0;
  flow.dupacks = flow.acks.filter((row) => flow.kind[row] === duplicate);
  for (const row of flow.acks) {
    run = flow.kind[row] === duplicate ? run + 1 : 0;
    if (run === 3) third.push(row);
  }
  flow.thirds = Uint32Array.from(third);
}

// First position in rising `values(i)`, i in [0, n), that is not less than `wanted`.
function lowerBound(n, values, wanted) {
  let low = 0, high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values(middle) < wanted) low = middle + 1; else high = middle;
  }
  return low;
}

// [from, to) of the rows of an index whose x lies in the range, with one more on either side for lines that enter it.
function span(flow, index, x0, x1) {
  const at = (i) => flow.x[index[i]];
  return [Math.max(0, lowerBound(index.length, at, x0) - 1), Math.min(index.length, lowerBound(index.length, at, x1) + 1)];
}
