// Files for the reader: tables as CSV, rules as SQL and Python. Made in the browser; nothing is sent anywhere.

/** Offer a file for download. */
function save(name, content, type = "text/plain;charset=utf-8") {
  const link = element("a", { href: URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type })), download: `${found.file}-${name}` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Text that a spreadsheet takes for a formula; numbers are none. */
const isFormula = (text) => /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(text) && !/^[+-]?[\d.,]+([eE][+-]?\d+)?\s?%?$/.test(text);

/** A cell of a CSV file (RFC 4180); text that a spreadsheet would take for a formula begins with an apostrophe. */
function csvCell(value) {
  const plain = value === null || value === undefined || Number.isNaN(value) ? "" : String(value);
  const text = typeof value === "string" && isFormula(value) ? `'${plain}` : plain;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

const csv = (lines) => lines.map((line) => `${line.map(csvCell).join(",")}\r\n`).join("");
const saveCsv = (name, lines) => save(name, csv(lines), "text/csv;charset=utf-8");

/** The table as the reader wrote it: columns with the values of the rows, and which of them were observed. */
const columns = found.rows.columns.map((column) => ({ ...column, cells: once(() => unpack(column.values)) }));
const observedBits = once(() => unpack(found.rows.observed));

function isObserved(row, column) {
  const at = row * columns.length + column;
  return Boolean(observedBits()[at >> 3] & (128 >> (at & 7)));
}

/** The value of a cell, as a number (to seven digits: all that is stored) or a level. */
function completedCell(row, column) {
  const { cells, levels } = columns[column];
  const value = cells()[row];
  if (levels) return levels[value] ?? null;
  return cells() instanceof Float32Array ? Number(value.toPrecision(7)) : value;
}

const tableCell = (row, column) => (isObserved(row, column) ? completedCell(row, column) : null);
const confidences = once(() => (found.rows.confidence ? unpack(found.rows.confidence) : null));
const hasConfidence = () => Boolean(found.rows.confidence) && state.partition === partitions[0];
const confidenceOf = (row) => Number(confidences()[row].toFixed(4));

/** Lines of a CSV file for some rows: name, label, confidence, and their cells. */
function rowLines(rows, cell) {
  const sure = hasConfidence() ? ["confidence"] : [];
  const { names: titles } = state.partition;
  const head = ["row", "label", "cluster_name", ...sure, ...(cell ? columns.map(({ name }) => name) : [])];
  return [head, ...rows.map((row) => [
    names[row], labelOf(row), titles[labelOf(row)] ?? "", ...sure.map(() => confidenceOf(row)), ...(cell ? columns.map((_, j) => cell(row, j)) : []),
  ])];
}

/** The centres by feature, in the units of the table, each beside the mean and the median of the observed values. */
function centerLines({ centers, means, medians, sizes, names: titles }) {
  const kinds = [["", unpack(centers)], [" (observed mean)", unpack(means)], [" (observed median)", unpack(medians)]];
  const shares = [kinds[0], [" (observed share)", kinds[1][1]]];  // of a level of a category
  const listed = found.features.flatMap((name, j) => (found.shares[j] ? shares : kinds).map(([kind, values]) => ({ name: name + kind, j, values })));
  const head = ["cluster", "size", "name", ...listed.map(({ name }) => name)];
  return [head, ...sizes.map((size, k) => [k, size, titles[k], ...listed.map(({ j, values }) => Number(values[k * found.features.length + j].toPrecision(7)))])];
}

const everyRow = () => Array.from({ length: N }, (_, i) => i);

const EXPORTS = {
  selection: () => saveCsv("selection.csv", rowLines(chosenRows(), tableCell)),
  labels: () => saveCsv("labels.csv", rowLines(everyRow())),
  completed: () => saveCsv("completed.csv", [["row", ...columns.map(({ name }) => name)], ...everyRow().map((row) => [names[row], ...columns.map((_, j) => completedCell(row, j))])]),
  centers: () => saveCsv("centers.csv", centerLines(state.partition)),
  rules: () => saveCsv("rules.csv", [["cluster", "rule", "precision", "recall"], ...state.partition.rules.map(({ words, precision, recall }, k) => [k, words, precision, recall])]),
  sql: () => save("rules.sql", state.partition.rulesSql),
  print: () => print(),
};

function startExports() {
  for (const made of document.querySelectorAll("button[data-export]")) made.addEventListener("click", EXPORTS[made.dataset.export]);
}
