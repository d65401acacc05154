// The map: rows in a plane, connected to the centres of their clusters. Rows are selected by a box or a lasso.

const MOST_LINES = 1000;   // maximum number of lines to centres: more would be unreadable
const MOST_BADGES = 60;
const NEAR = 14;           // pixels from a row within which the pointer points at it
const maps = found.maps.map((map) => ({ ...map, x: unpack(map.x), y: unpack(map.y), own: map.endX && { x: unpack(map.endX), y: unpack(map.endY) } }));

const mapView = { map: maps[0], frame: null, gesture: null, marked: -1, at: null };

/** Where rows are on the screen: equal units along both axes, the frame in the middle of the box. */
function mapScale({ left, top, right, bottom }, frame = mapView.frame ?? mapView.map.frame) {
  const [[x0, x1], [y0, y1]] = frame;
  const zoom = Math.min((right - left) / (x1 - x0), (bottom - top) / (y1 - y0));
  const [cx, cy] = [(x0 + x1) / 2, (y0 + y1) / 2];
  const [px, py] = [(left + right) / 2, (top + bottom) / 2];
  return {
    x: (value) => px + (value - cx) * zoom, y: (value) => py - (value - cy) * zoom,
    backX: (pixel) => cx + (pixel - px) / zoom, backY: (pixel) => cy - (pixel - py) / zoom,
    zoom, box: { left, top, right, bottom },
  };
}

function mapBox(surface) {
  const { unit } = theme();
  const lines = isForPaper() ? legendLines(surface.width).length : 0;
  const top = 26 * unit + lines * 20 * unit;
  return { left: 40 * unit, top, right: surface.width - 6, bottom: surface.height - 44 * unit };
}

/** Height at which the frame fills the width, within limits. */
function mapHeight(width, [[x0, x1], [y0, y1]] = mapView.map.frame) {
  const { unit } = theme();
  const extra = 70 * unit;
  const legend = isForPaper() ? legendLines(width).length * 20 * unit : 0;
  const tallest = isOnPaper() ? 560 : Math.max(300, Math.min(innerHeight * 0.8 - extra, width * 0.95));
  return Math.min(tallest, Math.max(width * 0.5, (width * (y1 - y0)) / (x1 - x0))) + extra + legend;
}

function paintMap(surface) {
  const { muted, unit, line } = theme();
  const { map } = mapView;
  const box = mapBox(surface);
  const at = mapScale(box);
  if (!isForPaper()) mapView.at = at;
  const ticks = (from, to, place) => roundTicks(from, to, 5).map((value) => ({ at: place(value), text: map.ticks ? readable(value) : "" }));
  const x = { ticks: ticks(at.backX(box.left), at.backX(box.right), at.x) };
  const y = { ticks: ticks(at.backY(box.bottom), at.backY(box.top), at.y) };
  paintAxes(surface, box, { ...(map.ticks ? { x, y } : {}), xTitle: map.axes[0], yTitle: map.axes[1] });
  if (!map.ticks) surface.rect(box.left, box.top, box.right - box.left, box.bottom - box.top, { stroke: line });
  if (isForPaper()) paintLegend(surface, unit);
  surface.clipped(box.left, box.top, box.right - box.left, box.bottom - box.top, () => {
    paintLines(surface, at);
    paintRows(surface, at);
    paintBadges(surface, at);
    paintGesture(surface, muted);
  });
  surface.area(box.left, box.top, box.right - box.left, box.bottom - box.top, { tip: (px, py) => {
    const row = mapView.gesture ? -1 : nearestRow(px, py);
    return row < 0 ? null : rowTip(row);
  } });
}

const isForPaper = () => isOnPaper() || document.documentElement.dataset.paper !== undefined;

/** Rows by cluster, apart from those that are filtered out or not selected. */
function rowsByCluster() {
  const groups = new Map([["away", []]]);
  for (let cluster = -1; cluster < state.partition.sizes.length; cluster++) groups.set(cluster, []);
  for (let i = 0; i < N; i++) {
    const away = isFiltered(i) || (state.selected && !state.selected.has(i));
    groups.get(away ? "away" : labelOf(i)).push(i);
  }
  return groups;
}

/** Many rows are drawn smaller and fainter. */
const crowd = Math.min(1, Math.sqrt(400 / Math.max(N, 1)));

function paintLines(surface, at) {
  const { map } = mapView;
  const hubs = state.partition.hubs[map.key];
  if (!map.lines) return;
  const stride = Math.ceil(N / MOST_LINES);
  const own = state.partition === partitions[0] ? map.own : null;  // by the paper's algorithm each row has its own centre
  for (const [cluster, rows] of rowsByCluster()) {
    if (cluster === "away" || cluster < 0) continue;
    const ends = [];
    for (let j = 0; j < rows.length; j += stride) {
      const i = rows[j];
      ends.push(at.x(map.x[i]), at.y(map.y[i]), at.x(own ? own.x[i] : hubs[cluster][0]), at.y(own ? own.y[i] : hubs[cluster][1]));
    }
    surface.segments(ends, { stroke: colourOf(cluster), width: 0.7, opacity: 0.12 + 0.3 * crowd });
  }
}

function paintRows(surface, at) {
  const { paper, muted, ink, unit } = theme();
  const { map } = mapView;
  const radius = (1.9 + 2.2 * crowd) * unit;
  const xs = (rows) => rows.map((i) => at.x(map.x[i]));
  const ys = (rows) => rows.map((i) => at.y(map.y[i]));
  for (const [cluster, rows] of rowsByCluster()) {
    const away = cluster === "away";
    const look = away ? { fill: muted, opacity: 0.22 } : { fill: colourOf(cluster), opacity: 0.45 + 0.45 * crowd, stroke: N < 3000 ? paper : undefined };
    if (state.selected && !away) Object.assign(look, { opacity: 1, stroke: ink, width: 0.9 });
    surface.markers(away ? OUTLINES.circle : outlineOf(cluster), xs(rows), ys(rows), away ? radius * 0.7 : radius, look);
  }
  const { marked } = mapView;
  if (marked >= 0) surface.path(`M${at.x(map.x[marked]) + 10 * unit} ${at.y(map.y[marked])}a${10 * unit} ${10 * unit} 0 1 1 ${-20 * unit} 0a${10 * unit} ${10 * unit} 0 1 1 ${20 * unit} 0`, { stroke: ink, width: 2.5 });
}

function paintBadges(surface, at) {
  const { paper, unit } = theme();
  const hubs = state.partition.hubs[mapView.map.key];
  const most = Math.max(...state.partition.sizes, 1);
  if (!hasRows) hubs.forEach((hub, k) => hub && surface.markers(OUTLINES.circle, [at.x(hub[0])], [at.y(hub[1])], 42 * unit * Math.sqrt(state.partition.sizes[k] / most), { fill: colourOf(k), opacity: 0.55 }));
  if (hubs.length > MOST_BADGES) return;
  hubs.forEach((hub, k) => {
    if (!hub) return;  // too few rows for a page without rows
    const [x, y] = hub;
    const wide = widthOf(String(k), 12, 600) + 10;
    const high = 18 * unit;
    surface.rect(at.x(x) - wide / 2, at.y(y) - high / 2, wide, high, { fill: paper, stroke: colourOf(k), width: 2, opacity: 0.95 });
    surface.text(at.x(x), at.y(y), String(k), { anchor: "middle", size: 12, weight: 600 });
  });
}

function paintGesture(surface, muted) {
  const trail = mapView.gesture?.trail;
  if (!trail || mapView.gesture.mode === "move") return;
  surface.line([...outlineOfGesture(), outlineOfGesture()[0]], { stroke: muted, width: 1.5, dash: "5 3" });
}

/** The corners of the box or the points of the lasso. */
function outlineOfGesture() {
  const { mode, trail } = mapView.gesture;
  if (mode === "lasso") return trail;
  const [[x0, y0], [x1, y1]] = [trail[0], trail[trail.length - 1]];
  return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
}

/** Whether a point is inside a polygon, by the number of edges to its right. */
function isInside(polygon, x, y) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [[xi, yi], [xj, yj]] = [polygon[i], polygon[j]];
    if (yi > y !== yj > y && x < xi + ((y - yi) / (yj - yi)) * (xj - xi)) inside = !inside;
  }
  return inside;
}

function rowsInside(polygon) {
  const { map, at } = mapView;
  return everyRow().filter((i) => !isFiltered(i) && isInside(polygon, at.x(map.x[i]), at.y(map.y[i])));
}

function nearestRow(px, py) {
  const { map, at } = mapView;
  return nearest(N, (i) => (isFiltered(i) ? Infinity : (at.x(map.x[i]) - px) ** 2 + (at.y(map.y[i]) - py) ** 2));
}

/** The one of n places at which the pointer points, by their squared distances from it in pixels; -1 if none is near. */
function nearest(n, squareOf) {
  let best = -1, least = NEAR ** 2;
  for (let i = 0; i < n; i++) {
    const square = squareOf(i);
    if (square < least) [best, least] = [i, square];
  }
  return best;
}

/** Number of rows outside the view. */
function rowsOutside() {
  const { map } = mapView;
  const [[left, right], [low, high]] = map.frame;
  return everyRow().filter((i) => map.x[i] < left || map.x[i] > right || map.y[i] < low || map.y[i] > high).length;
}

function mapNotes() {
  const outside = rowsOutside(), notes = mapView.map.note ? [mapView.map.note] : [];
  const stride = Math.ceil(N / MOST_LINES);
  if (stride > 1 && mapView.map.lines) notes.push(`Lines to the centres are drawn for one row in ${stride}.`);
  if (outside) notes.push(`${counted(outside, "row is", "rows are")} outside the first view.`);
  const how = outside ? [element("span", { class: "screen" }, ` Press "All rows" to see ${outside === 1 ? "it" : "them"}.`)] : [];
  return [notes.join(" "), ...how];
}
