// A figure with its place on the page and its status line.
class Stage {
  constructor(name, sheet, load) {
    this.box = document.getElementById(name);
    this.status = document.getElementById(name === "figure" ? "status" : `${name}-status`);
    this.sheet = sheet;
    this.load = load;
    this.figure = null;
    this.opening = null;
    this.onChange = [];
  }

  say(text) { this.status.textContent = text; }

  // The figure opens when it is scrolled into view or first used; the rest of the page does not wait for it.
  opened() {
    this.opening ??= (async () => {
      await parsed;
      const made = new Figure(this.box, this.sheet);
      await made.open();
      const frame = this.box.parentElement;
      watchPointer(made, frame.querySelector(".tip"), frame.querySelector(".crosshair"), (finding, clicked) => pointed(this, finding, clicked));
      made.onPick = (found) => picked(this, found);
      made.onShow = () => { for (const then of this.onChange) then(); };
      this.figure = made;
      await this.load();
    })().catch((error) => {
      this.box.textContent = `No figure: ${error.message}.`;
      this.box.dataset.failed = "";
      throw error;
    });
    return this.opening;
  }

  openWhenSeen() {
    const open = () => this.opened().catch((error) => this.say(error.message));
    new IntersectionObserver((seen, watcher) => {
      if (!seen.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      open();
    }).observe(this.box);
    for (const event of ["pointerenter", "focusin"]) this.box.addEventListener(event, () => { active = this; });
  }

  // Figures that nobody scrolls to are drawn when the browser has nothing else to do, so that a print has them.
  openWhenIdle() {
    return new Promise((done) => {
      const open = () => this.opened().catch((error) => this.say(error.message)).then(done);
      if (window.requestIdleCallback) requestIdleCallback(open); else setTimeout(open, 200);
    });
  }

  // What is in view as one SVG; on the page the legend is below it anyway.
  svg(alone = true) {
    const section = this.box.closest("section"), title = section.querySelector("h2").textContent;
    const about = this.box.id === "figure" ? `: ${PAGE.flows[Number(this.box.dataset.flow)].subject}` : "";
    return figureSvg(this.figure, `${title}${about}`, alone ? legendOf(section) : []);
  }

  act(move) {
    return this.opened().then(() => move(this.figure)).catch((error) => this.say(error.message));
  }

  async show(finding) {
    this.figure.chosen = finding;
    await this.figure.show(...this.rangeOf(finding));
    this.say(`finding ${finding.n}: ${finding.words}`);
  }

  // A finding with a margin on both sides.
  rangeOf(finding) {
    const least = Math.max(0.02, finding.to - finding.from);
    return [finding.from - 0.2 * least, finding.to + 0.2 * least];
  }

  inView() {
    const at = this.box.getBoundingClientRect();
    return at.top >= 0 && at.top < 0.6 * window.innerHeight;
  }
}

// The data of the figures is at the end of the page, after this script.
const parsed = new Promise((done) => {
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", done); else done();
});

// The stage that keys act on: the last one under the pointer.
let active = null;
