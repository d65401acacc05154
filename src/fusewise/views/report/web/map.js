// The map: rows connected to their centres.

const MOST_IN_SVG = 3000;      // more points are drawn with WebGL
const MOST_LINES = 1000;       // maximum number of lines to centres: more would be unreadable
const MOST_WITHOUT_WEBGL = 6000;
const MOST_LEGEND = 30;        // more clusters share one trace and have no legend

const hasWebGL = once(() => ({ yes: Boolean(document.createElement("canvas").getContext("webgl")) }));

const rowStride = once(() => (N > MOST_IN_SVG && !hasWebGL().yes ? Math.ceil(N / MOST_WITHOUT_WEBGL) : 1));

/** Rows to draw: all, or a regular subset in browsers without WebGL. */
const mapRows = once(() => Array.from({ length: Math.ceil(N / rowStride()) }, (_, i) => i * rowStride()));

function groupsOfRows() {
  const clusters = K <= MOST_LEGEND ? [...Array(K).keys()].map((k) => [k]) : [[...Array(K).keys()]];
  return clusters.map((members) => ({ members, rows: mapRows().filter((i) => labels[i] >= 0 && (members.length > 1 || labels[i] === members[0])) }));
}

const lineStride = () => Math.ceil(mapRows().length / MOST_LINES);

function linesTo(rows, endX, endY) {
  const x = [], y = [], stride = lineStride();
  for (let j = 0; j < rows.length; j += stride) {
    const i = rows[j];
    x.push(X[i], endX[i], null);
    y.push(Y[i], endY[i], null);
  }
  return { x, y };
}

function mapTraces() {
  const { paper, line } = theme();
  const type = N > MOST_IN_SVG && hasWebGL().yes ? "scattergl" : "scatter";
  const crowd = Math.min(1, Math.sqrt(400 / Math.max(N, 1)));  // many rows are drawn smaller and fainter
  const endX = unpack(found.map.endX), endY = unpack(found.map.endY);
  const traces = [];
  const groups = groupsOfRows();
  for (const { members, rows } of groups) {
    const one = members.length === 1;
    traces.push({
      type: "scatter", mode: "lines", ...linesTo(rows, endX, endY), hoverinfo: "skip", legendgroup: String(members[0]), showlegend: false,
      line: { color: one ? colourOf(members[0]) : line, width: 0.7 }, opacity: 0.12 + 0.3 * crowd,
    });
  }
  for (const { members, rows } of groups) {
    const one = members.length === 1;
    traces.push({
      type, mode: "markers", x: Float32Array.from(rows, (i) => X[i]), y: Float32Array.from(rows, (i) => Y[i]), customdata: rows, hoverinfo: "none",
      legendgroup: String(members[0]), showlegend: false,
      marker: {
        color: one ? colourOf(members[0]) : rows.map((i) => colourOf(labels[i])),
        symbol: one ? symbolOf(members[0]) : rows.map((i) => symbolOf(labels[i])),
        size: 3.4 + 4 * crowd, opacity: 0.35 + 0.5 * crowd, line: { width: type === "scatter" ? 0.6 : 0, color: paper },
      },
    });
  }
  for (const { members: [k, ...others] } of groups) {
    if (others.length) continue;
    traces.push({  // legend entry in full colour
      type: "scatter", mode: "markers", x: [null], y: [null], hoverinfo: "skip", legendgroup: String(k),
      name: `cluster ${k} (${found.sizes[k].toLocaleString("en-GB")})`, marker: { color: colourOf(k), symbol: symbolOf(k), size: 9 },
    });
  }
  const loose = mapRows().filter((i) => labels[i] < 0);
  traces.push({
    type, mode: "markers", x: loose.map((i) => X[i]), y: loose.map((i) => Y[i]), customdata: loose, hoverinfo: "none",
    name: "outliers", showlegend: loose.length > 0,
    // WebGL has no thin crosses; the open ones look the same.
    marker: { symbol: type === "scatter" ? "x-thin" : "x-thin-open", color: colourOf(-1), size: 8, line: { width: 1.8, color: colourOf(-1) } },
  });
  return traces;
}

/** Cluster numbers at the centres, as annotations because WebGL would paint over other traces. */
function badges() {
  const { paper, ink } = theme();
  return found.map.hubs.map(([x, y], k) => ({
    x, y, text: `<b>${k}</b>`, showarrow: false, font: { size: 11, color: ink },
    bgcolor: paper, bordercolor: colourOf(k), borderwidth: 2, borderpad: 2.5, opacity: 0.93,
  }));
}

/** Draw a ring around one row, of the same size at every zoom level. */
function markRow(row) {
  const picture = document.getElementById("map-picture");
  const ring = { type: "circle", xsizemode: "pixel", ysizemode: "pixel", xanchor: X[row], yanchor: Y[row], x0: -10, x1: 10, y0: -10, y1: 10 };
  if (picture.layout) Plotly.relayout(picture, { shapes: [{ ...ring, line: { width: 2.5, color: theme().ink } }] });
}

function outsideFrame() {
  const [[left, right], [low, high]] = found.map.frame;
  let n = 0;
  for (let i = 0; i < N; i++) n += labels[i] < 0 && (X[i] < left || X[i] > right || Y[i] < low || Y[i] > high);
  return n;
}

/** Notes shown below the map. */
function mapNotes() {
  const outside = outsideFrame(), notes = [];
  if (rowStride() > 1) notes.push(`This browser has no WebGL: one row in ${rowStride()} is drawn. All rows can be found by name.`);
  if (lineStride() > 1) notes.push(`Lines to the centres are drawn for one row in ${lineStride()}.`);
  if (outside) notes.push(`${outside.toLocaleString("en-GB")} ${outside === 1 ? "outlier is" : "outliers are"} outside this view: double-click the map to see all.`);
  return notes.join(" ");
}

function startMap() {
  const picture = document.getElementById("map-picture");
  const [first, second] = found.map.shares.map((share) => `${(100 * share).toFixed(0)}% of the variance`);
  const note = document.getElementById("map-note");
  note.textContent = mapNotes();
  note.hidden = !note.textContent;
  const draw = () =>
    plot(picture, mapTraces(), layoutOf({
      xaxis: { title: { text: `first principal component (${first})` }, range: found.map.frame[0].slice(), zeroline: false },
      yaxis: { title: { text: `second principal component (${second})` }, range: found.map.frame[1].slice(), zeroline: false, scaleanchor: "x" },
      annotations: badges(),
      showlegend: true,
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", itemsizing: "constant" },
      hovermode: "closest",
      dragmode: "pan",
    }), { ...CONFIG, scrollZoom: false, doubleClick: "autosize" });
  const done = drawn(draw);
  picture.on("plotly_hover", ({ points, event }) => points[0].customdata !== undefined && pointAtRow(points[0].customdata, event));
  picture.on("plotly_unhover", hideTooltip);
  picture.on("plotly_click", ({ points }) => points[0].customdata !== undefined && showRow(points[0].customdata));
  return done;
}
