// The charts of profiles, missing values and the recovery guarantee.

/** A legend of a heat map: its colours from one end to the other, with words below. */
function paintScale(surface, x, y, width, colour, words, title) {
  const { muted, unit } = theme();
  const parts = 48;
  surface.text(x, y, title, { fill: muted, size: 11.5 });
  surface.cells(x, y + 10 * unit, width, 9 * unit, 1, parts, (_, j) => colour(j / (parts - 1)));
  words.forEach((word, i) => surface.text(x + (width * i) / (words.length - 1), y + 29 * unit, word, { fill: muted, size: 11, anchor: i === 0 ? "start" : i === words.length - 1 ? "end" : "middle" }));
}

/** Names on the left, shortened where the picture is narrow. */
function fitted(texts, width, size) {
  const most = width < 520 ? 16 : 30;
  return texts.map((text) => shortenFeature(text, most)).map((text) => ({ text, wide: widthOf(text, size) }));
}

function startProfile() {
  if (!document.getElementById("profile-picture")) return;
  const line = () => 21 * theme().unit;
  const height = () => (100 * theme().unit) + line() * state.partition.profile.features.length;
  new Picture("profile-picture", paintProfile, { height, file: "profiles" });
}

function paintProfile(surface) {
  const { muted, accent, unit, line } = theme();
  const { features, effects, means, telling } = state.partition.profile;
  const labels = fitted(features, surface.width, 12);
  const left = 10 + Math.max(...labels.map(({ wide }) => wide));
  const [top, bottom] = [62 * unit, surface.height - 38 * unit];
  const room = surface.width - left - 10;
  const x = bandScale(effects.length, [left, left + Math.min(0.62 * room, effects.length * 90 * unit)]);
  const right = x.at(effects.length);
  const y = bandScale(features.length, [top, bottom]);
  paintScale(surface, left, 9 * unit, Math.min(200 * unit, surface.width - left - 8), (t) => diverging(2 * t - 1), ["−1", "0", "1"], "lower or higher than elsewhere");
  surface.cells(left, top, right - left, bottom - top, features.length, effects.length, (j, k) => diverging(effects[k][j] ?? 0), 1);
  labels.forEach(({ text }, j) => surface.text(left - 7, y.middle(j), text, { anchor: "end", size: 12, name: "feature" }));
  effects.forEach((values, k) => {
    const some = Math.ceil(widthOf("00", 12) / x.size);
    if (k % some === 0) surface.text(x.middle(k), bottom + 11 * unit, String(k), { anchor: "middle", fill: muted, size: 12 });
    values.forEach((value, j) => { if (value === null) surface.markers(OUTLINES.outlier, [x.middle(k)], [y.middle(j)], 4 * unit, { fill: muted }); });
  });
  surface.text(left, bottom + 27 * unit, "cluster", { fill: muted, size: 11.5 });
  const from = right + 14 * unit;
  const bars = linearScale([0, 1], [from, surface.width - 22 * unit], { count: Math.max(1, Math.min(4, (surface.width - 22 * unit - from) / (44 * unit))), format: (value) => percent(value) });
  for (const { at, text } of bars.ticks) {
    surface.segments([at, top, at, bottom + 3], { stroke: line });
    surface.text(at, bottom + 11 * unit, text, { anchor: "middle", fill: muted, size: 11 });
  }
  telling.forEach((share, j) => surface.rect(from, y.middle(j) - 5 * unit, bars.at(share) - from, 10 * unit, { fill: accent }));
  surface.text(surface.width - 4, bottom + 27 * unit, "variance between clusters", { anchor: "end", fill: muted, size: 11.5 });
  surface.area(left, top, surface.width - left, bottom - top, { tip: (px, py) => {
    const [k, j] = [x.back(px), y.back(py)];
    if (j < 0 || j >= features.length) return null;
    if (k >= effects.length) return `${features[j]}: ${percent(telling[j])} of the variance is between clusters`;
    return effects[k][j] === null ? `cluster ${k}, ${features[j]}: too few observed values`
      : `cluster ${k}, ${features[j]}: ${means[k][j] === null ? "" : `mean ${readable(means[k][j])}, `}effect size ${signed(effects[k][j])}`;
  } });
}

function startMissing() {
  if (!document.getElementById("missing-picture")) return;
  new Picture("missing-picture", paintMissing, { height: (width) => Math.min(620, Math.max(380, width * 0.5)) * theme().unit, file: "missing-values" });
}

function paintMissing(surface) {
  const { observed, missing, ink, muted, unit } = theme();
  const { bands, cluster, rows, columns: titles } = state.partition.missing;
  const [height, width] = bands.shape;
  const shares = (bands.flat ??= unpack(bands));
  const left = 16 + widthOf("cluster 00", 11.5);
  const slot = (surface.width - left - 8) / width;
  // Names lean to the left by 52 degrees, and must not leave the picture.
  const texts = fitted(titles, surface.width, 11.5).map(({ text }, j) => cutTo(text, (left + (j + 0.3) * slot) / Math.cos((52 * Math.PI) / 180), 11.5)).map((text) => ({ text, wide: widthOf(text, 11.5) }));
  const some = Math.ceil((15 * unit) / slot), few = some < 4;  // names need room: every one, or one in two or three
  const bottom = surface.height - (few ? 20 * unit + 0.8 * Math.max(...texts.map(({ wide }) => wide)) : 26 * unit);
  const top = 46 * unit, right = surface.width - 8 - (few ? 0.3 * 60 * unit : 0);
  const x = bandScale(width, [left, right]);
  const y = linearScale([0, rows[height]], [top, bottom]);
  paintScale(surface, left, 9 * unit, Math.min(160 * unit, right - left), (t) => mixed(missing, observed, t), ["0%", "50%", "100%"], "observed");
  surface.cells(left, top, right - left, bottom - top, ...evenly(rows, height, width, shares, (share) => mixed(missing, observed, share / 255)));
  let last = -Infinity;
  for (const { label, from, to } of runsOf(cluster, rows)) {
    surface.rect(left - 9, y.at(from), 6, y.at(to) - y.at(from), { fill: colourOf(label) });
    surface.segments([left, y.at(to), right, y.at(to)], { stroke: ink, width: 0.8 });
    const middle = (y.at(from) + y.at(to)) / 2;
    if (middle - last < 14 * unit) continue;
    last = middle;
    surface.text(left - 14, middle, label < 0 ? "outliers" : clusterName(label), { anchor: "end", size: 11.5 });
  }
  if (few) texts.forEach(({ text }, j) => j % some === 0 && surface.text(x.middle(j) + 4, bottom + 8 * unit, text, { turn: -52, anchor: "end", size: 11.5, name: "column" }));
  else surface.text(right, bottom + 13 * unit, "columns in the order of the table", { anchor: "end", fill: muted });
  surface.area(left, top, right - left, bottom - top, { tip: (px, py) => {
    const [at, j] = [y.back(py), x.back(px)];
    const b = rows.findIndex((_, i) => at < rows[i + 1]);
    if (b < 0 || j < 0 || j >= width) return null;
    return `${titles[j]}, ${cluster[b] < 0 ? "outliers" : clusterName(cluster[b])}: ${percent(shares[b * width + j] / 255)} observed`;
  } });
}

/** First and last position of each cluster among the sorted rows. */
function runsOf(cluster, rows) {
  const runs = [];
  cluster.forEach((label, b) => {
    if (!b || label !== cluster[b - 1]) runs.push({ label, from: rows[b], to: rows[b + 1] });
    else runs[runs.length - 1].to = rows[b + 1];
  });
  return runs;
}

/** Bands of unequal height as cells of equal height. */
function evenly(rows, height, width, shares, colour) {
  const lines = Math.min(rows[height], 500);
  const bandOf = [];
  for (let i = 0, b = 0; i < lines; i++) {
    while (rows[b + 1] <= ((i + 0.5) / lines) * rows[height]) b++;
    bandOf.push(b);
  }
  const known = new Map();
  const shade = (share) => known.get(share) ?? known.set(share, colour(share)).get(share);
  return [lines, width, (i, j) => shade(shares[bandOf[i] * width + j])];
}

function startGuarantee() {
  if (!document.getElementById("guarantee-picture")) return;
  new Picture("guarantee-picture", paintGuarantee, { height: () => 280 * theme().unit, file: "guarantee" });
}

function paintGuarantee(surface) {
  const { accent, unit } = theme();
  const format = (value) => percent(value);
  const [top, right, bottom] = [30 * unit, surface.width - 22 * unit, surface.height - 44 * unit];
  const y = linearScale([0, 1], [bottom, top], { format }), left = roomFor(y);
  const x = linearScale([0, 1], [left, right], { format, count: surface.width < 420 ? 4 : 5 });
  paintAxes(surface, { left, top, right, bottom }, { x, y, xTitle: "values observed", yTitle: "probability of recovery, at least" });
  const points = found.curve.map(([fraction, chance]) => [x.at(fraction), y.at(chance)]);
  surface.line(points, { stroke: accent, width: 2 });
  surface.markers(OUTLINES.circle, points.map(([px]) => px), points.map(([, py]) => py), 3 * unit, { fill: accent });
  points.forEach(([px, py], i) => surface.area(px - 8, py - 12, 16, 24, { tip: () => `${percent(found.curve[i][0])} observed: at least ${percent(found.curve[i][1], 1)}` }));
}
