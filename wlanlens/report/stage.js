// A figure with its place on the page and its status line.
class Stage {
  constructor(name, sheet, load) {
    this.box = document.getElementById(name);
    this.status = document.getElementById(name === "figure" ? "status" : `${name}-status`);
    this.sheet = sheet;
    this.load = load;
    this.figure = null;
    this.opening = null;
  }

  say(text) { this.status.textContent = text; }

  // The figure opens when it is scrolled into view or first used; the rest of the page does not wait for it.
  opened() {
    this.opening ??= (async () => {
      const made = new Figure(this.box, this.sheet);
      await made.open();
      const frame = this.box.parentElement;
      watchPointer(made, frame.querySelector(".tip"), frame.querySelector(".crosshair"), (finding, clicked) => pointed(this, finding, clicked));
      made.onPick = (journey) => picked(this, journey);
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
      document.readyState === "loading" ? addEventListener("DOMContentLoaded", open) : open();
    }).observe(this.box);
    for (const event of ["pointerenter", "focusin"]) this.box.addEventListener(event, () => { active = this; });
  }

  act(move) {
    return this.opened().then(() => move(this.figure)).catch((error) => this.say(error.message));
  }

  async show(finding) {
    this.figure.chosen = finding;
    const least = Math.max(0.02, finding.to - finding.from);
    await this.figure.show(finding.from - 0.2 * least, finding.to + 0.2 * least);
    this.say(`finding ${finding.n}: ${finding.words}`);
  }

  inView() {
    const at = this.box.getBoundingClientRect();
    return at.top >= 0 && at.top < 0.6 * window.innerHeight;
  }
}

// The stage that keys act on: the last one under the pointer.
let active = null;
