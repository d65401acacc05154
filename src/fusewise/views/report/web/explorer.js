// The path explorer: a slider over the steps, an animation of the fusing rows, the criterion and the merge tree.

const PULL = 0.86;             // rows stop slightly short of their centre, so that the rows of a group remain visible
const MOST_TRAILS = 3000;
const MOST_RINGS = 60;
const GLIDE = 450;             // milliseconds of the animation between two steps
const PAUSE = 900;

const steps = found.trail.steps;
// The rows of the path, numbered 0 .. M-1: their indices in the map, their clusters and their own places.
const pathRows = found.trail.rows ? unpack(found.trail.rows) : labels.map((_, i) => i);
const M = pathRows.length;
const clusterOf = pathRows.map((row) => labels[row]);
const own = once(() => {
  const places = new Float32Array(2 * M);
  pathRows.forEach((row, i) => { places[2 * i] = X[row]; places[2 * i + 1] = Y[row]; });
  return places;
});

/** Group of each row at a step; -1 for a single row. */
const groupsAt = steps.map((step) => once(() => (step.labels ? unpack(step.labels) : new Int8Array(M).fill(-1))));

/** Coordinates of the rows at a step. */
function placesAt(k) {
  const step = steps[k];
  const places = own().slice();
  if (!step.labels) return places;
  const centers = unpack(step.centers ?? step.places);
  const groups = groupsAt[k]();
  for (let i = 0; i < M; i++) {
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
  for (let i = 0; i < M; i++) {
    const group = sums[groups[i]];
    if (group) { group.n++; group.x += places[2 * i]; group.y += places[2 * i + 1]; }
  }
  return sums.filter(({ n }) => n).map(({ n, x, y }) => ({ n, x: x / n, y: y / n }));
}

/** A small picture of a cluster's marker, copied for each row. */
function stamp(cluster, size, ratio) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.ceil((size + 2) * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.translate((size + 2) / 2, (size + 2) / 2);
  pen.fillStyle = pen.strokeStyle = colourOf(cluster);
  const r = size / 2;
  const corners = {
    square: [[-1, -1], [1, -1], [1, 1], [-1, 1]], diamond: [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
    "triangle-up": [[0, -1.1], [1.1, 0.9], [-1.1, 0.9]], "triangle-down": [[0, 1.1], [1.1, -0.9], [-1.1, -0.9]],
  }[symbolOf(Math.max(cluster, 0))];
  pen.beginPath();
  if (cluster < 0 || (!corners && symbolOf(cluster) !== "circle")) {
    const slant = cluster < 0 || symbolOf(cluster) === "x";
    pen.lineWidth = cluster < 0 ? 1.2 : r * 0.8;
    for (const [a, b] of slant ? [[1, 1], [1, -1]] : [[1, 0], [0, 1]]) { pen.moveTo(-a * r, -b * r); pen.lineTo(a * r, b * r); }
    pen.stroke();
  } else {
    if (corners) corners.forEach(([x, y], i) => (i ? pen.lineTo(x * r * 0.9, y * r * 0.9) : pen.moveTo(x * r * 0.9, y * r * 0.9)));
    else pen.arc(0, 0, r, 0, 7);
    pen.fill();
  }
  return canvas;
}

function startExplorer() {
  const slider = document.getElementById("path-slider");
  if (!slider) return;
  const canvas = document.getElementById("path-picture");
  const play = document.getElementById("path-play");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let at = found.trail.chosen;
  let places = placesAt(at);
  let glide = 0, timer = 0, toScreen = (x, y) => [x, y];

  function paint() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const [[left, right], [low, high]] = found.map.frame;
    const zoom = Math.min(width / (right - left), height / (high - low));
    const cx = (left + right) / 2, cy = (low + high) / 2;
    toScreen = (x, y) => [width / 2 + (x - cx) * zoom, height / 2 - (y - cy) * zoom];
    const colours = theme();
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, width, height);
    paintTrails(pen);
    paintRows(pen, ratio);
    paintRings(pen, colours);
  }

  function paintTrails(pen) {
    const stride = Math.ceil(M / MOST_TRAILS);
    pen.lineWidth = 0.7;
    pen.globalAlpha = 0.1 + 0.25 * Math.min(1, Math.sqrt(300 / M));
    for (let cluster = -1; cluster < K; cluster++) {
      pen.strokeStyle = colourOf(cluster);
      pen.beginPath();
      for (let i = 0; i < M; i += stride) {
        if (clusterOf[i] !== cluster) continue;
        pen.moveTo(...toScreen(own()[2 * i], own()[2 * i + 1]));
        pen.lineTo(...toScreen(places[2 * i], places[2 * i + 1]));
      }
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  function paintRows(pen, ratio) {
    const size = 2.6 + 4 * Math.min(1, Math.sqrt(300 / M));
    const stamps = Array.from({ length: K + 1 }, (_, c) => stamp(c - 1, size, ratio));
    const half = (size + 2) / 2;
    pen.globalAlpha = 0.5 + 0.4 * Math.min(1, Math.sqrt(300 / M));
    for (let i = 0; i < M; i++) {
      const [x, y] = toScreen(places[2 * i], places[2 * i + 1]);
      pen.drawImage(stamps[clusterOf[i] + 1], x - half, y - half, size + 2, size + 2);
    }
    pen.globalAlpha = 1;
  }

  function paintRings(pen, { ink, paper }) {
    if (steps[at].clusters > MOST_RINGS) return;
    pen.font = "600 12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const { n, x, y } of groupsIn(at, places)) {
      const [px, py] = toScreen(x, y);
      pen.beginPath();
      pen.arc(px, py, 10 + 22 * Math.sqrt(n / M), 0, 7);
      pen.lineWidth = 4;
      pen.strokeStyle = paper;
      pen.stroke();
      pen.lineWidth = 1.6;
      pen.strokeStyle = ink;
      pen.stroke();
    }
  }

  function glideTo(goal, milliseconds) {
    cancelAnimationFrame(glide);
    const from = places, began = performance.now();
    const move = (now) => {
      const t = still.matches || !milliseconds ? 1 : Math.min(1, Math.max(0, now - began) / milliseconds);
      const eased = t * t * (3 - 2 * t);
      places = t === 1 ? goal : from.map((value, i) => value + eased * (goal[i] - value));
      paint();
      if (t < 1) glide = requestAnimationFrame(move);
      else canvas.dataset.step = at;
    };
    glide = requestAnimationFrame(move);
  }

  function wordsAt(k) {
    const { groups, clusters, lam, criterion } = steps[k];
    const alone = groups - clusters;
    const parts = [clusters ? `${clusters.toLocaleString("en-GB")} ${clusters === 1 ? "group" : "groups"}` : "all rows are single"];
    if (clusters && alone) parts.push(`${alone.toLocaleString("en-GB")} single ${alone === 1 ? "row" : "rows"}`);
    if (lam !== null) parts.push(`lam ${readable(lam)}`);
    if (criterion !== null) parts.push(`criterion ${readable(criterion)}`);
    if (k === found.trail.chosen) parts.push("this is the chosen step");
    return `Step ${k + 1} of ${steps.length}: ${parts.join(", ")}.`;
  }

  function go(k, milliseconds = GLIDE) {
    at = Math.max(0, Math.min(steps.length - 1, k));
    slider.value = at;
    const words = wordsAt(at);
    slider.setAttribute("aria-valuetext", `Step ${at + 1} of ${steps.length}`);  // the description below is also read out
    document.getElementById("path-words").textContent = words;
    canvas.setAttribute("aria-label", `Rows moving towards the centres of their groups. ${words}`);
    glideTo(placesAt(at), milliseconds);
    markStep(at);
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
    play.setAttribute("aria-pressed", "false");
  }

  function start() {
    go(at === steps.length - 1 ? 0 : at);
    play.textContent = "Pause";
    play.setAttribute("aria-pressed", "true");
    timer = setInterval(() => (at < steps.length - 1 ? go(at + 1) : stop()), PAUSE);
  }

  function nearest(event) {
    const box = canvas.getBoundingClientRect();
    let best = -1, least = 12 ** 2;
    for (let i = 0; i < M; i++) {
      const [x, y] = toScreen(places[2 * i], places[2 * i + 1]);
      const square = (x - event.clientX + box.left) ** 2 + (y - event.clientY + box.top) ** 2;
      if (square < least) [best, least] = [i, square];
    }
    return best;
  }

  slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
  play.addEventListener("click", () => (timer ? stop() : start()));
  document.getElementById("path-chosen").addEventListener("click", () => { stop(); go(found.trail.chosen); });
  canvas.addEventListener("pointermove", (event) => {
    const row = nearest(event);
    if (row < 0) hideTooltip(); else pointAtRow(pathRows[row], event);
  });
  canvas.addEventListener("pointerleave", hideTooltip);
  new ResizeObserver(paint).observe(canvas);
  startSteps((k) => { stop(); go(k); });
  drawn(paint);
  go(at, 0);
}
