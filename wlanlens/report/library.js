// Plotly comes with the page, compressed; its element is allowed by its hash in the page's policy.
let plotlyLoading = null;
function loadPlotly() {
  plotlyLoading ??= (async () => {
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(await stored("plotly", null));
    document.head.append(script);
    if (!window.Plotly) throw new Error("the figure's library did not start");
  })();
  return plotlyLoading;
}
