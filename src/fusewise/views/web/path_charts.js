// The criterion and the number of groups at each step of the path, and the tree of the groups.

/** Draw the charts; `go` is called with a clicked step. Returns a function that marks a step. */
function startSteps(go) {
  let at = found.trail.chosen;
  const charts = [new Picture("path-criterion", (surface) => paintCriterion(surface, at, go), { height: () => 306 * theme().unit, file: "criterion" })];
  if (found.tree) charts.push(new Picture("path-tree", (surface) => paintGroups(surface, at, go), { height: () => 270 * theme().unit, file: "groups" }));
  return (k) => {
    at = k;
    for (const chart of charts) chart.draw();
  };
}

function paintCriterion(surface, current, go) {
  const { accent, ink, muted, unit, paper } = theme();
  const known = steps.map((step) => step.criterion).filter((value) => value !== null);
  const most = Math.max(...steps.map((step) => step.groups));
  const half = surface.height / 2;
  const levels = logScale([1, Math.max(most, 2)], [half - 18 * unit, 32 * unit], { count: 5 });
  const [least, best] = [Math.min(...known, Infinity), Math.max(...known, -Infinity)];
  const room = 0.06 * (best - least || 1);
  const values = known.length ? linearScale([least - room, best + room], [surface.height - 44 * unit, half + 32 * unit], { count: 4 }) : null;
  const left = roomFor([...levels.ticks, ...(values?.ticks ?? [])].map(({ text }) => text));
  const x = bandScale(steps.length, [left, surface.width - 6]);
  const ticks = roundTicks(1, steps.length, Math.min(10, surface.width / 60)).filter((k) => Number.isInteger(k) && k >= 1).map((k) => ({ at: x.middle(k - 1), text: String(k) }));
  const box = (top, bottom) => ({ left, top, right: surface.width - 6, bottom });
  paintAxes(surface, box(32 * unit, half - 18 * unit), { y: levels, yTitle: "groups" });
  if (values) paintAxes(surface, box(half + 32 * unit, surface.height - 44 * unit), { x: { ticks }, y: values, yTitle: "criterion", xTitle: "step (star: chosen)" });
  surface.segments([x.middle(current), 20 * unit, x.middle(current), surface.height - 44 * unit], { stroke: muted, width: 1.5, dash: "3 3", name: "cursor" });
  const curve = (heights, colour) => {
    const points = heights.map((height, k) => [x.middle(k), height]).filter(([, height]) => height !== null);
    surface.line(points, { stroke: colour, width: 1.6 });
    surface.markers(OUTLINES.circle, points.map(([px]) => px), points.map(([, py]) => py), 2.8 * unit, { fill: colour });
    const star = heights[found.trail.chosen];
    if (star !== null) surface.markers(OUTLINES.star, [x.middle(found.trail.chosen)], [star], 7 * unit, { fill: "#E69F00", stroke: ink, width: 1 });
  };
  curve(steps.map((step) => levels.at(step.groups)), ink);
  if (values) curve(steps.map((step) => (step.criterion === null ? null : values.at(step.criterion))), accent);
  surface.area(left, 0, surface.width - left, surface.height, {
    tip: (px) => wordsAt(Math.max(0, Math.min(steps.length - 1, x.back(px)))),
    click: (px) => go(Math.max(0, Math.min(steps.length - 1, x.back(px)))),
  });
}

/** The groups of the finest partition that was compared, and at which lam they merge. */
function paintGroups(surface, current, go) {
  const { ink, muted, unit } = theme();
  const { joins, sizes, clusters } = found.tree;
  const heights = joins.map((join) => join.lam).filter((lam) => lam > 0);
  const floor = (heights.length ? Math.min(...heights) : 1) / 1.5; // a single partition has no joins
  const texts = sizes.map((size) => size.toLocaleString("en-GB"));
  const turned = sizes.length > 12 || surface.width < 34 * sizes.length;
  const bottom = surface.height - (turned ? 20 + Math.max(...texts.map((text) => widthOf(text, 11))) : 28 * unit);
  const y = logScale([floor, Math.max(...heights, 2 * floor)], [bottom - 8 * unit, 24 * unit]);
  const left = roomFor(y.ticks.map(({ text }) => text));
  const x = bandScale(sizes.length, [left, surface.width - 6]);
  paintAxes(surface, { left, top: 24 * unit, right: surface.width - 6, bottom: bottom - 8 * unit }, { y, yTitle: "lam" });
  for (const { left: a, right: b, lam, step, clusters: under } of joins) {
    const joined = step <= current;
    const top = y.at(Math.max(lam, floor));
    const ends = ([place, from], cluster) => surface.segments([x.middle(place), y.at(Math.max(from, floor)), x.middle(place), top], look(cluster));
    const look = (cluster) => ({ stroke: cluster < 0 ? ink : colourOf(cluster), width: joined ? 3 : 1.2, dash: joined ? undefined : "2 3", opacity: joined ? 1 : 0.7, name: joined ? "joined" : "apart" });
    ends(a, under[0]);
    ends(b, under[1]);
    surface.segments([x.middle(a[0]), top, x.middle(b[0]), top], look(under[0] === under[1] ? under[0] : -1));
    const words = `Merge at lam ${readable(lam)}: step ${step + 1}`;
    surface.area(x.middle(a[0]) - 3, top - 5, x.middle(b[0]) - x.middle(a[0]) + 6, 10, { tip: () => words, click: () => go(step) });
  }
  sizes.forEach((size, k) => {
    surface.markers(outlineOf(Math.max(clusters[k], 0)), [x.middle(k)], [bottom - 8 * unit], 4 * unit, { fill: clusters[k] < 0 ? muted : colourOf(clusters[k]) });
    const place = turned ? { turn: -90, anchor: "end" } : { anchor: "middle" };
    surface.text(x.middle(k), bottom + (turned ? 2 : 10) * unit, texts[k], { fill: muted, size: 11, ...place });
    surface.area(x.middle(k) - 8, bottom - 16, 16, 30, { tip: () => `${counted(size, "row")}, ${clusters[k] < 0 ? "outliers" : clusterName(clusters[k])}` });
  });
}
