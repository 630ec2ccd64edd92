// The journey of one packet: its stages as bars on one axis with times and bounds, and its outcome at each point.
class Waterfall {
  constructor(box, act) {
    this.box = box;
    this.act = act;
    this.shown = null;
    for (const button of box.querySelectorAll("[data-journey]")) button.addEventListener("click", () => act(button.dataset.journey));
    box.addEventListener("keydown", (event) => { if (event.key === "Escape") act("close"); });
    new ResizeObserver(() => document.documentElement.style.setProperty("--drawer", `${box.hidden ? 0 : box.offsetHeight}px`)).observe(box);
  }

  // Next journey in the same direction, in order of time.
  neighbour(by) {
    const { layers, j } = this.shown;
    let other = j + by;
    while (other >= 0 && other < layers.n && layers.forth[other] !== layers.forth[j]) other += by;
    return other >= 0 && other < layers.n ? other : null;
  }

  // Start and end in seconds.
  get span() {
    const { layers, j } = this.shown, end = Math.max(...partsOf(layers, j).map((part) => part.from + Math.max(0, part.ns)), 1);
    return [layers.t[j] / 1e9, (layers.t[j] + end) / 1e9];
  }

  show({ data: flow, subject }, view, j) {
    const { layers } = flow;
    this.shown = { layers, view, j };
    this.box.hidden = false;
    document.body.classList.add("with-journey");
    this.box.dataset.shown = `${view}-${j}`;
    const find = (id) => document.getElementById(`journey-${id}`);
    const row = layers.packet[j] ? flow.packet.indexOf(layers.packet[j]) : -1;
    const words = row < 0 ? packetWords(layers, j) : segmentWords(flow, row, 1e-3).split("\n").slice(1).join(", ");
    find("who").textContent = `${subject}: ${words}, first seen at ${moment(layers.t[j] / 1e9, 1e-3)}`;
    this.#copies(flow, j, row, find("copies"));
    const parts = partsOf(layers, j);
    find("falls").replaceChildren(...parts.flatMap((part) => fall(part, Math.max(1, ...parts.map((p) => p.from + Math.max(0, p.ns))))));
    find("open").hidden = !parts.some((part) => part.open);
    find("less").hidden = !parts.some((part) => part.ns < 0 && !part.open);
    find("points").replaceChildren(...pointRows(layers, j));
    const width = PAGE.journeys.captures.length;
    for (let i = j * width; i < (j + 1) * width; i++) {
      if (!layers.points.packet[i]) continue;
      find("command").textContent = PAGE.journeys.command[layers.points.capture[i]] + layers.points.packet[i];
      break;
    }
  }

  // Buttons to the other copies of the same bytes.
  #copies(flow, j, row, place) {
    const same = row < 0 || flow.mark[row] >= ACK || !flow.layers.size[j] ? [] : [...flow.data].filter((other) => flow.seq[other] === flow.seq[row] && journeyOf(flow, other) !== undefined);
    place.hidden = same.length < 2;
    if (place.hidden) return;
    const buttons = same.map((other) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `packet ${flow.packet[other]}`;
      button.disabled = other === row;
      button.addEventListener("click", () => this.act("to", journeyOf(flow, other)));
      return button;
    });
    place.replaceChildren(`${same.length} copies of this segment: `, ...buttons);
  }

  close() {
    this.box.hidden = true;
    this.shown = null;
    document.body.classList.remove("with-journey");
  }
}

const NEUTRAL = ["#5b6670", "#9aa5b0"];

// The parts of a journey, ns from its first time: stages, and after the stage on the air its transmissions.
function partsOf(layers, j) {
  const { stages, transmissions } = layers, out = [];
  for (let i = stages.first[j]; i < stages.first[j + 1]; i++) {
    const stage = PAGE.journeys.stages[stages.kind[i]], ns = stages.ns[i], bound = stages.bound[i];
    out.push({
      name: stage.name, meaning: stage.meaning, colours: stage.colours, from: stages.t[i], ns, bound, open: bound < 0 || Math.abs(ns) <= bound,
      within: bound < 0 ? "unknown" : `± ${duration(bound / 1e9)}`,
    });
    if (stage.name !== "air") continue;
    const until = stages.t[i] + ns;
    for (let k = transmissions.first[j]; k < transmissions.first[j + 1]; k++) {
      const rate = transmissions.kbps[k] > 0 ? `, ${megabits(transmissions.kbps[k])}` : "";
      const late = transmissions.t[k] + transmissions.ns[k] > until;
      out.push({
        name: `transmission ${k - transmissions.first[j] + 1}${rate}`, minor: true, from: transmissions.t[k], ns: transmissions.ns[k],
        meaning: transmissions.damaged[k] ? "damaged at the sniffer" : late ? "after the packet had arrived: its MAC acknowledgment was lost" : "a transmission on the air",
        colours: PAGE.journeys.rates[rateColour(layers, transmissions.kbps[k])] ?? NEUTRAL,
        within: `frame ${transmissions.packet[k]}${transmissions.damaged[k] ? ", damaged" : late ? ", spurious" : ""}`,
      });
    }
    const acked = layers.ack[j] > 0;
    out.push({
      name: "MAC ACK", meaning: "the MAC acknowledgment", minor: true, bare: true, colours: NEUTRAL, from: acked ? layers.ackT[j] : -1, ns: 0,
      within: acked ? `frame ${layers.ack[j]}` : "none heard",
    });
  }
  return out;
}

// Name, bar, time and bound of a part. Its bar may begin before the previous one ends: the adapter may send a packet before
// the host sees its URB complete.
function fall(part, whole) {
  const cell = (kind, text = "") => {
    const made = document.createElement("span");
    made.className = `${kind}${part.minor ? " minor" : ""}`;
    made.textContent = text;
    made.title = part.meaning;
    return made;
  };
  const track = cell("track"), bar = document.createElement("i");
  const [low, high] = [Math.min(part.from, part.from + part.ns), Math.max(part.from, part.from + part.ns)];
  bar.style.left = `${(100 * low) / whole}%`;
  bar.style.width = `${(100 * (high - low)) / whole}%`;
  bar.style.setProperty("--light", part.colours[0]);
  bar.style.setProperty("--dark", part.colours[1]);
  bar.classList.toggle("less", part.ns < 0);
  if (part.from >= 0) track.append(bar);
  const took = part.bare ? "" : (part.ns < 0 ? "\u2212" : "") + duration(Math.abs(part.ns) / 1e9) + (part.open ? " *" : "");
  return [cell("stage-name", part.name), track, cell("num took", took), cell("num within", part.within)];
}

function pointRows(layers, j) {
  const { points } = layers, width = PAGE.journeys.captures.length, rows = [];
  for (let i = j * width; i < (j + 1) * width; i++) {
    const capture = PAGE.journeys.captures[points.capture[i]], outcome = PAGE.journeys.outcomes[points.outcome[i]];
    const row = document.createElement("tr");
    row.className = `outcome-${outcome.code}`;
    const urb = capture.point === "usb" ? [layers.submit[j], layers.complete[j]].filter(Boolean) : [];
    const frames = urb.length ? urb.join(", ") : points.packet[i] || "\u2014";
    const at = points.t[i] < 0 ? "\u2014" : moment((layers.t[j] + points.t[i]) / 1e9, 1e-4);
    for (const [k, text] of [capture.point, capture.name, frames, at, outcome.words].entries()) {
      const cell = document.createElement(k ? "td" : "th");
      if (k === 0) cell.scope = "row";
      if (k === 2 || k === 3) cell.className = "num";
      if (k) cell.dataset.title = ["", "capture", "frame", "time", "outcome"][k];
      cell.textContent = text;
      row.append(cell);
    }
    rows.push(row);
  }
  return rows;
}
