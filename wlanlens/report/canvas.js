// A canvas for one row of the figure, and the map from data to its pixels.
const DPR = Math.min(2, window.devicePixelRatio || 1);

function board(width, height, x, y, log = false) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * DPR));
  canvas.height = Math.max(1, Math.round(height * DPR));
  const w = canvas.width, h = canvas.height;
  const kx = w / (x[1] - x[0]), ky = h / (y[1] - y[0]);
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const value = log ? (v) => Math.log10(v) : (v) => v;
  return {
    canvas, pen, w, h, unit: DPR, x, y,
    px: (v) => (v - x[0]) * kx,
    py: (v) => h - (value(v) - y[0]) * ky,
  };
}

// Vertical bars (x, low, high): touching bars in one pixel column become one, so nothing visible is lost.
function barPainter(b, colour, width, least) {
  let column = NaN, top = 0, bottom = 0;
  const half = Math.floor(width / 2);
  const flush = () => {
    if (column === column) {
      const y = Math.round(top);
      b.pen.fillRect(column - half, y, width, Math.max(least, Math.round(bottom) - y));
    }
    column = NaN;
  };
  return {
    bar(x, low, high) {
      const at = Math.round(b.px(x));
      const from = Math.max(-4, b.py(high)), to = Math.min(b.h + 4, b.py(low));
      if (at < -4 || at > b.w + 4 || from > b.h || to < 0) return;
      if (at === column && from <= bottom + 1 && to >= top - 1) {
        if (from < top) top = from;
        if (to > bottom) bottom = to;
      } else {
        flush();
        column = at; top = from; bottom = to;
      }
    },
    begin() { b.pen.fillStyle = colour; },
    end: flush,
  };
}

// A step line through ascending x: level until the next point; every pixel column keeps its minimum and maximum.
function stepLine(b, count, xOf, yOf, colour, thickness) {
  const bars = barPainter(b, colour, thickness, thickness);
  bars.begin();
  let lastX = NaN, lastY = NaN;
  for (let i = 0; i < count; i++) {
    const x = xOf(i), y = yOf(i);
    if (lastX === lastX) {
      const from = Math.max(0, b.px(lastX)), to = Math.min(b.w, b.px(x)), level = b.py(lastY);
      if (to - from > 1 && level >= 0 && level <= b.h) b.pen.fillRect(from, level - thickness / 2, to - from, thickness);
      if (level >= 0 || b.py(y) >= 0) bars.bar(x, Math.min(lastY, y), Math.max(lastY, y));
    }
    lastX = x; lastY = y;
  }
  bars.end();
}

// Where a step line is above the row, dashes at the top edge: the line stays in the plot, and dashes are no values.
function edgeDashes(b, count, xOf, yOf, colour) {
  const dash = 6 * b.unit, period = 10 * b.unit;
  b.pen.fillStyle = colour;
  for (let i = 0; i < count; i++) {
    if (b.py(yOf(i)) >= 0) continue;
    const from = Math.max(0, b.px(xOf(i))), to = i + 1 < count ? Math.min(b.w, b.px(xOf(i + 1))) : b.w;
    for (let x = Math.floor(from / period) * period; x < to; x += period) {
      const left = Math.max(from, x), wide = Math.min(to, x + dash) - left;
      if (wide > 0) b.pen.fillRect(left, b.unit, wide, b.unit);
    }
  }
}

// Dots; one dot per pixel.
function dots(b, from, to, xOf, yOf, colour, size) {
  const taken = new Uint8Array(b.w * b.h);
  b.pen.fillStyle = colour;
  for (let i = from; i < to; i++) {
    const x = Math.round(b.px(xOf(i))), y = Math.round(b.py(yOf(i)));
    if (x < 0 || x >= b.w || y < 0 || y >= b.h || taken[y * b.w + x]) continue;
    taken[y * b.w + x] = 1;
    b.pen.fillRect(x - size / 2, y - size / 2, size, size);
  }
}
