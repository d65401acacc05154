// The result of the model, read from the JSON at the end of the page (see payload.py).

const KINDS = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, i2: Int16Array, i4: Int32Array };

/** Decode an array written by packing.packed, in row-major order. */
function unpack({ kind, bytes }) {
  const text = atob(bytes);
  const raw = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) raw[i] = text.charCodeAt(i);
  return new KINDS[kind](raw.buffer);
}

/** A function that returns the result of `make`, computed on first use. */
function once(make) {
  let made;
  return () => (made ??= make());
}

const found = JSON.parse(document.getElementById("data").textContent);
const names = found.rows.names;
const N = names.length;  // rows in the page
const hasRows = N > 0;  // a page for others may show groups only

const symbolOf = (cluster) =>
  found.palette.symbols[Math.floor(cluster / found.palette.colours.length) % found.palette.symbols.length];

const clusterName = (cluster) => (cluster < 0 ? "outlier" : `cluster ${cluster}`);

/** "1 row", "2,000 rows". */
const counted = (n, one, many = `${one}s`) => `${n.toLocaleString("en-GB")} ${n === 1 ? one : many}`;

/** A share in percent: "0%" and "100%" only if it is exactly that. */
const percent = (share, digits = 0) => {
  const least = 0.5 / 10 ** (digits + 2);
  if (share > 0 && share < least) return `<${10 ** -digits}%`;
  return share < 1 && share >= 1 - least ? `>${100 - 10 ** -digits}%` : `${(100 * share).toFixed(digits)}%`;
};

/** Format a number with three or four significant digits. */
function readable(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const digits = { useGrouping: size >= 9999.5, ...(size >= 100 && size < 1e7 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 }) };  // a year is 1995
  return size !== 0 && (size < 1e-4 || size >= 1e7)
    ? value.toExponential(2).replace(/-/g, "−")
    : value.toLocaleString("en-GB", digits).replace("-", "−");
}

function shorten(text, most = 28) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** A text without its middle, in whole words if it has some: long names often begin alike. */
function shortenMiddle(text, most) {
  if (text.length <= most) return text;
  const first = text.slice(0, Math.ceil(most / 2)), last = text.slice(text.length - Math.floor(most / 2) + 1);
  return `${first.replace(/\s+\S*$/, "")}…${last.replace(/^\S*\s+/, "")}`;
}

/** The name of a feature, shortened; of "column=level" the column first, so that levels can be told apart. */
function shortenFeature(text, most) {
  const at = text.lastIndexOf("=");
  if (text.length <= most || at < 0) return shortenMiddle(text, most);
  const level = shortenMiddle(text.slice(at), Math.ceil(0.5 * most));
  return `${shortenMiddle(text.slice(0, at), most - level.length)}${level}`;
}

/** Create an element with children; strings are inserted as text, never as HTML. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Create a button that calls `act`. */
function button(text, act, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}
