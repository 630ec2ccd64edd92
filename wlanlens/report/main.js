const PAGE = JSON.parse(document.getElementById("page").textContent);
document.documentElement.className = "js";

const chooser = document.getElementById("flow");
const viewChooser = document.getElementById("air-view");
const help = document.getElementById("keys");

let shownFlow = -1;
const stages = [];
const flowStage = PAGE.flows.length ? new Stage("figure", withLayers(FLOW_SHEET), () => showFlow(Math.max(0, shownFlow))) : null;
const airStage = PAGE.air ? new Stage("air-figure", AIR_SHEET, showAir) : null;
const busStage = PAGE.bus ? new Stage("bus-figure", BUS_SHEET, showBus) : null;
for (const stage of [flowStage, airStage, busStage]) if (stage) stages.push(stage);
const noStage = document.getElementById("status");
const say = (text) => { if (active) active.say(text); else if (noStage) noStage.textContent = text; };
active = stages[0] ?? null;

async function showFlow(number) {
  const flow = PAGE.flows[number], { figure } = flowStage;
  if (shownFlow === number && figure.data) return;
  shownFlow = number;
  if (chooser) chooser.value = String(number);
  flowStage.say(`reading ${flow.subject}`);
  flow.data ??= await readWhole(number);
  if (shownFlow !== number) return;
  for (const legend of document.querySelectorAll("[data-legend]")) legend.hidden = Number(legend.dataset.legend) !== number;
  if (waterfall?.shown && waterfall.shown.view !== number) closeJourney();
  if (PAGE.journeys) fillRates(flow.data.layers, document.getElementById("rates-legend"));
  const ours = list.items.filter((f) => f.on === "flow" && (f.view === number || f.view === null));
  await figure.setData(flow.data, ours, flowEnds(flow.data));
  figure.box.dataset.flow = number;
  flowStage.say(`${flow.subject}: ${grouped(flow.rows, 0)} rows`);
}

// A flow's rows and, where other captures saw its packets, their journeys.
async function readWhole(number) {
  const data = readFlow(await stored(`flow-${number}`, PAGE.flows[number].file)), of = PAGE.journeys?.flows[number];
  data.layers = of ? readLayers(await stored(`journeys-${number}`, of.file)) : null;
  return data;
}

async function showAir() {
  const { air } = PAGE;
  air.data ??= readAir(await stored("frames", air.file));
  const number = Number(viewChooser?.value ?? 0), before = airStage.figure.x;
  const chosen = chooseFrames(air.data, air.views[number]);
  const again = airStage.figure.data !== null;
  await airStage.figure.setData(chosen, list.items.filter((f) => f.on === "air"), airEnds(chosen));
  if (again) await airStage.figure.show(...before);
  airStage.box.dataset.view = number;
  fillLegend(chosen.names, air.colours, document.getElementById("air-legend"));
  airStage.say(`${air.views[number].name}: ${grouped(chosen.rows.length, 0)} frames drawn`);
}

async function showBus() {
  const { bus } = PAGE;
  bus.data ??= readBus(await stored("transfers", bus.file));
  await busStage.figure.setData(bus.data, list.items.filter((f) => f.on === "bus"), busEnds(bus.data));
  fillLegend(bus.endpoints, bus.colours, document.getElementById("bus-legend"));
}

const stageOf = (finding) => ({ air: airStage, bus: busStage })[finding.on] ?? flowStage;

async function showFinding(finding, move) {
  const stage = stageOf(finding);
  await stage.opened();
  active = stage;
  if (finding.view !== null && finding.on === "flow") await showFlow(finding.view);
  await stage.show(finding);
  if (move && !stage.inView()) stage.box.scrollIntoView({ block: "center", behavior: "auto" });
}

const waterfall = PAGE.journeys ? new Waterfall(document.getElementById("journey"), (...what) => actJourney(...what).catch(reported)) : null;

async function openJourney(view, j) {
  const flow = PAGE.flows[view];
  flow.data ??= await readWhole(view);
  waterfall.show(flow, view, j);
  if (shownFlow === view && flowStage.figure?.data) await flowStage.figure.pick({ packet: flow.data.layers.packet[j] || null, journey: j });
}

function closeJourney() {
  if (!waterfall?.shown) return;
  waterfall.close();
  flowStage.figure?.pick(null);
}

// The journey of a packet of a finding.
async function openEvidence(finding) {
  const [view, j] = PAGE.journeys.findings[finding.n];
  list.mark(finding);
  await showFinding(finding, false);
  await openJourney(view, j);
  waterfall.box.scrollIntoView({ block: "nearest", behavior: "auto" });
}

async function actJourney(what, to) {
  const { view } = waterfall.shown;
  if (what === "close") { closeJourney(); return; }
  if (what === "zoom") { await zoomToJourney(); return; }
  const other = what === "to" ? to : waterfall.neighbour(what === "next" ? 1 : -1);
  if (other === null) return;
  await openJourney(view, other);
  // Keep the packet in view while the reader steps through packets.
  const { figure } = flowStage, [from] = waterfall.span;
  if (shownFlow !== view || !figure?.data || (from >= figure.x[0] && from <= figure.x[1])) return;
  const wide = figure.x[1] - figure.x[0];
  await figure.show(from - 0.3 * wide, from + 0.7 * wide);
}

async function zoomToJourney() {
  const { view, j, layers } = waterfall.shown, [from, to] = waterfall.span, margin = 0.1 * (to - from);
  await flowStage.opened();
  await showFlow(view);
  const { figure } = flowStage;
  figure.picked = { packet: layers.packet[j] || null, journey: j };
  await figure.show(from - margin, to + margin);
  if (!flowStage.inView()) flowStage.box.scrollIntoView({ block: "start", behavior: "auto" });
}

// A click on a mark: its packet is marked; where other captures saw it, its journey opens.
async function pickAt(stage, found) {
  if (!found) return;
  let journey = stage === flowStage && found.journey !== undefined ? [shownFlow, found.journey] : null;
  if (stage === airStage && waterfall) journey = await journeyOfFrame(found.packet);
  if (stage === airStage) await airStage.figure.pick(found);
  if (journey) { await openJourney(...journey); waterfall.box.scrollIntoView({ block: "nearest", behavior: "auto" }); return; }
  if (stage === flowStage) await stage.figure.pick(found);
  stage.say(waterfall ? `frame ${found.packet} belongs to no journey of the drawn flows` : pickedWords(stage, found.packet));
}

function pickedWords(stage, packet) {
  const { data, x } = stage.figure, row = data.packet.indexOf(packet), range = x[1] - x[0];
  const words = stage === flowStage ? segmentWords(data, row, range) : frameWords(data, row, range);
  return words.replace(/\n/g, ", ");
}

// Only one sniffer's numbers are known from one another's.
async function journeyOfFrame(packet) {
  if (PAGE.journeys.captures.filter(({ point }) => point === "air").length !== 1) return null;
  for (const [view, stored] of PAGE.journeys.flows.entries()) {
    if (!stored) continue;
    PAGE.flows[view].data ??= await readWhole(view);
    const { transmissions } = PAGE.flows[view].data.layers, i = transmissions.packet.indexOf(packet);
    if (i >= 0) return [view, transmissions.of[i]];
  }
  return null;
}

function picked(stage, found) {
  pickAt(stage, found).catch(reported);
}

function pointed(stage, finding, clicked) {
  list.point(finding);
  stage.figure.mark(stage.figure.chosen, finding);
  if (!clicked) return;
  list.choose(finding, false);
  finding.element.scrollIntoView({ block: "nearest" });
}

const reported = (error) => say(error.message);
const list = new FindingList((finding, move) => { showFinding(finding, move).catch(reported); });
list.onJourney = (finding) => { openEvidence(finding).catch(reported); };
list.onPoint = (finding) => {
  for (const { figure } of stages) if (figure) figure.mark(figure.chosen, finding);
};

const moves = {
  w: (f) => f.zoom(1 / 1.5, f.pointerX), s: (f) => f.zoom(1.5, f.pointerX),
  a: (f) => f.pan(-0.25), d: (f) => f.pan(0.25), "0": (f) => f.showAll(),
};
const findingKeys = {
  f: () => list.choose(list.chosen ?? list.items[0], true), ",": () => list.step(-1), ".": () => list.step(1),
};
const actions = {
  "?": () => { if (help.open) help.close(); else help.showModal(); },
  ...(stages.length ? Object.fromEntries(Object.entries(moves).map(([key, move]) => [key, () => active.act(move)])) : {}),
  ...(list.items.length ? findingKeys : {}),
};

watchKeys(actions);
watchCopies(say);
for (const button of document.querySelectorAll("[data-act]")) {
  const stage = button.closest("#air") ? airStage : button.closest("#bus") ? busStage : flowStage;
  button.addEventListener("click", () => {
    if (stage) active = stage;
    actions[button.dataset.act]();
  });
}
chooser?.addEventListener("change", () => { shownFlow = -1; flowStage.act(() => showFlow(Number(chooser.value))); });
viewChooser?.addEventListener("change", () => airStage.act(showAir));

// What the address holds of a stage, and how it is opened again.
function shownNow(stage) {
  const { figure } = stage, { chosen, picked: mark } = figure, range = figure.x[1] - figure.x[0];
  const finding = chosen?.n ?? null, several = stage === flowStage && PAGE.flows.length > 1;
  const whole = figure.showsAll, framed = chosen && sameRange(figure.x, stage.rangeOf(chosen));
  const only = framed && !mark;
  return {
    finding,
    figure: stage === flowStage || only ? null : stage === airStage ? "air" : "bus",
    flow: several && !only && shownFlow > 0 ? shownFlow : null,
    packet: mark?.packet ?? null,
    journey: waterfall?.shown ? waterfall.shown.j : null,
    from: (whole && !chosen) || framed ? null : shortTime(figure.x[0], range),
    to: (whole && !chosen) || framed ? null : shortTime(figure.x[1], range),
  };
}

const sameRange = (a, b) => a.every((end, i) => Math.abs(end - b[i]) <= 1e-3 * (b[1] - b[0]));

const address = new Address(async (wanted) => {
  const finding = list.items.find((f) => f.n === Number(wanted.finding));
  const plain = document.getElementById(`finding-${Number(wanted.finding)}`);
  if (!finding && plain) {
    const folded = plain.closest("details");
    if (folded) folded.open = true;
    plain.scrollIntoView({ block: "center" });
  }
  const stage = finding ? stageOf(finding) : { air: airStage, bus: busStage }[wanted.figure] ?? flowStage;
  if (!stage || (!finding && plain)) return;
  await stage.opened();
  active = stage;
  if (finding) {
    list.mark(finding);
    await showFinding(finding, false);
    finding.element.scrollIntoView({ block: "center" });
  }
  if (stage === flowStage && PAGE.flows[Number(wanted.flow)]) await showFlow(Number(wanted.flow));
  const [from, to] = [Number(wanted.from), Number(wanted.to)];
  if (to > from) await stage.figure.show(from, to);
  if (stage === flowStage && PAGE.journeys?.flows[shownFlow] && /^\d+$/.test(wanted.journey ?? "") && Number(wanted.journey) < stage.figure.data.layers.n) {
    await openJourney(shownFlow, Number(wanted.journey));
  } else if (Number(wanted.packet) > 0) {
    const packet = Number(wanted.packet), row = stage.figure.data.packet?.indexOf(packet) ?? -1;
    if (row < 0) { stage.say(`packet ${packet} is not in this figure`); return; }
    await stage.figure.pick({ packet, journey: stage === flowStage ? journeyOf(stage.figure.data, row) : undefined });
    const at = stage.figure.data.x[row];
    if (at < stage.figure.x[0] || at > stage.figure.x[1]) await stage.figure.show(at - 0.05, at + 0.05);
    stage.say(pickedWords(stage, packet));
  }
  if (!finding && !stage.inView()) stage.box.scrollIntoView({ block: "center" });
});

for (const stage of stages) {
  stage.onChange.push(() => { if (stage === active) address.changed(() => shownNow(stage)); });
  watchSaves(stage, { figure: "time-sequence", "air-figure": "air", "bus-figure": "usb" }[stage.box.id]);
  stage.openWhenSeen();
}
const charts = PAGE.charts.map((one) => new Chart(document.querySelector(`[data-chart="${one.name}"]`), one));
for (const chart of charts) watchSaves(chart, chart.name);
watchPrint([...stages, ...charts]);
if (stages.length) {
  address.open().catch(reported);
  // Not before the first paint, which they would delay.
  addEventListener("load", () => setTimeout(async () => { for (const stage of stages) await stage.openWhenIdle(); }, 700));
}
