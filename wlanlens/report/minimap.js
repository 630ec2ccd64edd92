// The whole time axis above a figure: bytes over time, rare marks, findings, and the part in view, which can be dragged.
class Minimap {
  constructor(figure, box) {
    this.figure = figure;
    this.box = box;
    this.canvas = box.querySelector("canvas");
    this.window = box.querySelector(".window");
    let grip = null;
    box.addEventListener("pointerdown", (event) => {
      if (!figure.data) return;
      const at = this.#time(event), [x0, x1] = figure.x;
      grip = at >= x0 && at <= x1 && !figure.showsAll ? at - x0 : (x1 - x0) / 2;
      box.setPointerCapture(event.pointerId);
      this.#drag(at, grip);
      event.preventDefault();
    });
    box.addEventListener("pointermove", (event) => { if (grip !== null) this.#drag(this.#time(event), grip); });
    for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => { grip = null; });
    box.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -0.25, ArrowRight: 0.25 }[event.key];
      if (!step || !figure.data) return;
      event.preventDefault();
      figure.pan(step);
    });
  }

  // The plotting area of the figure below, in pixels of this box.
  #area() {
    const { left, width } = this.figure.area();
    return { left, width: Math.max(1, width) };
  }

  #time(event) {
    const { left, width } = this.#area(), [x0, x1] = this.figure.whole;
    return x0 + ((event.clientX - this.box.getBoundingClientRect().left - left) / width) * (x1 - x0);
  }

  #drag(at, grip) {
    const { figure } = this, wide = figure.x[1] - figure.x[0], [first, last] = figure.whole;
    if (figure.showsAll) return;
    const from = Math.min(Math.max(at - grip, first), last - wide);
    figure.show(from, from + wide);
  }

  // Draw the whole axis again: other data, size or colours.
  paint() {
    const { figure, canvas } = this;
    if (!figure.data) return;
    const look = theme(), { left, width } = this.#area(), high = this.box.clientHeight;
    canvas.width = Math.round(this.box.clientWidth * DPR);
    canvas.height = Math.round(high * DPR);
    const pen = canvas.getContext("2d");
    pen.scale(DPR, DPR);
    const columns = { count: Math.round(width), from: figure.whole[0], to: figure.whole[1] };
    const { sums, rare } = figure.sheet.profile(figure.data, columns);
    const most = sums.reduce((a, b) => Math.max(a, b), 1);
    pen.fillStyle = look.soft;
    sums.forEach((sum, i) => { if (sum) pen.fillRect(left + i, high - 6 - Math.max(1, (sum / most) * (high - 8)), 1, Math.max(1, (sum / most) * (high - 8))); });
    pen.fillStyle = look.ink;
    rare.forEach((there, i) => { if (there) pen.fillRect(left + i, 0, 1, 5); });
    pen.fillStyle = look.accent;
    const scale = columns.count / (columns.to - columns.from);
    for (const f of figure.findings) pen.fillRect(left + (f.from - columns.from) * scale, high - 4, Math.max(2, (f.to - f.from) * scale), 3);
    this.moved();
  }

  // The part in view has changed.
  moved() {
    const { figure, box } = this, { left, width } = this.#area(), [first, last] = figure.whole, [x0, x1] = figure.x;
    const at = (x) => left + Math.min(1, Math.max(0, (x - first) / (last - first))) * width;
    this.window.hidden = figure.showsAll;
    this.window.style.left = `${at(x0)}px`;
    this.window.style.width = `${Math.max(3, at(x1) - at(x0))}px`;
    box.setAttribute("aria-valuemin", first);
    box.setAttribute("aria-valuemax", last);
    box.setAttribute("aria-valuenow", Math.min(last, Math.max(first, (x0 + x1) / 2)));
    box.setAttribute("aria-valuetext", `${moment(x0, x1 - x0)} to ${moment(x1, x1 - x0)}`);
  }
}

// Sums over columns of time, and columns with rare marks.
function profile(items, valueOf, rareItems, timeOf, { count, from, to }) {
  const sums = new Float64Array(count), rare = new Uint8Array(count), scale = count / (to - from);
  const column = (x) => Math.min(count - 1, Math.max(0, Math.floor((x - from) * scale)));
  for (const item of items) {
    const [x, value] = valueOf(item);
    sums[column(x)] += value;
  }
  for (const item of rareItems) rare[column(timeOf(item))] = 1;
  return { sums, rare };
}
