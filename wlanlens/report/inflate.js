// Base64 of gzip -> bytes. The text lies in the page, or in a file beside it when it was too long for the page.
async function inflate(text) {
  const stream = new Blob([unpacked(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function unpacked(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text), out = new Uint8Array(letters.length);
  for (let i = 0; i < out.length; i++) out[i] = letters.charCodeAt(i);
  return out;
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
