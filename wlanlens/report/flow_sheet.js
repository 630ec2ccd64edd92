// The figure of one direction of a TCP connection.
const FLOW_SHEET = {
  rows: [
    {
      axis: "yaxis4", y: "y4", share: [0.89, 1],
      look: { fixedrange: true, showgrid: false, showticklabels: false, ticks: "" },
      wanted: (f) => `${f.chosen?.n} ${f.pointed?.n}`,
      paint: (b, f, look) => {
        drawLedger(b, f.data.ledger, Math.round(LANES * LANE_SHARE * b.h) + b.unit);
        drawFindings(b, f, look, LANE_SHARE);
      },
      describe: describeCategory, laneShare: LANE_SHARE,
    },
    {
      axis: "yaxis", y: "y", share: [0.395, 0.86], title: "sequence number", look: { ticksuffix: "B", nticks: 7 },
      wanted: (f) => f.chosen?.n, paint: (b, f, look) => drawSequence(b, f.data, look, f.chosen), describe: describeSegment,
    },
    {
      axis: "yaxis2", y: "y2", share: [0.215, 0.36], title: "RTT (dots) and RTO (line)", log: true,
      look: { type: "log", range: [-3, 1] }, paint: (b, f, look) => drawRtt(b, f.data, look), describe: describeRtt,
    },
    {
      axis: "yaxis3", y: "y3", share: [0, 0.18], title: "bytes in flight and receive window",
      look: { ticksuffix: "B", nticks: 4, rangemode: "tozero" }, paint: (b, f, look) => drawFlight(b, f.data, look), describe: describeSegment,
    },
  ],
  fit: fitRows,
  ticks: (y) => timeTicks(y.yaxis2),
};

function flowEnds(flow) {
  const n = flow.x.length;
  return n ? [flow.x[0], flow.x[n - 1]] : [0, 1];
}

// Ticks of the logarithmic row: powers of ten, and 2 and 5 times these where there is room.
function timeTicks([low, high]) {
  const values = [];
  for (let power = Math.floor(low); power <= high; power++) {
    for (const digit of high - low > 1.7 ? [1] : [1, 2, 5]) values.push(digit * 10 ** power);
  }
  return { "yaxis2.tickvals": values, "yaxis2.ticktext": values.map((v) => label(duration(v).replace(/\.0+(?=\D|$)/, ""))) };
}
