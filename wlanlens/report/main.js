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

async function showFinding(finding, move) {
  const stage = { air: airStage, bus: busStage }[finding.on] ?? flowStage;
  await stage.opened();
  active = stage;
  if (finding.view !== null && finding.on === "flow") await showFlow(finding.view);
  await openEvidence(finding);
  await stage.show(finding);
  if (move && !stage.inView()) stage.box.scrollIntoView({ block: "center", behavior: "auto" });
}

const waterfall = PAGE.journeys ? new Waterfall(document.getElementById("journey"), (...what) => actJourney(...what).catch(reported)) : null;

async function openJourney(view, j) {
  const flow = PAGE.flows[view];
  flow.data ??= await readWhole(view);
  waterfall.show(flow, view, j);
  if (shownFlow === view && flowStage.figure?.data) await flowStage.figure.pick(j);
}

function closeJourney() {
  if (!waterfall?.shown) return;
  waterfall.close();
  flowStage.figure?.pick(null);
}

// Open the journey of a finding's packet, unless the reader has closed the panel.
async function openEvidence(finding) {
  const found = PAGE.journeys?.findings[finding.n];
  if (found && !waterfall.closed) await openJourney(...found);
  else closeJourney();
}

async function actJourney(what, to) {
  const { view } = waterfall.shown;
  if (what === "close") { waterfall.closed = true; closeJourney(); return; }
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
  const { view, j } = waterfall.shown, [from, to] = waterfall.span, margin = 0.1 * (to - from);
  await flowStage.opened();
  await showFlow(view);
  const { figure } = flowStage;
  figure.picked = j;
  await figure.show(from - margin, to + margin);
  if (!flowStage.inView()) flowStage.box.scrollIntoView({ block: "start", behavior: "auto" });
}

// A click on a mark: a journey in the figure of a flow, a frame in the figure of the air.
async function pickAt(stage, found) {
  if (!waterfall || found === undefined) return;
  let journey = stage === flowStage ? [shownFlow, found] : null;
  if (stage === airStage) {
    journey = await journeyOfFrame(found);
    if (!journey) stage.say(`frame ${found} belongs to no journey of the drawn flows`);
  }
  if (!journey) return;
  waterfall.closed = false;
  await openJourney(...journey);
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
for (const stage of stages) stage.openWhenSeen();
