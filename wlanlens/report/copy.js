// Copy buttons: each copies the text of the element that it names.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Refused without permission or focus: copy a selection instead.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "aside";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("the browser refused");
  }
}

function watchCopies(say) {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const text = document.getElementById(button.dataset.copies).textContent;
    try {
      await copyText(text);
      say(`copied: ${text}`);
      button.dataset.done = "";
      setTimeout(() => delete button.dataset.done, 1500);
    } catch (error) {
      say(`not copied: ${error.message}`);
    }
  });
}
