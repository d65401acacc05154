// The charts: criterion and merge tree along the path, profiles, missing values, recovery guarantee.

const MOST_TICKS = 60;

/** Draw the criterion and number of groups at each step, and the merge tree; `go` is called with a clicked step. */
function startSteps(go) {
  const chart = document.getElementById("path-criterion");
  drawn(() => plot(chart, criterionTraces(), criterionLayout()));
  chart.on("plotly_click", ({ points }) => go(points[0].x - 1));
  const tree = document.getElementById("path-tree");
  if (!tree) return;
  drawn(() => plot(tree, treeTraces(found.trail.chosen), treeLayout()));
  tree.on("plotly_click", ({ points }) => points[0].customdata !== undefined && go(points[0].customdata));
}

/** Move the cursor of the criterion and the highlighted part of the tree to a step. */
function markStep(k) {
  Plotly.relayout("path-criterion", { "shapes[0].x0": k + 1, "shapes[0].x1": k + 1 });
  if (found.tree) plot(document.getElementById("path-tree"), treeTraces(k), treeLayout());
}

function criterionTraces() {
  const { ink, accent, paper } = theme();
  const x = steps.map((_, k) => k + 1);
  const chosen = found.trail.chosen;
  const line = (y, axis, name, colour) => ({
    type: "scatter", mode: "lines+markers", x, y, yaxis: axis, name, line: { color: colour, width: 1.5 }, marker: { size: 6 },
    hovertemplate: `step %{x}: ${name} %{y:.6~g}<extra></extra>`,
  });
  const star = (y, axis) => ({
    type: "scatter", mode: "markers", x: [chosen + 1], y: [y], yaxis: axis, hoverinfo: "skip",
    marker: { symbol: "star", size: 15, color: "#E69F00", line: { color: ink, width: 1 } },
  });
  return [
    line(steps.map((step) => step.groups), "y2", "groups", ink),
    line(steps.map((step) => step.criterion), "y", "criterion", accent),
    star(steps[chosen].groups, "y2"),
    star(steps[chosen].criterion, "y"),
  ];
}

function criterionLayout() {
  const { muted } = theme();
  const chosen = found.trail.chosen + 1;
  return layoutOf({
    xaxis: { title: { text: "step (star: chosen)" }, dtick: Math.max(1, Math.round(steps.length / 10)), zeroline: false, range: [0.5, steps.length + 0.5] },
    yaxis: { title: { text: "criterion" }, domain: [0, 0.46], zeroline: false, nticks: 4 },
    yaxis2: { title: { text: "groups" }, domain: [0.54, 1], anchor: "x", ...logTicks(1, Math.max(...steps.map((step) => step.groups))) },
    margin: { l: 85, r: 10, t: 25, b: 45 },
    shapes: [{ type: "line", x0: chosen, x1: chosen, y0: 0, y1: 1, yref: "paper", line: { color: muted, width: 1.5, dash: "dot" } }],
  });
}

/** Lowest value of lam that is drawn: the height of the leaves. */
const treeFloor = once(() => {
  const heights = found.tree.joins.map((join) => join.lam).filter((lam) => lam > 0);
  return Math.min(...heights) / 1.5;
});

function treeTraces(current) {
  const { ink, muted } = theme();
  const strokes = new Map();
  const stroke = (cluster, joined, step, xs, ys) => {
    const key = `${cluster} ${joined}`;
    if (!strokes.has(key)) strokes.set(key, { cluster, joined, x: [], y: [], customdata: [] });
    const trace = strokes.get(key);
    trace.x.push(...xs, null);
    trace.y.push(...ys, null);
    trace.customdata.push(step, step, step);
  };
  const floor = treeFloor();
  for (const { left, right, lam, step, clusters } of found.tree.joins) {
    const top = Math.max(lam, floor);
    const one = clusters[0] === clusters[1] ? clusters[0] : -1;
    const joined = step <= current;
    stroke(clusters[0], joined, step, [left[0], left[0]], [Math.max(left[1], floor), top]);
    stroke(one, joined, step, [left[0], right[0]], [top, top]);
    stroke(clusters[1], joined, step, [right[0], right[0]], [top, Math.max(right[1], floor)]);
  }
  const traces = [...strokes.values()].map(({ cluster, joined, ...data }) => ({
    type: "scatter", mode: "lines", ...data, opacity: joined ? 1 : 0.45,
    line: { color: cluster < 0 ? ink : colourOf(cluster), width: joined ? 3 : 1.2, dash: joined ? "solid" : "dot" },
    hovertemplate: "lam %{y:.3~g}<extra></extra>",
  }));
  const leaves = found.tree.sizes.map((_, x) => x);
  traces.push({
    type: "scatter", mode: "markers", x: leaves, y: leaves.map(() => floor), cliponaxis: false,
    marker: { size: 8, color: found.tree.clusters.map((c) => (c < 0 ? muted : colourOf(c))), symbol: found.tree.clusters.map((c) => symbolOf(Math.max(c, 0))) },
    text: found.tree.sizes.map((size, x) => `${size.toLocaleString("en-GB")} ${size === 1 ? "row" : "rows"}, ${found.tree.clusters[x] < 0 ? "outliers" : `cluster ${found.tree.clusters[x]}`}`),
    hovertemplate: "%{text}<extra></extra>",
  });
  return traces;
}

function treeLayout() {
  const leaves = found.tree.sizes.map((_, x) => x);
  return layoutOf({
    xaxis: { tickvals: leaves, ticktext: found.tree.sizes.map((size) => size.toLocaleString("en-GB")), showgrid: false, zeroline: false, tickangle: leaves.length > 12 ? -60 : 0 },
    yaxis: { title: { text: "lam" }, zeroline: false, ...logTicks(treeFloor(), Math.max(...found.tree.joins.map((join) => join.lam))) },
    margin: { l: 85, r: 10, t: 10, b: 50 },
    hovermode: "closest",
  });
}

/** Show a tooltip for the cells of a heat map; `words` gives its text for a line and a column. */
function addCellTooltips(picture, words) {
  picture.on("plotly_hover", ({ points: [{ pointIndex, curveNumber }], event }) => {
    if (curveNumber === 0) showTooltip(event, words(...pointIndex));
  });
  picture.on("plotly_unhover", hideTooltip);
}

function startProfile() {
  const picture = document.getElementById("profile-picture");
  if (!picture) return;
  const { features, deviations, centers: known, telling } = found.profile;
  const rows = features.map((_, j) => j);
  const shortened = features.map((name) => shorten(name));
  const tall = Math.max(220, 130 + 20 * features.length);
  picture.style.height = `${tall}px`;
  const cell = (j, k) => (deviations[k][j] === null
    ? `cluster ${k}, ${features[j]}: no observed value`
    : `cluster ${k}, ${features[j]}: ${readable(known[k][j])} (${readable(deviations[k][j])} standard deviations from the mean)`);
  const empty = rows.flatMap((j) => deviations.flatMap((line, k) => (line[j] === null ? [[k, j]] : [])));
  drawn(() => {
    const { low, middle, high, muted, accent } = theme();
    const limit = Math.max(0.5, ...deviations.flat().map((value) => Math.min(3, Math.abs(value ?? 0))));
    return plot(picture, [
      {
        type: "heatmap", x: deviations.map((_, k) => k), y: rows, z: rows.map((j) => deviations.map((line) => line[j])),
        hoverinfo: "none", hoverongaps: true, xgap: 1, ygap: 1,
        zmin: -limit, zmax: limit, colorscale: [[0, low], [0.5, middle], [1, high]],
        colorbar: { orientation: "h", thickness: 10, len: 0.6, x: 0.3, y: 1, yanchor: "bottom", title: { text: "standard deviations from the mean", side: "top" } },
      },
      { type: "scatter", mode: "markers", x: empty.map(([k]) => k), y: empty.map(([, j]) => j), hoverinfo: "skip", marker: { symbol: "x-thin", size: 8, line: { width: 1.2, color: muted } } },
      { type: "bar", orientation: "h", x: telling, y: rows, xaxis: "x2", marker: { color: accent }, hovertemplate: "%{x:.0%} of the variance is between clusters<extra></extra>" },
    ], layoutOf({
      height: tall,
      xaxis: { domain: [0, 0.62], tickvals: deviations.map((_, k) => k), ticktext: deviations.map((_, k) => String(k)), title: { text: "cluster", standoff: 8 }, showgrid: false, zeroline: false },
      xaxis2: { domain: [0.66, 1], range: [0, 1], tickformat: ".0%", title: { text: "variance between clusters", standoff: 8 }, zeroline: false },
      yaxis: { tickvals: rows, ticktext: shortened.map(plain), autorange: "reversed", showgrid: false, zeroline: false },
      margin: { l: 20 + roomFor(shortened), r: 15, t: 75, b: 50 },
      bargap: 0.35,
    }));
  });
  addCellTooltips(picture, cell);
}

function startMissing() {
  const picture = document.getElementById("missing-picture");
  if (!picture) return;
  const { bands, cluster, rows, columns } = found.missing;
  const [height, width] = bands.shape;
  const flat = unpack(bands);
  const z = Array.from({ length: height }, (_, b) => flat.subarray(b * width, (b + 1) * width));
  const edges = [];  // first and last position of each cluster among the sorted rows
  cluster.forEach((label, b) => {
    if (!b || label !== cluster[b - 1]) edges.push({ label, from: rows[b], to: rows[b + 1] });
    else edges[edges.length - 1].to = rows[b + 1];
  });
  const roomy = edges.filter(({ from, to }) => (to - from) / rows[height] > 0.03);
  drawn(() => {
    const { observed, missing, ink, line } = theme();
    const few = width <= MOST_TICKS;
    const names = few ? columns.map((name) => shorten(name)) : [];
    const slanted = roomFor(names);  // at 50 degrees, 0.77 of the length is vertical
    return plot(picture, [{
      type: "heatmap", x: [...columns.keys()], y: rows, z, zmin: 0, zmax: 1, colorscale: [[0, missing], [1, observed]],
      hoverinfo: "none", xgap: few ? 1 : 0,
      colorbar: { thickness: 10, len: 0.5, tickformat: ".0%", title: { text: "observed", side: "right" }, outlinecolor: line },
    }], layoutOf({
      xaxis: { tickvals: few ? [...columns.keys()] : [], ticktext: names.map(plain), title: { text: few ? "" : "columns in the order of the table" }, showgrid: false, zeroline: false, tickangle: -50 },
      yaxis: { autorange: "reversed", tickvals: roomy.map(({ from, to }) => (from + to) / 2), ticktext: roomy.map(({ label }) => (label < 0 ? "outliers" : `cluster ${label}`)), showgrid: false, zeroline: false, ticklen: 14, tickcolor: "rgba(0,0,0,0)" },
      margin: { l: 110, r: 90, t: 15, b: few ? 35 + 0.77 * slanted : 50 },
      shapes: edges.flatMap(({ label, from, to }) => [
        { type: "rect", xref: "paper", x0: -0.012, x1: -0.004, y0: from, y1: to, line: { width: 0 }, fillcolor: colourOf(label) },
        { type: "line", xref: "paper", x0: 0, x1: 1, y0: to, y1: to, line: { color: ink, width: 1 } },
      ]),
    }));
  });
  addCellTooltips(picture, (b, j) => {
    const who = cluster[b] < 0 ? "outliers" : `cluster ${cluster[b]}`;
    return `${columns[j]}, ${who}: ${(100 * z[b][j]).toFixed(0)}% observed`;
  });
}

function startPromise() {
  const picture = document.getElementById("promise-picture");
  if (!picture) return;
  drawn(() => {
    const { accent } = theme();
    return plot(picture, [{
      type: "scatter", mode: "lines+markers", x: found.curve.map(([fraction]) => fraction), y: found.curve.map(([, chance]) => chance),
      line: { color: accent, width: 2 }, marker: { size: 6 }, hovertemplate: "%{x:.0%} observed: at least %{y:.1%}<extra></extra>",
    }], layoutOf({
      xaxis: { title: { text: "values observed" }, tickformat: ".0%", range: [0, 1.03], zeroline: false },
      yaxis: { title: { text: "probability of recovery, at least" }, tickformat: ".0%", range: [-0.04, 1.04], zeroline: false },
    }));
  });
}
