// On paper the figures are pictures of what is in view, in light colours, and details are open; folded figures stay folded.
function watchPrint(stages) {
  let undo = [];
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.print = "";
    for (const details of document.querySelectorAll("details:not([open], .data, .chart)")) {
      details.open = true;
      undo.push(() => { details.open = false; });
    }
    for (const stage of stages) {
      const made = document.createElement("div");
      made.className = "printed";
      if (stage.figure?.data) {
        stage.figure.restyle();
        made.append(stage.svg(false));
      } else made.textContent = "This figure was not drawn yet: scroll to it, then print again.";
      stage.box.parentElement.after(made);
      undo.push(() => made.remove());
    }
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.print;
    for (const step of undo) step();
    undo = [];
    for (const stage of stages) stage.figure?.restyle();
  });
}
