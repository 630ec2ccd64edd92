// Base64 of gzip to bytes. The text is in the page, or in a file next to it if it is too long for the page.
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

// Files are read by <script src>, because fetch() fails on file: URLs.
function fromFile(name, file) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const failed = () => reject(new Error(`${file} is missing; keep its folder next to this page`));
    spilled.set(name, resolve);
    script.onerror = failed;
    script.onload = () => { script.remove(); failed(); };
    script.src = file;
    document.head.append(script);
  });
}

async function stored(name, file) {
  const held = document.getElementById(name);
  return inflate(file ? await fromFile(name, file) : held.textContent);
}
