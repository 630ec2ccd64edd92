// Reads the columns of encode.py: {name: typed array}. Differences are summed in doubles, exact up to 2^53.
const ARRAYS = { u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array, u4: Uint32Array, i4: Int32Array, f8: Float64Array };

function readColumns(raw) {
  const headLength = new DataView(raw.buffer, raw.byteOffset).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(raw.subarray(4, 4 + headLength)));
  const out = {};
  let at = padded(4 + headLength);
  for (const [name, type, length, coding] of head) {
    const stored = new ARRAYS[type](raw.buffer, raw.byteOffset + at, length);
    at += padded(stored.byteLength);
    out[name] = coding === "delta" ? summed(stored) : stored;
  }
  return out;
}

function padded(length) {
  return Math.ceil(length / 8) * 8;
}

function summed(differences) {
  const out = new Float64Array(differences.length);
  let value = 0;
  for (let i = 0; i < out.length; i++) out[i] = value += differences[i];
  return out;
}
