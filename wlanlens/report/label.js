// Plotly reads a few HTML tags in its texts: every text that goes into a figure passes here.
function label(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
