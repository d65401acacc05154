// The path: a slider over its steps, and rows that move towards the centres of their groups.

const PULL = 0.86;             // rows stop slightly short of their centre, so that the rows of a group remain visible
const MOST_TRAILS = 3000;
const MOST_RINGS = 60;
const GLIDE = 450, PAUSE = 900;  // milliseconds of the animation between two steps, and from one to the next

const { steps, chosen } = found.trail ?? { steps: [] };
// The rows of the path, numbered 0 .. M-1: their indices in the page, and their own places.
const pathRows = once(() => [...unpack(found.trail.rows)]);
const ownPlaces = once(() => Float32Array.from(pathRows().flatMap((row) => [maps[0].x[row], maps[0].y[row]])));
const groupsAt = steps.map((step) => once(() => unpack(step.labels)));  // -1: a single row

/** Size and mean place of each group at a step. */
function groupsIn(k, places) {
  const sums = Array.from({ length: steps[k].clusters }, () => ({ n: 0, x: 0, y: 0 }));
  groupsAt[k]().forEach((group, i) => {
    if (group >= 0) { sums[group].n++; sums[group].x += places[2 * i]; sums[group].y += places[2 * i + 1]; }
  });
  return sums.map(({ n, x, y }) => ({ n, x: x / n, y: y / n }));
}

/** Where the rows are at a step: near the mean of their group, or near their own centre if each row has one. */
function placesAt(k) {
  const own = ownPlaces(), each = steps[k].centers && unpack(steps[k].centers);
  const groups = groupsIn(k, own), inGroup = groupsAt[k]();
  const goal = (value, i) => {
    if (each) return each[i];
    const group = groups[inGroup[i >> 1]];
    return group ? (i % 2 ? group.y : group.x) : value;
  };
  return own.map((value, i) => value + PULL * (goal(value, i) - value));
}

function wordsAt(k) {
  const { groups, clusters, lam, criterion } = steps[k];
  const alone = groups - clusters;
  const parts = [clusters ? counted(clusters, "group") : "all rows are single"];
  if (clusters && alone) parts.push(counted(alone, "single row"));
  if (lam !== null) parts.push(`lam ${readable(lam)}`);
  if (criterion !== null) parts.push(`criterion ${readable(criterion)}`);
  if (k === chosen) parts.push("this is the chosen step");
  return `Step ${k + 1} of ${steps.length}: ${parts.join(", ")}.`;
}

/** Paint the rows at their places on the way to step k. */
function paintPath(surface, k, places) {
  const { ink, paper, unit } = theme();
  const at = mapScale({ left: 4, top: 4, right: surface.width - 4, bottom: surface.height - 4 }, maps[0].frame);
  const x = (i, from = places) => at.x(from[2 * i]), y = (i, from = places) => at.y(from[2 * i + 1]);
  const rows = pathRows(), M = rows.length, few = Math.min(1, Math.sqrt(300 / M)), stride = Math.ceil(M / MOST_TRAILS);
  const byCluster = new Map();
  rows.forEach((row, i) => {
    if (!byCluster.has(labelOf(row))) byCluster.set(labelOf(row), []);
    byCluster.get(labelOf(row)).push(i);
  });
  surface.clipped(0, 0, surface.width, surface.height, () => {
    for (const [cluster, members] of byCluster) {
      const ends = members.filter((_, j) => j % stride === 0).flatMap((i) => [x(i, ownPlaces()), y(i, ownPlaces()), x(i), y(i)]);
      surface.segments(ends, { stroke: colourOf(cluster), width: 0.7, opacity: 0.1 + 0.25 * few });
    }
    for (const [cluster, members] of byCluster) {
      const look = { fill: colourOf(cluster), opacity: 0.5 + 0.4 * few };
      surface.markers(outlineOf(cluster), members.map((i) => x(i)), members.map((i) => y(i)), (1.3 + 2 * few) * unit, look);
    }
    if (steps[k].clusters > MOST_RINGS) return;
    for (const group of groupsIn(k, places)) {
      const r = (10 + 22 * Math.sqrt(group.n / M)) * unit;
      const ring = `M${at.x(group.x) + r} ${at.y(group.y)}a${r} ${r} 0 1 1 ${-2 * r} 0a${r} ${r} 0 1 1 ${2 * r} 0`;
      for (const [stroke, width] of [[paper, 4], [ink, 1.6]]) surface.path(ring, { stroke, width });
    }
  });
  surface.area(0, 0, surface.width, surface.height, { tip: (px, py) => {
    const i = nearest(M, (j) => (x(j) - px) ** 2 + (y(j) - py) ** 2);
    return i < 0 ? null : rowTip(rows[i]);
  } });
}

function startPath() {
  const slider = document.getElementById("path-slider");
  if (!slider) return;
  const play = document.getElementById("path-play");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let at = chosen, places = placesAt(at), timer = 0, frame = 0;
  const rows = new Picture("path-picture", (surface) => paintPath(surface, at, places), { height: (width) => mapHeight(width, maps[0].frame), canvas: true, file: "path" });
  const chart = new Picture("path-criterion", (surface) => paintCriterion(surface, at, jump), { height: () => 400 * theme().unit, file: "criterion" });

  function go(k, milliseconds = still.matches ? 0 : GLIDE) {
    at = k;
    slider.value = k;
    slider.setAttribute("aria-valuetext", `Step ${k + 1} of ${steps.length}`);  // the description below is also read out
    document.getElementById("path-words").textContent = wordsAt(k);
    rows.host.setAttribute("aria-label", `Rows moving towards the centres of their groups. ${wordsAt(k)}`);
    chart.draw();
    const from = places, goal = placesAt(k), began = performance.now();
    const move = (now) => {
      const t = milliseconds ? Math.min(1, Math.max(0, (now - began) / milliseconds)) : 1;
      places = from.map((value, i) => value + t * t * (3 - 2 * t) * (goal[i] - value));
      rows.draw();
      if (t < 1) frame = requestAnimationFrame(move);
      else rows.host.dataset.step = k;
    };
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(move);
  }

  function playing(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => (at < steps.length - 1 ? go(at + 1) : playing(false)), PAUSE) : 0;
    play.textContent = on ? "Pause" : "Play";
    play.setAttribute("aria-pressed", String(on));
  }

  function jump(k) {
    playing(false);
    go(k);
  }

  slider.addEventListener("input", () => jump(Number(slider.value)));
  document.getElementById("path-chosen").addEventListener("click", () => jump(chosen));
  play.addEventListener("click", () => {
    if (!timer && at === steps.length - 1) go(0);
    playing(!timer);
  });
  go(chosen, 0);
}
