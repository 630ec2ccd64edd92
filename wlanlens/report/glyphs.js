// Letters next to marks. A letter that would cover another is left out; its mark is still drawn.
function glyphPainter(b, paper) {
  const sprites = new Map(), taken = new Set();
  const size = Math.round(11 * b.unit);

  function sprite(text, colour, need) {
    const key = `${text}|${colour}|${need}`;
    if (sprites.has(key)) return sprites.get(key);
    const shown = need === "unknown" ? text + "?" : text;
    const canvas = document.createElement("canvas");
    const pen = canvas.getContext("2d");
    const font = `700 ${size}px system-ui, sans-serif`;
    pen.font = font;
    canvas.width = Math.ceil(pen.measureText(shown).width) + 4 * b.unit;
    canvas.height = size + 4 * b.unit;
    pen.font = font;
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.lineWidth = 3 * b.unit;
    pen.strokeStyle = paper;
    pen.strokeText(shown, 2 * b.unit, canvas.height / 2);
    pen.fillStyle = colour;
    pen.fillText(shown, 2 * b.unit, canvas.height / 2);
    if (need === "spurious") {
      pen.fillRect(1.5 * b.unit, Math.round(canvas.height / 2 - b.unit / 2), canvas.width - 3 * b.unit, b.unit);
    }
    sprites.set(key, canvas);
    return canvas;
  }

  // Whether the place of the letter is free; reserves it.
  function free(left, top, picture) {
    const cell = 4 * b.unit, keys = [];
    for (let i = Math.floor(left / cell); i <= (left + picture.width - 1) / cell; i++) {
      for (let j = Math.floor((top + 3) / cell); j <= (top + picture.height - 4) / cell; j++) keys.push(i * 100000 + j);
    }
    if (keys.some((key) => taken.has(key))) return false;
    for (const key of keys) taken.add(key);
    return true;
  }

  return (text, x, y, colour, need = "", below = false) => {
    if (x < -20 || x > b.w + 20) return;
    const picture = sprite(text, colour, need);
    // A letter at the edge of the row stays whole.
    const inside = x >= 0 && x <= b.w;
    const left = Math.round(inside ? Math.max(0, Math.min(b.w - picture.width, x - picture.width / 2)) : x - picture.width / 2);
    const top = Math.max(0, Math.min(b.h - picture.height, Math.round(below ? y : y - picture.height)));
    if (free(left, top, picture)) b.pen.drawImage(picture, left, top);
  };
}
