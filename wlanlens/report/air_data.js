// The frames of a capture, ready to draw: columns, x in seconds, and airtime shares of each slice of time.
const NO_RATE = -1, NO_SIGNAL = 127;

function readAir(raw) {
  const c = readColumns(raw);
  const n = c.t.length, x = new Float64Array(n);
  for (let i = 0; i < n; i++) x[i] = c.t[i] / 1e9;
  return {
    x, packet: Uint32Array.from(c.packet), pair: c.pair, kind: c.kind, subtype: c.subtype, result: c.result,
    rate: c.rate_kbps, signal: c.signal_dbm, size: c.size,
    slices: { from: c.slice_start, shares: PAGE.air.uses.map((_, k) => c[`share_${k}`]) },
  };
}

// The frames of one view, coloured by transmitter.
function chooseFrames(air, view) {
  const n = air.x.length;
  const rows = rowsWhere(n, (i) => view.kinds.includes(air.kind[i]) && (view.pair === null || air.pair[i] === view.pair));
  const counts = new Map();
  for (const row of rows) {
    const pair = PAGE.air.pairs[air.pair[row]];
    counts.set(pair.sender, (counts.get(pair.sender) ?? 0) + 1);
  }
  const busiest = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
  const last = PAGE.air.colours.length - 1;
  const colourOf = new Map(busiest.map((sender, k) => [sender, Math.min(k, last)]));
  const ofPair = PAGE.air.pairs.map((pair) => colourOf.get(pair.sender) ?? last);
  const byColour = PAGE.air.colours.map(() => []);
  const retries = [];
  for (const row of rows) (air.result[row] ? retries : byColour[ofPair[air.pair[row]]]).push(row);
  const index = (list) => Uint32Array.from(list);
  const names = PAGE.air.colours.map((_, k) => (k < last ? busiest[k] : busiest.length > last ? `${busiest.length - last} others` : undefined));
  return { ...air, rows, byColour: byColour.map(index), retries: index(retries), names, counts };
}

function airEnds(air) {
  const n = air.x.length, { from } = air.slices;
  const ends = [...(n ? [air.x[0], air.x[n - 1]] : []), ...(from.length ? [from[0] / 1e9, from[from.length - 1] / 1e9] : [])];
  return ends.length ? [Math.min(...ends), Math.max(...ends)] : [0, 1];
}

function fillLegend(names, colours, list) {
  const entries = names.map((name, k) => (name === undefined ? null : entry(name, colours[k])));
  list.replaceChildren(...entries.filter(Boolean));

  function entry(name, [light, dark]) {
    const item = document.createElement("li"), key = document.createElement("b");
    key.className = "key dot";
    key.style.setProperty("--light", light);
    key.style.setProperty("--dark", dark);
    item.append(key, name);
    return item;
  }
}

// [from, to) of an index of rows whose x lies in the range.
function within(air, index, [x0, x1]) {
  const at = (i) => air.x[index[i]];
  return [lowerBound(index.length, at, x0), lowerBound(index.length, at, x1 + 1e-12)];
}
