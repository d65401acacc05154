// The chart of the path: the number of groups and the criterion at each step.

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
