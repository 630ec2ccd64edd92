// Numbers for people. The twin of the page functions in formatting.py; a test compares the two.
const THIN = "\u202f";

function grouped(value, places) {
  return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places }).replace(/,/g, THIN);
}

function threeDigits(value) {
  const size = Math.abs(value);
  return grouped(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

function bytes(value) {
  for (const [unit, factor] of [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (Math.abs(value) >= factor) return threeDigits(value / factor) + THIN + unit;
  }
  return grouped(value, 0) + THIN + "B";
}

function duration(seconds) {
  if (Math.abs(seconds) < 5e-4) return threeDigits(seconds * 1e6) + THIN + "µs";
  if (Math.abs(seconds) < 0.9995) return threeDigits(seconds * 1e3) + THIN + "ms";
  return threeDigits(seconds) + THIN + "s";
}

// A time on the axis, with as many digits as the visible range needs.
function moment(seconds, range) {
  const places = Math.min(9, Math.max(3, Math.ceil(3 - Math.log10(Math.max(range, 1e-9)))));
  return grouped(seconds, places) + THIN + "s";
}
