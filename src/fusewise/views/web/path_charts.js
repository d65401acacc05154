// The charts of the path: the number of groups and the criterion at each step, and the tree of the groups.

function paintCriterion(surface, current, go) {
  const { accent, ink, muted, unit } = theme();
  const known = steps.map((step) => step.criterion).filter((value) => value !== null);
  const half = surface.height / 2, end = surface.height - 44 * unit, right = surface.width - 6;
  const middle = known.length ? half - 18 * unit : end;
  const groups = logScale([1, Math.max(2, ...steps.map((step) => step.groups))], [middle, 32 * unit], { count: 5 });
  const charts = [{ key: "groups", colour: ink, top: 32 * unit, bottom: middle, y: groups }];
  if (known.length) {
    const [least, best] = [Math.min(...known), Math.max(...known)], room = 0.06 * (best - least || 1);
    const y = linearScale([least - room, best + room], [end, half + 32 * unit], { count: 4 });
    charts.push({ key: "criterion", colour: accent, top: half + 32 * unit, bottom: end, y });
  }
  const left = Math.max(...charts.map(({ y }) => roomFor(y)));
  const x = bandScale(steps.length, [left, right]);
  const whole = roundTicks(1, steps.length, Math.min(10, surface.width / 60)).filter((k) => Number.isInteger(k) && k >= 1);
  const below = { x: { ticks: whole.map((k) => ({ at: x.middle(k - 1), text: String(k) })) }, xTitle: "step (star: chosen)" };
  surface.segments([x.middle(current), 20 * unit, x.middle(current), end], { stroke: muted, width: 1.5, dash: "3 3", name: "cursor" });
  charts.forEach(({ key, colour, top, bottom, y }, which) => {
    paintAxes(surface, { left, top, right, bottom }, { y, yTitle: key, ...(which === charts.length - 1 ? below : {}) });
    const points = steps.flatMap((step, k) => (step[key] === null ? [] : [[x.middle(k), y.at(step[key])]]));
    surface.line(points, { stroke: colour, width: 1.6 });
    surface.markers(OUTLINES.circle, points.map(([px]) => px), points.map(([, py]) => py), 2.8 * unit, { fill: colour });
    if (steps[chosen][key] !== null) surface.markers(OUTLINES.star, [x.middle(chosen)], [y.at(steps[chosen][key])], 7 * unit, { fill: "#E69F00", stroke: ink, width: 1 });
  });
  const stepAt = (px) => Math.max(0, Math.min(steps.length - 1, x.back(px)));
  surface.area(left, 0, surface.width - left, surface.height, { tip: (px) => wordsAt(stepAt(px)), click: (px) => go(stepAt(px)) });
}

/** The groups of the finest partition that was compared, and at which lam they merge. */
function paintGroups(surface, current, go) {
  const { ink, muted, unit } = theme();
  const { joins, sizes, clusters } = found.trail.tree;
  const heights = joins.map((join) => join.lam).filter((lam) => lam > 0);
  const least = (heights.length ? Math.min(...heights) : 1) / 1.5;  // a single partition has no joins
  const texts = sizes.map((size) => size.toLocaleString("en-GB"));
  const turned = sizes.length > 12 || surface.width < 34 * sizes.length;
  const bottom = surface.height - (turned ? 20 + Math.max(...texts.map((text) => widthOf(text, 11))) : 28 * unit);
  const y = logScale([least, Math.max(...heights, 2 * least)], [bottom - 8 * unit, 24 * unit]);
  const high = (lam) => y.at(Math.max(lam, least));
  const left = roomFor(y), x = bandScale(sizes.length, [left, surface.width - 6]);
  paintAxes(surface, { left, top: 24 * unit, right: surface.width - 6, bottom: bottom - 8 * unit }, { y, yTitle: "lam" });
  for (const { left: a, right: b, lam, step, clusters: under } of joins) {
    const look = (cluster) => ({ stroke: cluster < 0 ? ink : colourOf(cluster), ...(step <= current ? { width: 3, name: "joined" } : { width: 1.2, dash: "2 3", opacity: 0.7, name: "apart" }) });
    [a, b].forEach(([place, from], i) => surface.segments([x.middle(place), high(from), x.middle(place), high(lam)], look(under[i])));
    surface.segments([x.middle(a[0]), high(lam), x.middle(b[0]), high(lam)], look(under[0] === under[1] ? under[0] : -1));
    surface.area(x.middle(a[0]) - 3, high(lam) - 5, x.middle(b[0]) - x.middle(a[0]) + 6, 10, { tip: () => `Merge at lam ${readable(lam)}: step ${step + 1}`, click: () => go(step) });
  }
  sizes.forEach((size, k) => {
    surface.markers(outlineOf(Math.max(clusters[k], 0)), [x.middle(k)], [bottom - 8 * unit], 4 * unit, { fill: clusters[k] < 0 ? muted : colourOf(clusters[k]) });
    surface.text(x.middle(k), bottom + (turned ? 2 : 10) * unit, texts[k], { fill: muted, size: 11, ...(turned ? { turn: -90, anchor: "end" } : { anchor: "middle" }) });
    surface.area(x.middle(k) - 8, bottom - 16, 16, 30, { tip: () => `${counted(size, "row")}, ${clusters[k] < 0 ? "outliers" : clusterName(clusters[k])}` });
  });
}
