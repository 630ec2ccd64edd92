// The list of findings, connected to the figure.
class FindingList {
  constructor(show) {
    this.show = show;
    this.items = PAGE.findings.map((f) => ({ ...f, element: document.getElementById(`finding-${f.n}`) }));
    this.chosen = null;
    for (const f of this.items) {
      f.element.addEventListener("pointerenter", () => this.onPoint(f));
      f.element.addEventListener("pointerleave", () => this.onPoint(null));
      f.element.addEventListener("focusin", () => this.onPoint(f));
      f.element.addEventListener("focusout", () => this.onPoint(null));
      f.element.querySelector(".show").addEventListener("click", () => this.choose(f, true));
      f.element.querySelector(".journey")?.addEventListener("click", () => this.onJourney(f));
    }
  }

  onPoint() {}
  onJourney() {}

  choose(finding, move) {
    this.mark(finding);
    this.show(finding, move);
  }

  mark(finding) {
    this.chosen = finding;
    const folded = finding.element.closest("details");
    if (folded) folded.open = true;
    for (const f of this.items) f.element.toggleAttribute("data-chosen", f === finding);
  }

  step(by) {
    const at = this.items.indexOf(this.chosen);
    const next = at < 0 ? (by > 0 ? 0 : this.items.length - 1) : (at + by + this.items.length) % this.items.length;
    const finding = this.items[next];
    this.choose(finding, false);
    finding.element.querySelector(".show").focus({ preventScroll: true });
    finding.element.scrollIntoView({ block: "nearest" });
  }

  point(finding) {
    for (const f of this.items) f.element.toggleAttribute("data-pointed", f === finding);
  }
}
