// Plotly interprets some HTML tags in texts: every text of a figure is escaped here.
function label(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
