// Colours follow the system's light or dark mode, and paper is white; all pictures are redrawn on a change.

const PAPER_UNIT = 11 / 12;  // text of 11 points instead of 16 pixels
const onPaper = matchMedia("print");
let isPrinting = false;  // the browser is about to print: pages are counted before the media change
const isOnPaper = () => isPrinting || onPaper.matches;
let current = null;  // the colours last read from the style sheet

function theme() {
  if (current) return current;
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["paper", "ink", "muted", "line", "shade", "accent", "low", "middle", "high", "observed", "missing", "blank"];
  const tint = parseFloat(read("tint")) / 100;
  current = Object.fromEntries(names.map((name) => [name, read(name)]));
  current.clusters = found.palette.colours.map((colour) => mixed(colour, "#ffffff", tint));
  current.outlier = mixed(found.palette.outlier, "#ffffff", tint);
  current.font = getComputedStyle(document.body).fontFamily;
  current.unit = isOnPaper() ? PAPER_UNIT : Math.min(2, parseFloat(style.fontSize) / 16);  // text in pictures grows with that of the page
  return current;
}

const channels = (colour) => colour.match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));

/** A colour #rrggbb mixed with a fraction of another. */
function mixed(colour, other, fraction) {
  const [from, to] = [channels(colour), channels(other)];
  return `#${from.map((part, i) => Math.round(part + fraction * (to[i] - part)).toString(16).padStart(2, "0")).join("")}`;
}

/** The colour of a cluster, lighter on a dark page. */
function colourOf(cluster) {
  const { clusters, outlier } = theme();
  return cluster < 0 ? outlier : clusters[cluster % clusters.length];
}

/** The colour of a value between -1 and 1 on the scale low - middle - high. */
function diverging(value) {
  const { low, middle, high } = theme();
  return mixed(middle, value < 0 ? low : high, Math.min(1, Math.abs(value)));
}
