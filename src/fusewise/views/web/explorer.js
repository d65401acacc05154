// The path explorer: a slider over the steps, an animation of the fusing rows, the criterion and the tree of groups.

const PULL = 0.86;             // rows stop slightly short of their centre, so that the rows of a group remain visible
const MOST_TRAILS = 3000;
const MOST_RINGS = 60;
const GLIDE = 450;             // milliseconds of the animation between two steps
const PAUSE = 900;

const steps = found.trail.steps;
// The rows of the path, numbered 0 .. M-1: their indices in the page, and their own places.
const pathRows = once(() => (found.trail.rows ? unpack(found.trail.rows) : Int32Array.from({ length: N }, (_, i) => i)));
const own = once(() => Float32Array.from({ length: 2 * pathRows().length }, (_, i) => maps[0][i % 2 ? "y" : "x"][pathRows()[i >> 1]]));

/** Group of each row at a step; -1 for a single row. */
const groupsAt = steps.map((step) => once(() => (step.labels ? unpack(step.labels) : new Int8Array(pathRows().length).fill(-1))));

/** Coordinates of the rows at a step. */
function placesAt(k) {
  const step = steps[k];
  const places = own().slice();
  if (!step.labels) return places;
  const centers = unpack(step.centers ?? step.places);
  const groups = groupsAt[k]();
  for (let i = 0; i < groups.length; i++) {
    const from = step.centers ? groups[i] : i;
    if (from < 0) continue;
    for (const d of [0, 1]) places[2 * i + d] += PULL * (centers[2 * from + d] - places[2 * i + d]);
  }
  return places;
}

/** Size and mean coordinates of each group at a step. */
function groupsIn(k, places) {
  const groups = groupsAt[k]();
  const sums = Array.from({ length: steps[k].clusters }, () => ({ n: 0, x: 0, y: 0 }));
  for (let i = 0; i < groups.length; i++) {
    const group = sums[groups[i]];
    if (group) { group.n++; group.x += places[2 * i]; group.y += places[2 * i + 1]; }
  }
  return sums.filter(({ n }) => n).map(({ n, x, y }) => ({ n, x: x / n, y: y / n }));
}

function wordsAt(k) {
  const { groups, clusters, lam, criterion } = steps[k];
  const alone = groups - clusters;
  const parts = [clusters ? counted(clusters, "group") : "all rows are single"];
  if (clusters && alone) parts.push(counted(alone, "single row"));
  if (lam !== null) parts.push(`lam ${readable(lam)}`);
  if (criterion !== null) parts.push(`criterion ${readable(criterion)}`);
  if (k === found.trail.chosen) parts.push("this is the chosen step");
  return `Step ${k + 1} of ${steps.length}: ${parts.join(", ")}.`;
}

/** The rows on their way to the centres of their groups. */
class FusingRows {
  constructor() {
    this.at = found.trail.chosen;
    this.places = placesAt(this.at);
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.picture = new Picture("path-picture", (surface) => this.paint(surface), { height: mapHeight, canvas: true, file: "path" });
  }

  paint(surface) {
    const { ink, paper, unit } = theme();
    const box = { left: 4, top: 4, right: surface.width - 4, bottom: surface.height - 4 };
    const frame = mapView.frame, shown = mapView.map;
    Object.assign(mapView, { frame: null, map: maps[0] });
    const at = mapScale(box);
    Object.assign(mapView, { frame, map: shown });
    const { places } = this, M = pathRows().length;
    const few = Math.min(1, Math.sqrt(300 / M));
    const rows = new Map();
    for (let i = 0; i < M; i++) {
      const cluster = labelOf(pathRows()[i]);
      if (!rows.has(cluster)) rows.set(cluster, []);
      rows.get(cluster).push(i);
    }
    surface.clipped(0, 0, surface.width, surface.height, () => {
      const stride = Math.ceil(M / MOST_TRAILS);
      for (const [cluster, members] of rows) {
        const ends = members.filter((_, j) => j % stride === 0).flatMap((i) => [at.x(own()[2 * i]), at.y(own()[2 * i + 1]), at.x(places[2 * i]), at.y(places[2 * i + 1])]);
        surface.segments(ends, { stroke: colourOf(cluster), width: 0.7, opacity: 0.1 + 0.25 * few });
      }
      for (const [cluster, members] of rows) {
        const look = { fill: colourOf(cluster), opacity: 0.5 + 0.4 * few };
        surface.markers(outlineOf(cluster), members.map((i) => at.x(places[2 * i])), members.map((i) => at.y(places[2 * i + 1])), (1.3 + 2 * few) * unit, look);
      }
      if (steps[this.at].clusters <= MOST_RINGS) {
        for (const { n, x, y } of groupsIn(this.at, places)) {
          const r = (10 + 22 * Math.sqrt(n / M)) * unit;
          const ring = `M${at.x(x) + r} ${at.y(y)}a${r} ${r} 0 1 1 ${-2 * r} 0a${r} ${r} 0 1 1 ${2 * r} 0`;
          surface.path(ring, { stroke: paper, width: 4 });
          surface.path(ring, { stroke: ink, width: 1.6 });
        }
      }
    });
    surface.area(0, 0, surface.width, surface.height, { tip: (px, py) => {
      let best = -1, least = NEAR ** 2;
      for (let i = 0; i < M; i++) {
        const square = (at.x(places[2 * i]) - px) ** 2 + (at.y(places[2 * i + 1]) - py) ** 2;
        if (square < least) [best, least] = [i, square];
      }
      return best < 0 ? null : rowTip(pathRows()[best]);
    } });
  }

  go(k, milliseconds) {
    this.at = k;
    cancelAnimationFrame(this.frame);
    const from = this.places, goal = placesAt(k), began = performance.now();
    const move = (now) => {
      const t = this.still.matches || !milliseconds ? 1 : Math.min(1, Math.max(0, now - began) / milliseconds);
      const eased = t * t * (3 - 2 * t);
      this.places = t === 1 ? goal : from.map((value, i) => value + eased * (goal[i] - value));
      this.picture.draw();
      if (t < 1) this.frame = requestAnimationFrame(move);
      else this.picture.host.dataset.step = k;
    };
    this.frame = requestAnimationFrame(move);
  }
}

function startExplorer() {
  const slider = document.getElementById("path-slider");
  if (!slider) return;
  const play = document.getElementById("path-play");
  const rows = new FusingRows();
  const marks = startSteps((k) => { stop(); go(k); });
  let timer = 0;

  function go(k, milliseconds = GLIDE) {
    const at = Math.max(0, Math.min(steps.length - 1, k));
    slider.value = at;
    slider.setAttribute("aria-valuetext", `Step ${at + 1} of ${steps.length}`);  // the description below is also read out
    document.getElementById("path-words").textContent = wordsAt(at);
    rows.picture.host.setAttribute("aria-label", `Rows moving towards the centres of their groups. ${wordsAt(at)}`);
    rows.go(at, milliseconds);
    marks(at);
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
    play.setAttribute("aria-pressed", "false");
  }

  function start() {
    go(rows.at === steps.length - 1 ? 0 : rows.at);
    play.textContent = "Pause";
    play.setAttribute("aria-pressed", "true");
    timer = setInterval(() => (rows.at < steps.length - 1 ? go(rows.at + 1) : stop()), PAUSE);
  }

  slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
  play.addEventListener("click", () => (timer ? stop() : start()));
  document.getElementById("path-chosen").addEventListener("click", () => { stop(); go(found.trail.chosen); });
  go(found.trail.chosen, 0);
}
