// What makes a cluster: for each column, the distribution inside the cluster against that of the other rows.

const PAPER_PANELS = 8;  // on the page of a cluster
const firstPanels = () => (innerWidth < 560 ? 3 : 6);  // on the screen at first
const drawnSheets = new Set();

/** Draw the sheets of the partition that is shown; those of others are drawn when they are. */
function startContrasts() {
  const draw = () => {
    const p = partitions.indexOf(state.partition);
    state.partition.contrasts.clusters.forEach((_, k) => {
      const id = `contrast-${p}-${k}`;
      if (drawnSheets.has(id) || !document.getElementById(id)) return;
      drawnSheets.add(id);
      addSheet(partitions[p], id, k);
    });
  };
  listen("partition", draw);
  draw();
}

function addSheet(partition, id, k) {
  const all = partition.contrasts.clusters[k];
  const more = document.getElementById(`${id}-more`);
  let isOpen = false;
  const grid = (width) => [1, 2, 3].findLast((across) => across === 1 || width / across >= 290 * theme().unit);
  const panels = () => all.slice(0, isOnPaper() ? PAPER_PANELS : isOpen ? all.length : firstPanels());
  const height = (width) => Math.ceil(panels().length / grid(width)) * 178 * theme().unit;
  const paint = (surface) => panels().forEach((contrast, i) => {
    const across = grid(surface.width), wide = surface.width / across;
    paintPanel(surface, partition, k, contrast, { x: (i % across) * wide, y: Math.floor(i / across) * 178 * theme().unit, width: wide - 22 * theme().unit });
  });
  const picture = new Picture(id, paint, { height, file: `cluster-${k}` });
  if (!more) return;
  more.addEventListener("click", () => {
    isOpen = !isOpen;
    more.textContent = isOpen ? "Show fewer columns" : `Show all ${counted(all.length, "column")}`;
    picture.draw();
  });
}

/** One column: bars of the cluster, an outline of the other rows, the effect size, and the missing shares. */
function paintPanel(surface, partition, k, contrast, { x, y, width }) {
  const { muted, unit } = theme();
  const column = partition.contrasts.columns[contrast.column];
  surface.text(x, y + 10 * unit, cutTo(column.name, 0.92 * width, 12.5), { weight: 600, size: 12.5, name: "panel" });
  const words = !contrast.compared ? "too few observed values to compare" : contrast.medians ? `median ${contrast.medians[0]}, elsewhere ${contrast.medians[1]}` : "";
  if (words) surface.text(x, y + 25 * unit, words, { size: 10.5, fill: muted });
  const box = { left: x, top: y + 36 * unit, right: x + width, bottom: y + 122 * unit };
  const shares = [contrast.inside, contrast.outside].map((counts, side) => counts.map((count) => count / Math.max(contrast.n[side], 1)));
  if (column.levels.length) paintLevels(surface, box, column.levels, shares, k);
  else paintHistogram(surface, box, column, shares, contrast, k);
  if (Math.max(...contrast.missing) >= 0.005) {
    surface.text(x, y + 151 * unit, `missing: ${percent(contrast.missing[0])}, elsewhere ${percent(contrast.missing[1])}`, { size: 10.5, fill: muted });
  }
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

function paintHistogram(surface, { left, top, right, bottom }, { edges, soft, whole }, [inside, outside], { median, medians }, k) {
  const { ink, muted, line, unit } = theme();
  const count = Math.max(2, (right - left) / (62 * unit)), range = [edges[0], edges[edges.length - 1]];
  const x = soft ? softScale(range, [left, right], soft, { count }) : linearScale(range, [left, right], { count, whole });
  // Bins may differ in width: bars show densities.
  const widths = edges.slice(1).map((edge, i) => x.at(edge) - x.at(edges[i]));
  const usual = Math.min(...widths.filter((width) => width > 0)) || 1;
  const heights = (shares) => shares.map((share, i) => (share * usual) / (widths[i] || 1));
  const [bars, outline] = [heights(inside), heights(outside)];
  const highest = Math.max(...bars, ...outline) || 1;
  const y = (height) => bottom - (height / highest) * (bottom - top);
  bars.forEach((height, i) => surface.rect(x.at(edges[i]) + 0.5, y(height), Math.max(0.5, x.at(edges[i + 1]) - x.at(edges[i]) - 1), bottom - y(height), { fill: colourOf(k), opacity: 0.75 }));
  const corners = [[left, bottom], ...outline.flatMap((height, i) => [[x.at(edges[i]), y(height)], [x.at(edges[i + 1]), y(height)]]), [right, bottom]];
  surface.line(corners, { stroke: ink, width: 1.3 });
  surface.segments([left, bottom, right, bottom], { stroke: line });
  for (const { at, text } of x.ticks) {
    const half = widthOf(text, 10.5) / 2 + 2;
    surface.text(Math.max(left + half, Math.min(right - half, at)), bottom + 10 * unit, text, { anchor: "middle", size: 10.5, fill: muted });
  }
  if (median !== null) surface.path(`M${x.at(Math.max(edges[0], Math.min(edges[edges.length - 1], median)))} ${bottom}l-4 6h8Z`, { fill: colourOf(k) });
  edges.slice(1).forEach((edge, i) => surface.area(x.at(edges[i]), top, x.at(edge) - x.at(edges[i]), bottom - top + 14, {
    tip: () => `${readable(edges[i])} to ${readable(edge)}: ${percent(inside[i])} of cluster ${k}, ${percent(outside[i])} elsewhere (medians ${medians[0]} and ${medians[1]})`,
  }));
}

function paintLevels(surface, { left, top, right, bottom }, levels, [inside, outside], k) {
  const { ink, muted, unit } = theme();
  const most = Math.max(3, Math.floor((bottom + 14 * unit - top) / (13.5 * unit)));
  const order = levels.map((_, i) => i);
  const kept = levels.length <= most ? order : order.sort((a, b) => Math.abs(inside[b] - outside[b]) - Math.abs(inside[a] - outside[a])).slice(0, most).sort((a, b) => a - b);
  const texts = kept.map((i) => shorten(levels[i], 16));
  const from = left + Math.min(0.5 * (right - left), Math.max(...texts.map((text) => widthOf(text, 10.5)))) + 6;
  const y = bandScale(kept.length, [top, Math.min(bottom + 14 * unit, top + kept.length * 22 * unit)]);
  const highest = Math.max(...kept.map((i) => Math.max(inside[i], outside[i]))) || 1;
  const to = (share) => from + (share / highest) * (right - from - widthOf("100% | 100%", 10.5) - 6);
  kept.forEach((i, place) => {
    const middle = y.middle(place), half = Math.min(6 * unit, y.size * 0.36);
    surface.text(from - 5, middle, texts[place], { anchor: "end", size: 10.5 });
    surface.rect(from, middle - half, to(inside[i]) - from, 2 * half, { fill: colourOf(k), opacity: 0.75 });
    surface.segments([to(outside[i]), middle - half - 1, to(outside[i]), middle + half + 1], { stroke: ink, width: 2 });
    surface.text(Math.max(to(inside[i]), to(outside[i])) + 5, middle, `${percent(inside[i])} | ${percent(outside[i])}`, { size: 10.5, fill: muted });
    surface.area(left, y.at(place), right - left, y.size, { tip: () => `${levels[i]}: ${percent(inside[i])} of cluster ${k}, ${percent(outside[i])} elsewhere` });
  });
}
