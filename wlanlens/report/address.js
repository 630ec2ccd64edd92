// location.hash holds what is shown: #finding-2, or figure, flow, finding, packet, journey and the range from..to in seconds.
class Address {
  constructor(read) {
    this.read = read;
    this.quiet = 0;
    this.timer = 0;
    addEventListener("hashchange", () => this.open());
  }

  // Show what the address asks for; an empty one asks for nothing.
  async open() {
    const text = location.hash.slice(1), only = /^finding-(\d+)$/.exec(text);
    const wanted = only ? { finding: only[1] } : Object.fromEntries(new URLSearchParams(text));
    if (!["finding", "figure", "flow", "packet", "journey", "from"].some((name) => name in wanted)) return;
    this.quiet++;
    try { await this.read(wanted); } finally { this.quiet--; }
  }

  // What is shown has changed; written once it has settled, and not while an address is being opened.
  changed(now) {
    if (this.quiet) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const entries = Object.entries(now()).filter(([, value]) => value !== null && value !== undefined);
      const names = entries.map(([name]) => name).join();
      const hash = names === "finding" ? `finding-${entries[0][1]}` : entries.map(([name, value]) => `${name}=${value}`).join("&");
      if (`#${hash}` !== location.hash && (hash || location.hash)) history.replaceState(null, "", `#${hash}`);
    }, 250);
  }
}

// A time for the address: as many digits as the range needs.
function shortTime(value, range) {
  return value.toFixed(Math.min(9, Math.max(3, Math.ceil(4 - Math.log10(Math.max(range, 1e-9))))));
}
