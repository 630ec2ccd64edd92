// The table and the files of each figure.
function watchSaves(stage, name) {
  const section = stage.box.closest("section"), details = section.querySelector(".data");
  const fill = () => { if (details.open && stage.figure?.data) fillTable(stage.figure, details); };
  details.addEventListener("toggle", () => { if (details.open) stage.act(fill); });
  stage.onChange.push(fill);
  const saves = {
    csv: (figure) => download(new Blob([csvText(figure.sheet.table(figure.data, figure.x))], { type: "text/csv" }), `${name}.csv`),
    svg: (figure) => download(new Blob([svgText(stage.svg())], { type: "image/svg+xml" }), `${name}.svg`),
    png: async () => download(await svgToPng(stage.svg()), `${name}.png`),
  };
  for (const button of details.querySelectorAll("[data-save]")) button.addEventListener("click", () => stage.act(saves[button.dataset.save]));
}
