// Plotly is in the page, compressed; the page's policy allows its script element by hash.
let plotlyLoading = null;
function loadPlotly() {
  plotlyLoading ??= (async () => {
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(await stored("plotly", null));
    document.head.append(script);
    if (!window.Plotly) throw new Error("the plot library did not start");
  })();
  return plotlyLoading;
}
