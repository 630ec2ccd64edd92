const PAGE = JSON.parse(document.getElementById("page").textContent);
document.documentElement.className = "js";

const figureBox = document.getElementById("figure");
const status = document.getElementById("status");
const chooser = document.getElementById("flow");
const help = document.getElementById("keys");
const say = (text) => { status.textContent = text; };

let figure = null, opening = null, shownFlow = -1;

// The figure opens when it comes into view or is first asked for; the page above never waits for it.
function opened() {
  opening ??= (async () => {
    const made = new Figure(figureBox);
    await made.open();
    watchPointer(made, document.getElementById("tip"), document.getElementById("crosshair"), pointed);
    figure = made;
    await showFlow(Math.max(0, shownFlow));
  })().catch((error) => {
    figureBox.textContent = `No figure: ${error.message}.`;
    figureBox.dataset.failed = "";
    throw error;
  });
  return opening;
}

async function showFlow(number) {
  const flow = PAGE.flows[number];
  if (shownFlow === number && figure.flow) return;
  shownFlow = number;
  if (chooser) chooser.value = String(number);
  say(`reading ${flow.subject}`);
  flow.data ??= readFlow(await stored(`flow-${number}`, flow.file));
  if (shownFlow !== number) return;
  for (const legend of document.querySelectorAll("[data-legend]")) legend.hidden = Number(legend.dataset.legend) !== number;
  await figure.setFlow(flow.data, list.items.filter((f) => f.view === number || f.view === null));
  figureBox.dataset.flow = number;
  say(`${flow.subject}: ${grouped(flow.rows, 0)} rows`);
}

async function showFinding(finding, move) {
  await opened();
  if (finding.view !== null) await showFlow(finding.view);
  figure.chosen = finding;
  const least = Math.max(0.02, finding.to - finding.from);
  await figure.show(finding.from - 0.2 * least, finding.to + 0.2 * least);
  say(`finding ${finding.n}: ${finding.words}`);
  if (move && !inView(figureBox)) figureBox.scrollIntoView({ block: "center", behavior: "auto" });
}

function inView(element) {
  const at = element.getBoundingClientRect();
  return at.top >= 0 && at.top < 0.6 * window.innerHeight;
}

function pointed(finding, clicked) {
  list.point(finding);
  figure.mark(figure.chosen, finding);
  if (!clicked) return;
  list.choose(finding, false);
  finding.element.scrollIntoView({ block: "nearest" });
}

const list = new FindingList((finding, move) => { showFinding(finding, move).catch(reported); });
list.onPoint = (finding) => { if (figure) figure.mark(figure.chosen, finding); };
const reported = (error) => say(error.message);

const act = (move) => () => opened().then(() => move(figure)).catch(reported);
const figureKeys = {
  w: act((f) => f.zoom(1 / 1.5, f.pointerX)), s: act((f) => f.zoom(1.5, f.pointerX)),
  a: act((f) => f.pan(-0.25)), d: act((f) => f.pan(0.25)), "0": act((f) => f.showAll()),
};
const findingKeys = {
  f: () => list.choose(list.chosen ?? list.items[0], true), ",": () => list.step(-1), ".": () => list.step(1),
};
const actions = {
  "?": () => { if (help.open) help.close(); else help.showModal(); },
  ...(PAGE.flows.length ? figureKeys : {}), ...(list.items.length ? findingKeys : {}),
};

watchKeys(actions);
watchCopies(say);
for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", actions[button.dataset.act]);
chooser?.addEventListener("change", () => { shownFlow = -1; act(() => showFlow(Number(chooser.value)))(); });
if (PAGE.flows.length) {
  new IntersectionObserver((seen, watcher) => {
    if (!seen.some((entry) => entry.isIntersecting)) return;
    watcher.disconnect();
    document.readyState === "loading" ? addEventListener("DOMContentLoaded", () => opened().catch(reported)) : opened().catch(reported);
  }).observe(figureBox);
}
