// A figure as one SVG, as PNG and as CSV, and the table of what is in view.
const SVG = "http://www.w3.org/2000/svg";

// The layers of Plotly as one SVG with a title and the legend, on paper of the figure's colours.
function figureSvg(figure, title, legend) {
  const look = theme(), { width, height } = figure.size(), lines = wrapped(legend, width);
  const whole = height + 30 + 16 * lines.length;
  const out = element("svg", { xmlns: SVG, viewBox: `0 0 ${width} ${whole}`, width, height: whole, role: "img", "aria-label": title });
  out.append(element("rect", { width, height: whole, fill: look.paper }));
  const text = (words, x, y, fill = look.ink) => {
    const made = element("text", { x, y, fill, "font-family": "system-ui, sans-serif", "font-size": 12 });
    made.textContent = words;
    out.append(made);
  };
  text(title, 8, 18);
  for (const layer of figure.plot.querySelectorAll("svg.main-svg")) {
    const copy = layer.cloneNode(true);
    copy.removeAttribute("style");
    copy.setAttribute("y", 26);
    out.append(copy);
  }
  lines.forEach((line, i) => {
    for (const { x, words, colour } of line) {
      const y = height + 40 + 16 * i;
      if (colour) out.append(element("rect", { x, y: y - 9, width: 10, height: 10, fill: colour }));
      text(words, x + (colour ? 14 : 0), y, look.quiet);
    }
  });
  return out;
}

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// The entries of a legend in lines of a width; letters are 7 pixels wide at most.
function wrapped(entries, width) {
  const lines = [[]];
  let x = 8;
  for (const entry of entries) {
    const wide = 7 * entry.words.length + (entry.colour ? 30 : 16);
    if (x + wide > width && lines.at(-1).length) { lines.push([]); x = 8; }
    lines.at(-1).push({ ...entry, x });
    x += wide;
  }
  return lines.filter((line) => line.length);
}

// The legend on the page as entries; its hidden parts belong to other flows.
function legendOf(section) {
  return [...section.querySelectorAll(".legend li")].filter((item) => !item.closest("[hidden]")).map((item) => {
    const key = item.querySelector("b"), style = key && getComputedStyle(key);
    const fill = style && (key.classList.contains("letter") ? style.color : style.backgroundColor);
    return { words: item.textContent.trim().replace(/\s+/g, " "), colour: fill };
  });
}

const svgText = (svg) => `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}`;

async function svgToPng(svg) {
  const picture = new Image(), scale = 2;
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = scale * Number(svg.getAttribute("width"));
  canvas.height = scale * Number(svg.getAttribute("height"));
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => { if (blob) resolve(blob); else reject(new Error("the picture is too large for this browser")); }, "image/png");
  });
}

const csvCell = (value) => (/[",\n\r]/.test(value) ? `"${String(value).replace(/"/g, '""')}"` : String(value));

function csvText(rows) {
  const lines = [];
  for (const row of rows) lines.push(row.map(csvCell).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const MOST_TABLE_ROWS = 200;

// Fill the table below a figure with the first rows in view.
function fillTable(figure, details) {
  const rows = figure.sheet.table(figure.data, figure.x), head = rows.next().value, body = [];
  let left = 0;
  for (const row of rows) if (body.length < MOST_TABLE_ROWS) body.push(row); else left++;
  const line = (cells, tag) => {
    const made = document.createElement("tr");
    made.append(...cells.map((text, i) => {
      const cell = document.createElement(tag || (i ? "td" : "th"));
      cell.scope = tag ? "col" : i ? "" : "row";
      cell.textContent = text;
      return cell;
    }));
    return made;
  };
  const top = document.createElement("thead"), all = document.createElement("tbody");
  top.append(line(head.map((name) => name.replace(/_/g, " ")), "th"));
  all.append(...body.map((row) => line(row)));
  details.querySelector("table").replaceChildren(top, all);
  const count = grouped(body.length + left, 0);
  details.querySelector(".left:last-child").textContent = left ? `The first ${MOST_TABLE_ROWS} of ${count} rows in view; CSV has all of them.` : `${count} rows.`;
}
