// Rows: tooltips, the values of one row, and the list of rows that are selected or pass the filters.

const TIP_COLUMNS = 8;
const LISTED = 100;

function membershipOf(row) {
  const where = clusterName(labelOf(row));
  return hasConfidence() ? `${where}, confidence ${confidenceOf(row).toFixed(3)}` : where;
}

/** Errors and bounds of the entries of a column, if it has any. */
const halfOf = (j) => (columns[j].half ??= ["error", "lower", "upper"].map((key) => (columns[j][key] ? unpack(columns[j][key]) : null)));

/** A value of the table as text, with its error; what it lies below, above or between; or "missing". */
function shownCell(row, j) {
  const value = tableCell(row, j), [error, lower, upper] = halfOf(j).map((of) => of?.[row]);
  if (value !== null) return typeof value === "number" ? readable(value) + (error ? ` ± ${readable(error)}` : "") : value;
  if (Number.isFinite(lower) && Number.isFinite(upper)) return `${readable(lower)} to ${readable(upper)}`;
  return Number.isFinite(upper) ? `below ${readable(upper)}` : Number.isFinite(lower) ? `above ${readable(lower)}` : "missing";
}

/** Tooltip with the row's name, cluster and the columns that separate the clusters best. */
function rowTip(row) {
  const list = element("dl");
  for (const j of found.rows.telling.slice(0, TIP_COLUMNS)) {
    list.append(element("dt", {}, columns[j].name), element("dd", {}, shownCell(row, j)));
  }
  return element("div", {}, element("b", {}, names[row]), element("div", {}, membershipOf(row)), list);
}

const headOf = (...titles) => element("thead", {}, element("tr", {}, ...titles.map(([text, kind]) => element("th", { scope: "col", ...(kind ? { class: kind } : {}) }, text))));

/** What the entries of a row add to its cluster against the runner-up, of the rows for which the page knows it. */
const whyOf = once(() => {
  const of = new Map();
  if (!found.why) return of;
  const [clusters, odds, sizes, nats] = ["clusters", "odds", "sizes", "nats"].map((key) => unpack(found.why[key]));
  unpack(found.why.rows).forEach((row, i) => of.set(row, {
    cluster: clusters[2 * i], other: clusters[2 * i + 1], outlier: found.why.outliers[i], odds: odds[i], sizes: sizes[i],
    nats: nats.subarray(i * columns.length, (i + 1) * columns.length),
  }));
  return of;
});

/** In words: the cluster of a row, the runner-up, and what the numbers beside its entries mean. */
function whyWords({ cluster, other, outlier, odds, sizes }) {
  const place = outlier ? `An outlier, nearest to cluster ${cluster}, then ${other}` : `Cluster ${cluster} rather than ${other}`;
  const sure = odds < 12 ? `${readable(Math.exp(odds))} to 1` : "beyond doubt";
  return `${place}: ${readable(odds)} nats (${sure}), of which the sizes of the clusters add ${signed(sizes)}, and each value what stands beside it.`;
}

/** Show all values of a row, and what the model expects where a value is missing; those that tell most first, if that is known. */
function showRow(row) {
  const body = element("tbody");
  const known = state.partition === partitions[0] ? whyOf().get(row) : undefined;
  const why = known?.outlier || known?.cluster === labelOf(row) ? known : undefined;  // a hint may say another cluster
  const adds = (j) => why !== undefined && !Number.isNaN(why.nats[j]);  // also an entry that lies between bounds
  const size = (j) => (adds(j) ? Math.abs(why.nats[j]) : -1);
  const order = columns.map((_, j) => j);
  for (const j of why ? order.sort((a, b) => size(b) - size(a)) : order) {
    const seen = isObserved(row, j);
    const guess = completedCell(row, j);
    const words = shownCell(row, j) + (seen ? "" : ` (expected: ${typeof guess === "number" ? readable(guess) : guess ?? "–"})`);
    body.append(element("tr", {},
      element("th", { scope: "row" }, columns[j].name),
      element("td", { class: seen ? "number" : "number muted", ...(why && !adds(j) ? { colspan: 2 } : {}) }, words),
      ...(adds(j) ? [element("td", { class: "number why" }, signed(why.nats[j]))] : [])));
  }
  const titles = [["column"], ["value", "number"], ...(why ? [["adds", "number"]] : [])];
  const parts = [element("h3", {}, names[row]), element("p", {}, membershipOf(row)), ...(why ? [element("p", {}, whyWords(why))] : []), element("table", {}, headOf(...titles), body)];
  if (found.rows.hidden) parts.push(element("p", { class: "muted" }, `and ${counted(found.rows.hidden, "more column")} that separate the clusters less`));
  document.getElementById("row").replaceChildren(...parts);
  mapView.marked = row;
  tell("rows");
}

/** Select the rows whose names contain a text, and show the row with exactly this name. */
function findRows(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return select(null);
  const near = everyRow().filter((i) => names[i].toLowerCase().includes(wanted));
  const exact = near.filter((i) => names[i].toLowerCase() === wanted);
  if (exact.length) showRow(exact[0]);
  const words = near.length ? "" : "No name contains this text.";
  document.getElementById("find-words").textContent = words;
  return select(exact.length ? exact : near);
}

/** The list of chosen rows, with their number. */
function listRows() {
  const rows = chosenRows();
  const filters = state.filters.map(({ text }) => text).join(" and ");
  const words = [state.selected ? `${counted(rows.length, "row")} selected` : isNarrowed() ? `${counted(rows.length, "row")}` : `All ${counted(N, "row")}`];
  if (filters) words.push(`where ${filters}`);
  document.getElementById("rows-words").textContent = `${words.join(" ")}.`;
  document.getElementById("rows-clear").hidden = !isNarrowed();
  const body = element("tbody");
  for (const row of isNarrowed() ? rows.slice(0, LISTED) : []) {
    const name = button(names[row], () => showRow(row), { class: "plain" });
    body.append(element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, clusterName(labelOf(row))), ...(hasConfidence() ? [element("td", { class: "number" }, confidenceOf(row).toFixed(3))] : [])));
  }
  const list = document.getElementById("rows-list");
  const more = rows.length > LISTED ? [element("p", { class: "muted" }, `The first ${LISTED} are listed; the file contains all of them.`)] : [];
  const titles = [["row"], ["cluster"], ...(hasConfidence() ? [["confidence", "number"]] : [])];
  list.replaceChildren(...(body.children.length ? [element("table", {}, headOf(...titles), body), ...more] : []));
}

const COMPARISONS = {
  "at least": (value, bound) => value >= bound,
  "at most": (value, bound) => value <= bound,
  is: (value, level) => value === level,
  "is not": (value, level) => value !== level,
};

/** The form that filters rows by a column, by their confidence, or by whether a value is missing. */
function startFilter() {
  const [column, how, value] = ["filter-column", "filter-how", "filter-value"].map((id) => document.getElementById(id));
  const levels = document.getElementById("filter-levels");
  const options = (texts) => texts.map((text) => element("option", {}, text));
  if (hasConfidence()) column.append(element("option", { value: "confidence" }, "(confidence)"));
  columns.forEach(({ name }, j) => column.append(element("option", { value: j }, shorten(name, 60))));
  const setHow = () => {
    const chosen = columns[column.value];
    how.replaceChildren(...options(chosen?.levels ? ["is", "is not", "is missing", "is observed"] : chosen ? ["at least", "at most", "is missing", "is observed"] : ["at most", "at least"]));
    levels.replaceChildren(...(chosen?.levels ?? []).map((level) => element("option", { value: level })));
    setValue();
  };
  const setValue = () => { value.disabled = how.value.startsWith("is missing") || how.value === "is observed"; };
  column.addEventListener("change", setHow);
  how.addEventListener("change", setValue);
  document.getElementById("filter").addEventListener("submit", (event) => {
    event.preventDefault();
    addFilter(column.value === "confidence" ? "confidence" : Number(column.value), how.value, value.value.trim());
  });
  setHow();
}

function addFilter(column, how, text) {
  const name = column === "confidence" ? "confidence" : columns[column].name;
  const key = `${column} ${how}`;
  if (how === "is missing" || how === "is observed") return setFilter(key, `${name} ${how}`, (row) => isObserved(row, column) === (how === "is observed"));
  const bound = columns[column]?.levels ? text : Number(text.replace(",", "."));
  const words = document.getElementById("find-words");
  words.textContent = complaintAbout(text, bound, columns[column]?.levels);
  if (words.textContent) return undefined;
  const cell = column === "confidence" ? confidenceOf : (row) => tableCell(row, column);
  const verb = how.startsWith("is") ? "" : "is ";
  return setFilter(key, `${name} ${verb}${how} ${text}`, (row) => { const seen = cell(row); return seen !== null && COMPARISONS[how](seen, bound); });
}

/** What is wrong with the value of a filter; empty if nothing is. */
function complaintAbout(text, bound, levels) {
  if (levels) return levels.includes(text) ? "" : `No row has this value. The values are ${levels.slice(0, 20).join(", ")}${levels.length > 20 ? ", …" : ""}.`;
  return text === "" || Number.isNaN(bound) ? "Enter a number." : "";
}

function startRows() {
  document.getElementById("find").addEventListener("submit", (event) => {
    event.preventDefault();
    findRows(document.getElementById("find-row").value);
  });
  document.getElementById("rows-clear").addEventListener("click", () => {
    state.filters = [];
    mapView.marked = -1;
    select(null);
  });
  startFilter();
  listen("rows", listRows);
  listen("partition", listRows);
  listRows();
}
