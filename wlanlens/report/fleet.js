// The filter of the table of traces: words anywhere in a row, its main cause, its status.
document.documentElement.classList.remove("no-js");
const rows = [...document.querySelectorAll("#rows tr")].map((row) => ({ row, text: row.textContent.toLowerCase() }));
const chosen = (id) => document.getElementById(id)?.value ?? "";

function filter() {
  const words = chosen("text").toLowerCase().split(/\s+/).filter(Boolean);
  const cause = chosen("cause"), status = chosen("status");
  let shown = 0;
  for (const { row, text } of rows) {
    const there = words.every((word) => text.includes(word)) && (!cause || row.dataset.cause === cause) &&
      (!status || row.dataset.status === status);
    row.hidden = !there;
    shown += there;
  }
  document.getElementById("shown").textContent = shown < rows.length ? `${shown} of ${rows.length} traces` : "";
}

const form = document.querySelector(".filters");
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
