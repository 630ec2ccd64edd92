// Base64 of gzip -> bytes. The text lies in the page, or in a file beside it when it was too long for the page.
async function inflate(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const spilled = new Map();
window.wlanlensData = (name, text) => spilled.get(name)?.(text);

// fetch() fails on file: URLs and <script src> works, so that is how the file is read.
function beside(name, file) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const failed = () => reject(new Error(`${file} is not beside this page; keep the folder with it`));
    spilled.set(name, resolve);
    script.onerror = failed;
    script.onload = () => { script.remove(); failed(); };
    script.src = file;
    document.head.append(script);
  });
}

async function stored(name, file) {
  const held = document.getElementById(name);
  return inflate(file ? await beside(name, file) : held.textContent);
}
