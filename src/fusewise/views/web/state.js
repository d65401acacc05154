// What the reader has chosen: the partition shown, the rows selected, and the filters. All pictures and lists follow.

const partitions = found.partitions.map((partition) => ({ ...partition, labels: unpack(partition.labels) }));
const listeners = { partition: [], rows: [] };

const state = {
  partition: partitions[0],
  selected: null,  // rows selected by hand or by search, as a Set; null: no selection
  filters: [],     // {text, keeps(row)}
};

/** Call `act` whenever the partition ("partition"), or the selection or a filter ("rows") changes. */
function listen(what, act) {
  listeners[what].push(act);
}

const tell = (what) => { for (const act of listeners[what]) act(); };
const labelOf = (row) => state.partition.labels[row];
const isFiltered = (row) => !state.filters.every(({ keeps }) => keeps(row));

/** The rows that pass the filters and are selected (or all that pass, if there is no selection). */
function chosenRows() {
  const rows = [];
  for (let i = 0; i < N; i++) if (!isFiltered(i) && (!state.selected || state.selected.has(i))) rows.push(i);
  return rows;
}

const isNarrowed = () => Boolean(state.selected || state.filters.length);

function select(rows) {
  state.selected = rows ? new Set(rows) : null;
  tell("rows");
}

/** Add a filter, in place of one with the same `key`; without `keeps` it is removed. */
function setFilter(key, text, keeps) {
  state.filters = state.filters.filter((filter) => filter.key !== key);
  if (keeps) state.filters.push({ key, text, keeps });
  tell("rows");
}

/** Show another number of clusters. Selected rows stay selected; filters by cluster are removed, as clusters change. */
function showPartition(index) {
  state.partition = partitions[index];
  state.filters = state.filters.filter(({ key }) => key !== "cluster");
  for (const block of document.querySelectorAll("[data-partition]")) block.hidden = Number(block.dataset.partition) !== index;
  tell("partition");
  redrawAll();
  tell("rows");
}

function startPartitions() {
  for (const choice of document.querySelectorAll("input[name=partition]")) {
    choice.checked = choice.value === "0";  // browsers remember the state of a form
    choice.addEventListener("change", () => showPartition(Number(choice.value)));
  }
}

/** Buttons that show the lines of a long table beyond the first ones. */
function startFolds() {
  for (const made of document.querySelectorAll("button[data-unfold]")) {
    made.addEventListener("click", () => {
      const block = made.previousElementSibling;
      for (const lines of block.parentElement.querySelectorAll(":scope > table > [data-fold], :scope > .wide > table > [data-fold]")) lines.hidden = false;
      made.remove();
    });
  }
}
