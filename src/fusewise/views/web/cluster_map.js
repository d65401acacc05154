// The table as a heat map in the order of the tree of its rows. Branches select the rows under them.

const table = found.table;
const tableRows = once(() => unpack(table.rows));
const tableLines = once(() => unpack(table.lines));
const tableCells = once(() => unpack(table.cells));
const MOST_ON_PAPER = 560;  // height of the table on a page of paper, in pixels
const LIMIT = 3;  // standard deviations at the ends of the colour scale

const joinsOf = once(() => {
  const flat = unpack(table.joins), joins = [];
  for (let i = 0; i < flat.length; i += 8) {
    const [leftAt, leftGroups, rightAt, rightGroups, groups, lam, begin, end] = flat.subarray(i, i + 8);
    joins.push({ left: [leftAt, leftGroups], right: [rightAt, rightGroups], groups, lam, begin, end });
  }
  return joins;
});

function tableHeight() {
  const { unit } = theme();
  const tall = table.named ? Math.max(120, tableRows().length * 12) : 520;
  return ((isOnPaper() ? Math.min(tall, MOST_ON_PAPER) : tall) + 150 + 20) * unit;
}

function startClusterMap() {
  if (!document.getElementById("table-picture")) return;
  const picture = new Picture("table-picture", paintTable, { height: tableHeight, file: "heat-map" });
  startTreeKeys(picture);
  let waiting = 0;
  listen("rows", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => picture.draw()); });
}

function tableLayout(surface) {
  const { unit } = theme();
  const joins = joinsOf();
  const narrow = surface.width < 560;
  const named = table.named && surface.height - 170 * unit >= 8 * unit * tableRows().length;  // on paper many rows have no room
  const labels = named ? Array.from(tableRows(), (row) => shorten(names[row], narrow ? 12 : 24)) : [];
  const left = joins.length ? Math.round(surface.width * (narrow ? 0.24 : 0.28)) : 8;
  const size = (surface.width - left - 20 * unit) / table.features.length;
  // On the right there is room for the names of rows, and for those of the last columns, which lean over.
  const leaning = size >= 9 * unit ? table.features.map((name, j) => 0.5 * widthOf(shortenFeature(name, 22), 11) + 8 * unit - (table.features.length - j - 0.5) * 0.8 * size) : [];
  const wide = Math.max(8, ...leaning, ...labels.map((text) => widthOf(text, 10.5) + 10));
  const top = 150 * unit, bottom = surface.height - 20 * unit;
  return { joins, labels, left, strip: left + 6, cells: left + 20 * unit, right: surface.width - wide, top, bottom };
}

function paintTable(surface) {
  const { muted, unit, blank } = theme();
  const at = tableLayout(surface);
  const y = bandScale(tableRows().length, [at.top, at.bottom]);
  const x = bandScale(table.features.length, [at.cells, at.right]);
  const lines = tableLines();
  const rows = lines.length - 1;
  const shades = Array.from({ length: 256 }, (_, cell) => (cell ? diverging((cell - 128) / 127) : blank));
  surface.cells(at.cells, at.top, at.right - at.cells, at.bottom - at.top, rows, table.features.length,
    (i, j) => shades[tableCells()[i * table.features.length + j]], table.named && x.size > 6 ? 0.5 : 0);
  paintScale(surface, 0, 9 * unit, Math.min(150 * unit, surface.width * 0.4), (t) => diverging(2 * t - 1), [`−${LIMIT}`, "0", String(LIMIT)], "standard deviations");
  if (tableCells().includes(0)) {
    surface.rect(0, 50 * unit, 12 * unit, 9 * unit, { fill: blank });
    surface.text(17 * unit, 55 * unit, "missing", { fill: muted, size: 11.5 });
  }
  if (x.size >= 9 * unit) {
    table.features.forEach((name, j) => surface.text(x.middle(j), at.top - 6, shortenFeature(name, 22), { turn: -60, size: 11, name: "feature" }));
  } else surface.text(at.cells, at.top - 10, `${table.features.length} features, similar ones side by side`, { fill: muted, size: 11 });
  paintStrip(surface, at, y);
  at.labels.forEach((text, i) => {
    const chosen = state.selected?.has(tableRows()[i]);
    surface.text(at.right + 5, y.middle(i), text, { size: 10.5, weight: chosen ? 700 : undefined, fill: chosen ? theme().accent : theme().ink, name: "leaf" });
  });
  if (at.joins.length) paintJoins(surface, at, y);
  surface.area(at.cells, at.top, surface.width - at.cells, at.bottom - at.top, {
    tip: (px, py) => cellTip(x.back(px), y.back(py)), click: (px, py) => { if (table.named) showRow(tableRows()[y.back(py)]); },
  });
}

/** The cluster of each row, and a mark beside the rows that are selected. */
function paintStrip(surface, at, y) {
  const rows = tableRows();
  const runs = (value, paint) => {
    for (let i = 0, from = 0; i < rows.length; i++) {
      if (i + 1 < rows.length && value(rows[i + 1]) === value(rows[i])) continue;
      paint(value(rows[i]), y.at(from), y.at(i + 1) - y.at(from));
      from = i + 1;
    }
  };
  runs(labelOf, (label, top, height) => surface.rect(at.strip, top, 9 * theme().unit, height, { fill: colourOf(label) }));
  if (state.selected) runs((row) => state.selected.has(row), (chosen, top, height) => { if (chosen) surface.rect(at.strip - 4, top, 3, height, { fill: theme().ink }); });
}

/** The tree; its axis is the number of groups left, which spreads the last joins. */
function paintJoins(surface, at, y) {
  const { muted, unit, line } = theme();
  const most = Math.max(...at.joins.flatMap(({ left, right }) => [left[1], right[1]]));
  const x = logScale([1, most], [6 * unit, at.left], { count: Math.max(2, Math.min(8, Math.floor(at.left / (34 * unit)))) });
  for (const tick of x.ticks) {
    surface.segments([tick.at, at.top, tick.at, at.bottom + 3], { stroke: line });
    for (const place of [at.top - 8 * unit, at.bottom + 11 * unit]) surface.text(tick.at, place, tick.text, { anchor: "middle", size: 10.5, fill: muted });
  }
  surface.text(0, at.top - 24 * unit, "number of groups", { fill: muted, size: 11.5 });
  const rows = tableRows();
  const place = (position) => at.top + position * y.size;
  for (const join of at.joins) {
    const { left, right, groups, lam, begin, end } = join;
    const label = onlyLabel(rows, begin, end);
    const stroke = label === null ? muted : colourOf(label);
    const across = x.at(groups);
    const [top, bottom] = [place(left[0]), place(right[0])];
    surface.line([[x.at(left[1]), top], [across, top], [across, bottom], [x.at(right[1]), bottom]], isReached(join) ? { stroke: theme().ink, width: 4, name: "join reached" } : { stroke, width: table.named ? Math.min(1.2, Math.max(0.5, 0.4 * y.size)) : 1.2, name: "join" });
    surface.area(across - 4, top - 2, Math.max(8, Math.min(14, at.left - across)), bottom - top + 4, {
      tip: () => `${counted(end - begin, "row")}, joined at lam ${readable(lam)}: click to select them`,
      click: () => select(rows.subarray(begin, end)),
    });
  }
}

/** The cluster of all rows at the positions begin .. end - 1; null if there are several. */
function onlyLabel(rows, begin, end) {
  const first = labelOf(rows[begin]);
  for (let i = begin + 1; i < end; i++) if (labelOf(rows[i]) !== first) return null;
  return first;
}

function cellTip(j, position) {
  if (position < 0 || position >= tableRows().length) return null;
  const i = tableLines().findIndex((_, k) => position < tableLines()[k + 1]);
  const row = tableRows()[position];
  const who = table.named ? `${names[row]}, ${clusterName(labelOf(row))}` : `${counted(tableLines()[i + 1] - tableLines()[i], "row")}, ${clusterName(labelOf(row))}`;
  if (j < 0 || j >= table.features.length) return who;
  const cell = tableCells()[i * table.features.length + j];
  return `${who}: ${table.features[j]} ${cell ? `${readable((LIMIT * (cell - 128)) / 127)} standard deviations from the mean` : "missing"}`;
}
