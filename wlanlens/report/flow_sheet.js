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
      wanted: (f) => `${f.chosen?.n} ${f.picked?.packet}`,
      paint: (b, f, look) => { drawSequence(b, f.data, look, f.chosen); drawPicked(b, f.data, look, f.picked?.packet); }, describe: describeSegment,
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
  pick: pickSegment,
  profile: (flow, columns) => profile(flow.data, (row) => [flow.x[row], flow.size[row]], flow.glyphs, (row) => flow.x[row], columns),
  table: segmentTable,
  ticks: (y) => timeTicks(y.yaxis2),
};

function pickSegment(figure, at) {
  const row = nearestSegment(figure, at);
  return row < 0 ? null : { packet: figure.data.packet[row], journey: journeyOf(figure.data, row) };
}

// The rows of the packets in view, for the table and for CSV.
function* segmentTable(flow, [x0, x1]) {
  yield ["packet", "t_s", "kind", "sequence", "bytes", "ack", "window_bytes", "retransmission", "spurious", "flight_bytes", "rtt_s"];
  const rtt = new Map();
  flow.rtt.row.forEach((row, i) => rtt.set(row, flow.rtt.ns[i] / 1e9));
  for (let row = lowerBound(flow.x.length, (i) => flow.x[i], x0); row < flow.x.length && flow.x[row] <= x1; row++) {
    const mark = flow.mark[row], isAck = mark >= ACK, resent = !isAck && mark >= RETRANSMISSION;
    yield [
      flow.packet[row], flow.x[row].toFixed(9), PAGE.kinds[flow.kind[row]], isAck ? "" : flow.seq[row], isAck ? "" : flow.size[row],
      isAck ? flow.seq[row] : "", isAck && flow.size[row] >= 0 ? flow.size[row] : "",
      resent ? PAGE.triggers[Math.floor((mark - RETRANSMISSION) / 3)].title : "", resent ? PAGE.needs[(mark - RETRANSMISSION) % 3] : "",
      flow.flight[row] >= 0 ? flow.flight[row] : "", rtt.get(row) ?? "",
    ];
  }
}

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
