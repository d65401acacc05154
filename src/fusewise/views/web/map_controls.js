// Moving and zooming the map, selecting rows on it, and its legend.

const MOST_LEGEND = 10;  // more clusters fold into a list
const mapMode = () => document.querySelector("input[name=map-mode]:checked").value;

function startMap() {
  const picture = new Picture("map-picture", paintMap, { height: mapHeight, canvas: true, file: "map" });
  const { host } = picture;
  let waiting = 0;
  const redraw = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => picture.draw()); };
  const place = (event) => { const box = host.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };

  function zoom(factor, [px, py] = [(mapView.at.box.left + mapView.at.box.right) / 2, (mapView.at.box.top + mapView.at.box.bottom) / 2]) {
    const { at } = mapView;
    const [cx, cy] = [at.backX(px), at.backY(py)];
    const around = ([low, high], center) => [center + (low - center) / factor, center + (high - center) / factor];
    const [x, y] = mapView.frame ?? mapView.map.frame;
    mapView.frame = [around(x, cx), around(y, cy)];
    redraw();
  }

  function shift(dx, dy) {
    const { zoom: unit } = mapView.at;
    const [x, y] = mapView.frame ?? mapView.map.frame;
    mapView.frame = [x.map((value) => value - dx / unit), y.map((value) => value + dy / unit)];
    redraw();
  }

  /** A view of all rows, or the first view again. */
  function showAll(all) {
    const range = (values) => { let [low, high] = [Infinity, -Infinity]; for (const v of values) { low = Math.min(low, v); high = Math.max(high, v); } const room = 0.05 * (high - low || 1); return [low - room, high + room]; };
    mapView.frame = all ? [range(mapView.map.x), range(mapView.map.y)] : null;
    redraw();
  }

  host.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    mapView.gesture = { mode: event.shiftKey ? "box" : mapMode(), trail: [place(event)], moved: false };
    host.setPointerCapture(event.pointerId);
  });
  host.addEventListener("pointermove", (event) => {
    const { gesture } = mapView;
    if (!gesture) return;
    const [x, y] = place(event), [lastX, lastY] = gesture.trail[gesture.trail.length - 1];
    gesture.moved ||= Math.hypot(x - gesture.trail[0][0], y - gesture.trail[0][1]) > 4;
    gesture.trail.push([x, y]);
    if (gesture.mode === "move") { if (gesture.moved) shift(x - lastX, y - lastY); } else redraw();
  });
  host.addEventListener("pointerup", (event) => {
    const { gesture } = mapView;
    if (!gesture) return;
    if (!gesture.moved) {
      const row = nearestRow(...place(event));
      if (row >= 0) showRow(row);
    } else if (gesture.mode !== "move") select(rowsInside(outlineOfGesture()));
    mapView.gesture = null;
    redraw();
  });
  host.addEventListener("pointercancel", () => { mapView.gesture = null; redraw(); });
  host.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;  // else the page scrolls
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), place(event));
  }, { passive: false });
  host.addEventListener("dblclick", () => showAll(false));
  const step = 40;
  const keys = {
    ArrowLeft: () => shift(step, 0), ArrowRight: () => shift(-step, 0), ArrowUp: () => shift(0, step), ArrowDown: () => shift(0, -step),
    "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: () => showAll(false), Escape: () => select(null),
  };
  host.addEventListener("keydown", (event) => { if (keys[event.key]) { event.preventDefault(); keys[event.key](); } });

  document.getElementById("map-in").addEventListener("click", () => zoom(1.4));
  document.getElementById("map-out").addEventListener("click", () => zoom(1 / 1.4));
  document.getElementById("map-first").addEventListener("click", () => showAll(false));
  document.getElementById("map-all")?.addEventListener("click", () => showAll(true));
  const setMode = () => { host.style.touchAction = mapMode() === "move" ? "pan-y" : "none"; };
  for (const choice of document.querySelectorAll("input[name=map-mode]")) choice.addEventListener("change", setMode);
  const note = document.getElementById("map-note");
  const showMap = () => {
    const wanted = document.querySelector("input[name=map-kind]:checked").value;
    mapView.map = maps.find(({ key }) => key === wanted);
    mapView.frame = null;
    note.replaceChildren(...mapNotes());
    redraw();
  };
  for (const choice of document.querySelectorAll("input[name=map-kind]")) choice.addEventListener("change", showMap);
  note.replaceChildren(...mapNotes());
  setMode();
  listen("partition", fillLegend);
  listen("rows", redraw);
  listen("rows", markLegend);
  fillLegend();
}

/** The clusters as buttons that show only their rows; more than ten fold. */
function fillLegend() {
  const legend = document.getElementById("map-legend");
  const { sizes } = state.partition;
  const loose = state.partition.outliers;
  const clusters = [...sizes.keys(), ...(loose ? [-1] : [])];
  const buttons = clusters.map((cluster) => {
    const marker = element("span", { class: `swatch ${cluster < 0 ? "outlier" : symbolOf(cluster)}`, style: `--colour: ${cluster < 0 ? found.palette.outlier : found.palette.colours[cluster % found.palette.colours.length]}`, "aria-hidden": "true" });
    const made = hasRows ? button("", () => toggleCluster(cluster), { "aria-pressed": "false", "data-cluster": cluster }) : element("span");
    made.append(marker, ` ${legendText(cluster, cluster < 0 ? loose : sizes[cluster])}`);
    return made;
  });
  const first = buttons.slice(0, MOST_LEGEND), rest = buttons.slice(MOST_LEGEND);
  legend.replaceChildren(...first);
  if (rest.length) legend.append(element("details", {}, element("summary", {}, `${rest.length} more`), ...rest));
  markLegend();
}

/** "0: high alcohol (62)". */
function legendText(cluster, rows) {
  const name = state.partition.names[cluster];
  const title = cluster < 0 ? "outliers" : name ? `${cluster}: ${shorten(name, 44)}` : `cluster ${cluster}`;
  return `${title} (${rows.toLocaleString("en-GB")})`;
}

const clusterFilter = { only: new Set() };

/** Show only the rows of the clusters whose buttons are pressed; all rows if none is. */
function toggleCluster(cluster) {
  const { only } = clusterFilter;
  if (!only.delete(cluster)) only.add(cluster);
  const named = [...only].sort((a, b) => a - b).map((k) => (k < 0 ? "none" : k)).join(" or ");
  setFilter("cluster", `the cluster is ${named}`, only.size ? (row) => only.has(labelOf(row)) : null);
}

function markLegend() {
  if (!state.filters.some(({ key }) => key === "cluster")) clusterFilter.only.clear();
  for (const made of document.querySelectorAll("#map-legend button")) made.setAttribute("aria-pressed", clusterFilter.only.has(Number(made.dataset.cluster)));
}

/** The legend of a picture for a file or for paper, in lines as wide as the picture. */
function legendLines(width) {
  const { sizes } = state.partition;
  const lines = [[]];
  let used = 0;
  const clusters = [...sizes.keys()].slice(0, MOST_BADGES).map((k) => ({ cluster: k, text: legendText(k, sizes[k]) }));
  if (state.partition.outliers) clusters.push({ cluster: -1, text: legendText(-1, state.partition.outliers) });
  for (const entry of clusters) {
    const wide = widthOf(entry.text, 12) + 30;
    if (used + wide > width && lines[lines.length - 1].length) { lines.push([]); used = 0; }
    lines[lines.length - 1].push({ ...entry, x: used });
    used += wide;
  }
  return lines;
}

function paintLegend(surface, unit) {
  legendLines(surface.width).forEach((line, row) => line.forEach(({ cluster, text, x }) => {
    const y = (10 + 20 * row) * unit;
    surface.markers(outlineOf(cluster), [x + 8], [y], 4.5 * unit, { fill: colourOf(cluster) });
    surface.text(x + 17 * unit, y, text, { size: 12 });
  }));
}
