// Letters beside marks. A letter that would cover one of its own kind is left out; its mark is drawn all the same.
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
    if (need === "needless") {
      pen.fillRect(b.unit, Math.round(canvas.height / 2 - b.unit / 2), canvas.width - 2 * b.unit, b.unit);
    }
    sprites.set(key, canvas);
    return canvas;
  }

  return (text, x, y, colour, need = "", below = false) => {
    const picture = sprite(text, colour, need);
    const left = Math.round(x - picture.width / 2), top = Math.round(below ? y : y - picture.height);
    const cell = `${text}|${colour}|${need}|${left >> 3}|${top >> 3}`;
    if (left < -picture.width || left > b.w || taken.has(cell)) return;
    taken.add(cell);
    b.pen.drawImage(picture, left, Math.max(0, Math.min(b.h - picture.height, top)));
  };
}
