// The journeys of one connection's packets, ready to draw: transfers on the bus, attempts on the air, stages.
const LANES_MOST = 4;

function readLayers(raw) {
  const c = readColumns(raw), n = c.t.length;
  const layers = {
    n, t: c.t, forth: c.forth, packet: Uint32Array.from(c.packet), size: c.size, ack: c.ack_packet, ackT: c.ack_t, submit: c.submit_packet, complete: c.complete_packet,
    points: { capture: c.point_capture, packet: c.point_packet, t: c.point_t, fate: c.point_fate },
    stages: { first: firsts(c.stage_of, n), kind: c.stage_kind, t: c.stage_t, ns: c.stage_ns, bound: c.stage_bound },
    attempts: {
      of: Uint32Array.from(c.attempt_of), first: firsts(c.attempt_of, n), t: c.attempt_t, ns: c.attempt_ns, kbps: c.attempt_kbps, packet: c.attempt_packet, damaged: c.attempt_damaged,
    },
    ofPacket: new Map(),
  };
  for (let j = n - 1; j >= 0; j--) if (layers.packet[j]) layers.ofPacket.set(layers.packet[j], j);
  layers.rates = [...new Set(layers.attempts.kbps)].filter((kbps) => kbps > 0).sort((a, b) => a - b);
  layers.bus = transfersOf(layers);
  layers.air = attemptsOf(layers);
  return layers;
}

// Where the items of each journey begin in a list that is sorted by journey, and where the last ends.
function firsts(of, n) {
  const out = new Uint32Array(n + 1);
  for (const j of of) out[j + 1]++;
  for (let j = 0; j < n; j++) out[j + 1] += out[j];
  return out;
}

// Bars of the bus: a URB to the adapter from its submission to its completion, above the line; from the adapter from the
// packet's last attempt on the air to the completion, below it.
function transfersOf(layers) {
  const { stages, points, n } = layers, width = PAGE.journeys.captures.length;
  const bus = PAGE.journeys.stages.findIndex(({ name }) => name === "bus");
  const bars = [];
  for (let j = 0; j < n; j++) {
    const out = layers.submit[j] > 0;
    if (!out && !layers.complete[j]) continue;
    let found = false;
    for (let i = stages.first[j]; i < stages.first[j + 1]; i++) {
      if (stages.kind[i] !== bus) continue;
      const from = layers.t[j] + stages.t[i];
      bars.push({ j, out, from: from / 1e9, to: (from + Math.max(0, stages.ns[i])) / 1e9 });
      found = true;
    }
    if (found) continue;
    // No sniffer heard it: when the host was told is all that is known.
    for (let i = j * width; i < (j + 1) * width; i++) {
      if (PAGE.journeys.captures[points.capture[i]].point !== "usb" || points.t[i] < 0) continue;
      const at = (layers.t[j] + points.t[i]) / 1e9;
      bars.push({ j, out, from: at, to: at });
    }
  }
  bars.sort((a, b) => a.from - b.from);
  const lanes = { true: [], false: [] };
  for (const bar of bars) {
    const ends = lanes[bar.out];
    let lane = ends.findIndex((end) => end <= bar.from + 1e-9);
    if (lane < 0) lane = ends.length < LANES_MOST ? ends.length : LANES_MOST - 1;
    ends[lane] = Math.max(ends[lane] ?? -Infinity, bar.to);
    bar.low = bar.out ? lane : -lane - 1;
  }
  return inTime({ bars, up: Math.max(1, lanes.true.length), down: Math.max(1, lanes.false.length) });
}

// Bars of the air: the n-th attempt stands n levels from the line; data above it, what comes back below.
function attemptsOf(layers) {
  const { attempts, forth } = layers, bars = [];
  let up = 1, down = 1;
  for (let i = 0; i < attempts.of.length; i++) {
    const j = attempts.of[i], level = i - attempts.first[j] + 1, from = layers.t[j] + attempts.t[i];
    if (forth[j]) up = Math.max(up, level); else down = Math.max(down, level);
    const last = i + 1 === attempts.first[j + 1];
    bars.push({ j, i, lost: last && lostOnAir(layers, j), from: from / 1e9, to: (from + attempts.ns[i]) / 1e9, low: forth[j] ? level - 1 : -level, colour: rateColour(layers, attempts.kbps[i]) });
  }
  return inTime({ bars, up, down });
}

// Bars by when they begin, and the longest: whatever reaches into a range begins no longer before it.
function inTime(made) {
  made.bars.sort((a, b) => a.from - b.from);
  made.longest = made.bars.reduce((most, bar) => Math.max(most, bar.to - bar.from), 0);
  return made;
}

// The bars that reach into a range.
function* barsIn({ bars, longest }, x0, x1) {
  for (let i = lowerBound(bars.length, (k) => bars[k].from, x0 - longest); i < bars.length && bars[i].from <= x1; i++) {
    if (bars[i].to >= x0) yield bars[i];
  }
}

// Whether the air is the last point that saw it.
function lostOnAir({ points }, j) {
  const { captures, fates } = PAGE.journeys, width = captures.length;
  for (let i = j * width; i < (j + 1) * width; i++) {
    if (captures[points.capture[i]].point === "air" && fates[points.fate[i]].code === "lost_after") return true;
  }
  return false;
}

// Colours spread over the rates that there are, the slowest first; many rates share them.
function rateColour(layers, kbps) {
  const colours = PAGE.journeys.rates, { rates } = layers;
  if (kbps <= 0) return -1;
  const share = rates.length > 1 ? rates.indexOf(kbps) / (rates.length - 1) : 1;
  return Math.round(share * (colours.length - 1));
}

function megabits(kbps) {
  return `${Number((kbps / 1e3).toPrecision(3))}${THIN}Mbit/s`;
}

// The journey of a row of the flow; undefined where no other capture saw it.
function journeyOf(flow, row) {
  return flow.layers?.ofPacket.get(flow.packet[row]);
}

function fillRates(layers, list) {
  if (!list) return;
  const item = (kbps) => {
    const entry = document.createElement("li"), key = document.createElement("b");
    key.className = "key block";
    const [light, dark] = PAGE.journeys.rates[rateColour(layers, kbps)];
    key.style.setProperty("--light", light);
    key.style.setProperty("--dark", dark);
    entry.append(key, megabits(kbps));
    return entry;
  };
  // Of many rates as many as there are colours.
  const rates = layers?.rates ?? [], step = Math.max(1, (rates.length - 1) / (PAGE.journeys.rates.length - 1));
  const told = rates.length > PAGE.journeys.rates.length ? PAGE.journeys.rates.map((_, k) => rates[Math.round(k * step)]) : rates;
  const given = document.createElement("li"), cross = document.createElement("b");
  cross.className = "l-retry letter";
  cross.textContent = "\u00d7";
  given.append(cross, "did not arrive");
  list.replaceChildren(...told.map(item), ...(layers?.air.bars.some((bar) => bar.lost) ? [given] : []));
}
