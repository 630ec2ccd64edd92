// The journeys of one connection's packets, ready to draw: transfers on the bus, transmissions on the air, stages.
const LANES_MOST = 4;

function readLayers(raw) {
  const c = readColumns(raw), n = c.t.length;
  const layers = {
    n, t: c.t, forth: c.forth, packet: Uint32Array.from(c.packet), size: c.size, ack: c.ack_packet, ackT: c.ack_t, submit: c.submit_packet, complete: c.complete_packet,
    points: { capture: c.point_capture, packet: c.point_packet, t: c.point_t, outcome: c.point_outcome },
    stages: { first: firsts(c.stage_of, n), kind: c.stage_kind, t: c.stage_t, ns: c.stage_ns, bound: c.stage_bound },
    transmissions: {
      of: Uint32Array.from(c.transmission_of), first: firsts(c.transmission_of, n), t: c.transmission_t, ns: c.transmission_ns, kbps: c.transmission_kbps, packet: c.transmission_packet, damaged: c.transmission_damaged,
    },
    ofPacket: new Map(),
  };
  for (let j = n - 1; j >= 0; j--) if (layers.packet[j]) layers.ofPacket.set(layers.packet[j], j);
  layers.rates = [...new Set(layers.transmissions.kbps)].filter((kbps) => kbps > 0).sort((a, b) => a - b);
  layers.bus = transfersOf(layers);
  layers.air = transmissionsOf(layers);
  return layers;
}

// Start of each journey's items in a list that is sorted by journey, and the end of the last.
function firsts(of, n) {
  const out = new Uint32Array(n + 1);
  for (const j of of) out[j + 1]++;
  for (let j = 0; j < n; j++) out[j + 1] += out[j];
  return out;
}

// Bars of the bus: a URB to the adapter from its submission to its completion, above the line; from the adapter from the
// packet's last transmission on the air to the completion, below it.
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
    // Without a sniffer, only the completion is known.
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

// Bars of the air: the n-th transmission is n levels from the line; data above it, the other direction below.
function transmissionsOf(layers) {
  const { transmissions, forth } = layers, bars = [];
  let up = 1, down = 1;
  for (let i = 0; i < transmissions.of.length; i++) {
    const j = transmissions.of[i], level = i - transmissions.first[j] + 1, from = layers.t[j] + transmissions.t[i];
    if (forth[j]) up = Math.max(up, level); else down = Math.max(down, level);
    const last = i + 1 === transmissions.first[j + 1];
    bars.push({ j, i, lost: last && lostOnAir(layers, j), from: from / 1e9, to: (from + transmissions.ns[i]) / 1e9, low: forth[j] ? level - 1 : -level, colour: rateColour(layers, transmissions.kbps[i]) });
  }
  return inTime({ bars, up, down });
}

// Bars in order of start, and the longest: a bar that reaches into a range starts at most that long before it.
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

// Whether the air is the last point that saw the packet.
function lostOnAir({ points }, j) {
  const { captures, outcomes } = PAGE.journeys, width = captures.length;
  for (let i = j * width; i < (j + 1) * width; i++) {
    if (captures[points.capture[i]].point === "air" && outcomes[points.outcome[i]].code === "lost_after") return true;
  }
  return false;
}

// Colours spread over the rates in use, slowest first; several rates may share a colour.
function rateColour(layers, kbps) {
  const colours = PAGE.journeys.rates, { rates } = layers;
  if (kbps <= 0) return -1;
  const share = rates.length > 1 ? rates.indexOf(kbps) / (rates.length - 1) : 1;
  return Math.round(share * (colours.length - 1));
}

function megabits(kbps) {
  return `${Number((kbps / 1e3).toPrecision(3))}${THIN}Mbit/s`;
}

// The journey of a row of the flow; undefined if no other capture has it.
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
  // At most as many rates as there are colours.
  const rates = layers?.rates ?? [], step = Math.max(1, (rates.length - 1) / (PAGE.journeys.rates.length - 1));
  const listed = rates.length > PAGE.journeys.rates.length ? PAGE.journeys.rates.map((_, k) => rates[Math.round(k * step)]) : rates;
  const lost = document.createElement("li"), cross = document.createElement("b");
  cross.className = "l-retry letter";
  cross.textContent = "\u00d7";
  lost.append(cross, "did not arrive");
  list.replaceChildren(...listed.map(item), ...(layers?.air.bars.some((bar) => bar.lost) ? [lost] : []));
}
