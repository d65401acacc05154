// Colours follow the system's light or dark mode, and printing uses white; all pictures are redrawn on a change.

const redraws = [];

/** Draw now, and redraw whenever the colours change. */
function drawn(draw) {
  redraws.push(draw);
  return draw();
}

let current = null;  // the colours last read from the style sheet

function redrawAll() {
  current = null;
  for (const draw of redraws) draw();
}

function theme() {
  if (current) return current;
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["paper", "ink", "muted", "line", "shade", "accent", "low", "middle", "high", "observed", "missing"];
  const tint = parseFloat(read("tint")) / 100;
  current = Object.fromEntries(names.map((name) => [name, read(name)]));
  current.clusters = found.palette.colours.map((colour) => mixed(colour, tint));
  current.outlier = mixed(found.palette.outlier, tint);
  return current;
}

/** A colour #rrggbb mixed with a fraction of white. */
function mixed(colour, white) {
  const parts = colour.match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
  return `rgb(${parts.map((part) => Math.round(part + white * (255 - part))).join(", ")})`;
}

/** The colour of a cluster, lighter on a dark page. */
function colourOf(cluster) {
  const { clusters, outlier } = theme();
  return cluster < 0 ? outlier : clusters[cluster % clusters.length];
}

/** The common layout of all Plotly pictures. */
function layoutOf(extra) {
  const { paper, ink, muted, line, accent } = theme();
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, tickcolor: line };
  const axes = Object.keys(extra).filter((key) => /^[xy]axis/.test(key));
  const styled = Object.fromEntries(axes.map((key) => [key, { ...axis, ...extra[key] }]));
  return {
    paper_bgcolor: paper,
    plot_bgcolor: paper,
    font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: ink },
    margin: { l: 65, r: 15, t: 15, b: 50 },
    hoverlabel: { bgcolor: paper, bordercolor: line, font: { color: ink } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: muted, activecolor: accent },
    showlegend: false,
    ...extra,
    ...styled,
  };
}

/** Width of the longest name in pixels. (Plotly's automatic margins would draw everything twice.) */
function roomFor(names) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  return Math.max(0, ...names.map((name) => pen.measureText(name).width));
}

/** Ticks of a logarithmic axis at 1, 2 and 5 times each power of ten (only at 1, if these are too many). */
function logTicks(low, high) {
  const decades = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) decades.push(10 ** e);
  const inside = (values) => values.filter((value) => value >= low / 1.2 && value <= high * 1.2);
  const fine = inside(decades.flatMap((unit) => [unit, 2 * unit, 5 * unit]));
  const some = fine.length <= 7 ? fine : inside(decades);
  const tickvals = some.length <= 8 ? some : some.filter((_, i) => i % Math.ceil(some.length / 6) === 0);
  return { type: "log", tickvals, ticktext: tickvals.map(readable) };
}

const CONFIG = {
  responsive: true,
  displaylogo: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toggleSpikelines"],
  toImageButtonOptions: { format: "png", scale: 3 },
};

/** Draw with Plotly. Screen readers get the picture's label and its labelled buttons, not every tick of an axis. */
async function plot(picture, traces, layout, config = CONFIG) {
  await Plotly.react(picture, traces, layout, config);
  for (const drawing of picture.querySelectorAll(".main-svg, canvas")) drawing.setAttribute("aria-hidden", "true");
  for (const button of picture.querySelectorAll(".modebar-btn")) button.setAttribute("aria-label", button.dataset.title);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
matchMedia("print").addEventListener("change", redrawAll);
