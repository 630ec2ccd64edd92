// Pointer in the figure: the nearest mark by binary search on x, and a vertical line through all rows.
function watchPointer(figure, tip, line, onFinding) {
  const box = figure.box;
  let down = null;

  const place = (event) => {
    const frame = box.getBoundingClientRect(), area = figure.area();
    const left = event.clientX - frame.left, top = event.clientY - frame.top;
    if (left < area.left || left > area.left + area.width) return null;
    const row = figure.rows.findIndex((r) => {
      const at = figure.rowBox(r);
      return top >= at.top && top <= at.top + at.height;
    });
    const x = figure.x[0] + ((left - area.left) / area.width) * (figure.x[1] - figure.x[0]);
    return { left, top, row, x, perPixel: (figure.x[1] - figure.x[0]) / area.width };
  };

  box.addEventListener("pointermove", (event) => {
    const at = figure.data && place(event);
    if (!at || at.row < 0) return leave();
    figure.pointerX = at.x;
    line.hidden = false;
    line.style.left = `${at.left}px`;
    const finding = at.row === 0 ? findingAt(figure, at) : null;
    onFinding(finding, false);
    const words = finding ? finding.words : figure.rows[at.row].describe?.(figure, at);
    tip.hidden = !words;
    if (!words) return;
    tip.textContent = words;
    const wide = tip.offsetWidth;
    tip.style.left = `${Math.max(0, Math.min(at.left + 14, box.clientWidth - wide - 4))}px`;
    tip.style.top = `${Math.max(0, at.top - tip.offsetHeight - 10)}px`;
  });
  const leave = () => { tip.hidden = line.hidden = true; figure.pointerX = undefined; onFinding(null, false); };
  box.addEventListener("pointerleave", leave);
  box.addEventListener("pointerdown", (event) => { down = [event.clientX, event.clientY]; }, true);
  // Plotly covers the page while a button is down, so listen for the release on the window.
  window.addEventListener("pointerup", (event) => {
    const still = down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) < 4;
    down = null;
    const at = still && figure.data && place(event);
    const finding = at && at.row === 0 ? findingAt(figure, at) : null;
    if (finding) onFinding(finding, true);
    else if (at && at.row > 0) figure.onPick(figure.sheet.pick?.(figure, at) ?? null);
  }, true);
}

function findingAt(figure, at) {
  const row = figure.rowBox(figure.rows[0]);
  const lane = Math.floor((at.top - row.top) / (row.height * figure.rows[0].laneShare));
  const reach = 4 * at.perPixel;
  const near = figure.findings.filter((f) => f.lane === lane && at.x >= f.from - reach && at.x <= f.to + reach);
  return near.sort((a, b) => (a.to - a.from) - (b.to - b.from))[0] ?? null;
}

function describeCategory(figure, at) {
  const { from, to, category } = figure.data.ledger;
  const i = lowerBound(to.length, (k) => to[k] / 1e9, at.x);
  if (i >= to.length || from[i] / 1e9 > at.x) return "";
  return `${PAGE.categories[category[i]].title}: ${duration((to[i] - from[i]) / 1e9)}`;
}

function describeSegment(figure, at) {
  const row = nearestSegment(figure, at);
  if (row < 0) return "";
  const words = segmentWords(figure.data, row, figure.x[1] - figure.x[0]);
  const others = at.row === 3 ? [] : rareNear(figure, at).filter((other) => other !== row);
  if (!others.length) return words;
  const named = others.slice(0, RARE_NAMED).map((other) => `${figure.data.packet[other]} ${glyphOf(figure.data, other) || "3"}`);
  return `${words}\nalso here: packet ${named.join(", ")}${others.length > RARE_NAMED ? ` and ${others.length - RARE_NAMED} more` : ""}`;
}

const RARE_NAMED = 12;

// Rows with a letter at the pointer, nearest first: the mark, or its letter above or below it.
function rareNear(figure, at) {
  const flow = figure.data, reach = 9 * at.perPixel, b = pixelsOf(figure, at.row), found = [];
  for (const [index, third] of [[flow.glyphs, false], [flow.thirds, true]]) {
    for (let i = lowerBound(index.length, (k) => flow.x[index[k]], at.x - reach); i < index.length && flow.x[index[i]] <= at.x + reach; i++) {
      const row = index[i], isAck = flow.mark[row] >= ACK;
      const top = b.py(flow.seq[row] + (isAck ? 0 : flow.size[row])), bottom = b.py(flow.seq[row]);
      const below = isAck || third;
      const dy = Math.max(0, top - (below ? 3 : LETTER) - at.top, at.top - bottom - (below ? LETTER : 3));
      const dx = Math.abs(flow.x[row] - at.x) / at.perPixel;
      if (dy < 6) found.push([dx * dx + dy * dy, row]);
    }
  }
  return [...new Set(found.sort(([a], [z]) => a - z).map(([, row]) => row))];
}

// Pixels of a letter next to its mark.
const LETTER = 15;

// The row of the segment nearest to the pointer, a rare one before ordinary ones; -1 if none is near.
function nearestSegment(figure, at) {
  const rare = at.row === 3 ? [] : rareNear(figure, at);
  if (rare.length) return rare[0];
  const flow = figure.data, reach = 7 * at.perPixel;
  const index = at.row === 3 ? flow.flights : null;
  const n = index ? index.length : flow.x.length;
  const rowOf = (i) => (index ? index[i] : i);
  const from = lowerBound(n, (i) => flow.x[rowOf(i)], at.x - reach);
  const b = pixelsOf(figure, at.row);
  let best = -1, least = 18 * 18;
  for (let i = from; i < n && flow.x[rowOf(i)] <= at.x + reach; i++) {
    const row = rowOf(i);
    const low = at.row === 3 ? flow.flight[row] : flow.seq[row];
    const high = at.row === 3 || flow.mark[row] >= ACK ? low : low + flow.size[row];
    const top = b.py(high), bottom = b.py(low);
    const dx = (flow.x[row] - at.x) / at.perPixel, dy = at.top < top ? top - at.top : at.top > bottom ? at.top - bottom : 0;
    const distance = dx * dx + dy * dy;
    if (distance < least) { least = distance; best = row; }
  }
  return best;
}

function describeRtt(figure, at) {
  const flow = figure.data, reach = 7 * at.perPixel;
  const { row, ns } = flow.rtt;
  const b = pixelsOf(figure, 2, true);
  let best = -1, least = 18 * 18;
  for (let i = lowerBound(row.length, (k) => flow.x[row[k]], at.x - reach); i < row.length && flow.x[row[i]] <= at.x + reach; i++) {
    const dx = (flow.x[row[i]] - at.x) / at.perPixel, dy = b.py(ns[i] / 1e9) - at.top;
    if (dx * dx + dy * dy < least) { least = dx * dx + dy * dy; best = i; }
  }
  if (best < 0) return "";
  return `RTT ${duration(ns[best] / 1e9)}\n${segmentWords(flow, row[best], figure.x[1] - figure.x[0])}`;
}

function pixelsOf(figure, row, log = false) {
  const at = figure.rowBox(figure.rows[row]), range = figure.y[figure.rows[row].axis];
  const value = log ? (v) => Math.log10(Math.max(v, 1e-9)) : (v) => v;
  return { py: (v) => at.top + at.height * (1 - (value(v) - range[0]) / (range[1] - range[0])) };
}

function segmentWords(flow, row, range) {
  const mark = flow.mark[row], kind = PAGE.kinds[flow.kind[row]].replace(/_/g, " ");
  const head = `packet ${flow.packet[row]} at ${moment(flow.x[row], range)}`;
  const lines = [head];
  if (mark >= ACK) {
    lines.push(`${kind} ${grouped(flow.seq[row], 0)}` + (flow.size[row] >= 0 ? `, window ${bytes(flow.size[row])}` : ""));
  } else {
    lines.push(`${kind} ${grouped(flow.seq[row], 0)} to ${grouped(flow.seq[row] + flow.size[row], 0)} (${bytes(flow.size[row])})`);
    if (mark >= RETRANSMISSION) {
      const need = PAGE.needs[(mark - RETRANSMISSION) % 3];
      const why = PAGE.triggers[Math.floor((mark - RETRANSMISSION) / 3)].title;
      lines.push(`retransmission: ${why}, ${need === "unknown" ? "need unknown" : need}`);
    } else if (mark > 0) lines.push(PAGE.copies[mark].replace(/_/g, " "));
  }
  if (flow.flight[row] >= 0) lines.push(`bytes in flight: ${bytes(flow.flight[row])}`);
  return lines.join("\n");
}
