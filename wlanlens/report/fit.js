// The y range of each row for the visible x range.
function fitRows(flow, x) {
  return { yaxis: fitSequence(flow, x), yaxis2: fitRtt(flow, x), yaxis3: fitFlight(flow, x) };
}

function fitSequence(flow, [x0, x1]) {
  let low = Infinity, high = -Infinity;
  const take = (from, to) => { if (from < low) low = from; if (to > high) high = to; };
  const inside = (index, visit) => {
    const [from, to] = span(flow, index, x0, x1);
    for (let i = from; i < to; i++) {
      const row = index[i];
      if (flow.x[row] >= x0 && flow.x[row] <= x1) visit(row);
    }
  };
  inside(flow.data, (row) => take(flow.seq[row], flow.seq[row] + flow.size[row]));
  inside(flow.acks, (row) => take(flow.seq[row], flow.seq[row]));
  if (low > high) {
    // No segments here: the level that the flow has reached.
    const n = flow.x.length, row = Math.min(n - 1, Math.max(0, lowerBound(n, (i) => flow.x[i], x0) - 1));
    if (n) take(flow.seq[row], flow.seq[row]);
    else take(0, 1);
  }
  // Include the window only where it is near; far above, it would flatten everything else.
  const reach = high + 0.25 * Math.max(high - low, 3000);
  let window = -Infinity;
  inside(flow.windows, (row) => {
    const edge = flow.seq[row] + flow.size[row];
    if (edge <= reach && edge > window) window = edge;
  });
  high = Math.max(high, window);
  const margin = Math.max((high - low) * 0.06, 100);
  return [low - margin, high + 1.6 * margin];
}

function fitRtt(flow, [x0, x1]) {
  let low = Infinity, high = -Infinity;
  for (const { row, ns } of [flow.rtt, flow.rto]) {
    const n = row.length, from = lowerBound(n, (i) => flow.x[row[i]], x0);
    for (let i = Math.max(0, from - (row === flow.rto.row ? 1 : 0)); i < n && flow.x[row[i]] <= x1; i++) {
      if (ns[i] < low) low = ns[i];
      if (ns[i] > high) high = ns[i];
    }
  }
  if (low > high) return [-3, 1];
  const bottom = Math.log10(Math.max(low, 1) / 1e9), top = Math.log10(Math.max(high, 1) / 1e9);
  const margin = Math.max((top - bottom) * 0.12, 0.15);
  return [bottom - margin, top + margin];
}

function fitFlight(flow, [x0, x1]) {
  const most = (index, value) => {
    const [from, to] = span(flow, index, x0, x1);
    let high = 0;
    for (let i = from; i < to; i++) high = Math.max(high, value[index[i]]);
    return high;
  };
  const flight = most(flow.flights, flow.flight), window = most(flow.windows, flow.size);
  return [0, 1.12 * Math.max(1, window <= 2.5 * flight ? Math.max(flight, window) : flight)];
}
