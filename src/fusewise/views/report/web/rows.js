// One row: a tooltip under the pointer, and all of its entries in the panel beside the map.

const TOOLTIP_FEATURES = 8;
const FOUND_AT_MOST = 20;
const values = once(() => unpack(found.rows.values));
const centers = once(() => unpack(found.rows.centers));
const confidences = found.rows.confidence && unpack(found.rows.confidence);

const entryOf = (row, feature) => values()[row * found.rows.features.length + feature];
const centerOf = (cluster, feature) => centers()[cluster * found.rows.features.length + feature];

function standingOf(row) {
  const where = labels[row] < 0 ? "outlier" : `cluster ${labels[row]}`;
  return confidences ? `${where}, confidence ${confidences[row].toFixed(3)}` : where;
}

/** Something beside the pointer. */
function showTooltip(event, ...children) {
  const box = document.getElementById("tooltip");
  box.replaceChildren(...children);
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  box.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 8))}px`;
}

/** The row's name, cluster and most telling entries. */
function pointAtRow(row, event) {
  const list = element("dl");
  for (const feature of found.rows.telling.slice(0, TOOLTIP_FEATURES)) {
    const entry = entryOf(row, feature);
    list.append(element("dt", {}, found.rows.features[feature]));
    list.append(element("dd", {}, Number.isNaN(entry) ? "missing" : readable(entry)));
  }
  showTooltip(event, element("b", {}, found.rows.names[row]), element("div", {}, standingOf(row)), list);
}

function hideTooltip() {
  document.getElementById("tooltip").hidden = true;
}

/** All entries of a row, beside those of its centre. */
function showRow(row) {
  const body = element("tbody");
  found.rows.features.forEach((name, feature) => {
    const entry = entryOf(row, feature);
    const center = labels[row] < 0 ? NaN : centerOf(labels[row], feature);
    body.append(
      element("tr", {},
        element("th", { scope: "row" }, name),
        element("td", { class: "number" }, Number.isNaN(entry) ? "missing" : readable(entry)),
        element("td", { class: "number quiet" }, readable(center))));
  });
  const head = element("thead", {},
    element("tr", {},
      element("th", { scope: "col" }, "feature"),
      element("th", { scope: "col", class: "number" }, "entry"),
      element("th", { scope: "col", class: "number" }, "centre")));
  const parts = [element("h3", {}, found.rows.names[row]), element("p", {}, standingOf(row)), element("table", {}, head, body)];
  if (found.rows.hidden) parts.push(element("p", { class: "quiet" }, `and ${found.rows.hidden} features less telling`));
  document.getElementById("row").replaceChildren(...parts);
  markRow(row);
}

/** The row of that name; else a choice of those whose names hold it. */
function findRow(name) {
  const wanted = name.trim().toLowerCase();
  const names = found.rows.names;
  const exact = names.findIndex((candidate) => candidate.toLowerCase() === wanted);
  if (wanted && exact >= 0) return showRow(exact);
  const near = [];
  for (let i = 0; wanted && i < N && near.length < FOUND_AT_MOST; i++) {
    if (names[i].toLowerCase().includes(wanted)) near.push(i);
  }
  const list = element("ul");
  for (const row of near) {
    const button = element("button", { type: "button" }, names[row]);
    button.addEventListener("click", () => showRow(row));
    list.append(element("li", {}, button));
  }
  const words = near.length ? "No row has that name; these come near:" : "No row has that name.";
  document.getElementById("row").replaceChildren(element("p", {}, words), list);
}

function startRows() {
  document.getElementById("find").addEventListener("submit", (event) => {
    event.preventDefault();
    findRow(document.getElementById("find-row").value);
  });
  addEventListener("scroll", hideTooltip, { passive: true });
}
