// Details of one row: a tooltip at the pointer, and all values in the panel beside the map.

const TOOLTIP_FEATURES = 8;
const FOUND_AT_MOST = 20;
const values = once(() => unpack(found.rows.values));
const centers = once(() => unpack(found.rows.centers));
const confidences = found.rows.confidence && unpack(found.rows.confidence);

const entryOf = (row, feature) => values()[row * found.rows.features.length + feature];
const centerOf = (cluster, feature) => centers()[cluster * found.rows.features.length + feature];

function membershipOf(row) {
  const where = labels[row] < 0 ? "outlier" : `cluster ${labels[row]}`;
  return confidences ? `${where}, confidence ${confidences[row].toFixed(3)}` : where;
}

/** Show a tooltip beside the pointer. */
function showTooltip(event, ...children) {
  const box = document.getElementById("tooltip");
  box.replaceChildren(...children);
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  box.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 8))}px`;
}

/** Tooltip with the row's name, cluster and the values that separate the clusters best. */
function pointAtRow(row, event) {
  const list = element("dl");
  for (const feature of found.rows.telling.slice(0, TOOLTIP_FEATURES)) {
    const entry = entryOf(row, feature);
    list.append(element("dt", {}, found.rows.features[feature]));
    list.append(element("dd", {}, Number.isNaN(entry) ? "missing" : readable(entry)));
  }
  showTooltip(event, element("b", {}, found.rows.names[row]), element("div", {}, membershipOf(row)), list);
}

function hideTooltip() {
  document.getElementById("tooltip").hidden = true;
}

/** Show all values of a row, next to those of its centre. */
function showRow(row) {
  const body = element("tbody");
  found.rows.features.forEach((name, feature) => {
    const entry = entryOf(row, feature);
    const center = labels[row] < 0 ? NaN : centerOf(labels[row], feature);
    body.append(
      element("tr", {},
        element("th", { scope: "row" }, name),
        element("td", { class: "number" }, Number.isNaN(entry) ? "missing" : readable(entry)),
        element("td", { class: "number muted" }, readable(center))));
  });
  const head = element("thead", {},
    element("tr", {},
      element("th", { scope: "col" }, "feature"),
      element("th", { scope: "col", class: "number" }, "value"),
      element("th", { scope: "col", class: "number" }, "centre")));
  const parts = [element("h3", {}, found.rows.names[row]), element("p", {}, membershipOf(row)), element("table", {}, head, body)];
  if (found.rows.hidden) parts.push(element("p", { class: "muted" }, `and ${found.rows.hidden} more features that separate the clusters less`));
  document.getElementById("row").replaceChildren(...parts);
  markRow(row);
}

/** Show the row with this name, or a list of the rows whose names contain it. */
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
  const words = near.length ? "No row has this name; these names contain it:" : "No row has this name.";
  document.getElementById("row").replaceChildren(element("p", {}, words), list);
}

function startRows() {
  document.getElementById("find").addEventListener("submit", (event) => {
    event.preventDefault();
    findRow(document.getElementById("find-row").value);
  });
  addEventListener("scroll", hideTooltip, { passive: true });
}
