// Colours of the figure, by the reader's light or dark setting.
const darkQuery = window.matchMedia("(prefers-color-scheme: dark)");
const printing = () => "print" in document.documentElement.dataset;

function theme() {
  const side = darkQuery.matches && !printing() ? 1 : 0;
  const css = getComputedStyle(document.documentElement);
  return {
    side, paper: css.getPropertyValue("--paper").trim(), ink: css.getPropertyValue("--ink").trim(),
    faint: css.getPropertyValue("--rule").trim(), soft: css.getPropertyValue("--soft").trim(),
    quiet: css.getPropertyValue("--quiet").trim(), accent: css.getPropertyValue("--accent").trim(),
    line: (name) => PAGE.lines[name][side],
    trigger: (mark) => PAGE.triggers[Math.floor((mark - RETRANSMISSION) / 3)].colours[side],
  };
}
