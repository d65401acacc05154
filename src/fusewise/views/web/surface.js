// Two surfaces with the same methods: an SVG, for the screen, for files and for paper, and a canvas, for many rows and
// for PNG files. A picture is painted in the same way on both. Colours and fonts are attributes, so that a saved SVG
// needs no style sheet.

const SVG = "http://www.w3.org/2000/svg";
const MOST_CELLS = 6000;  // larger heat maps are one image

/** Outlines of the markers, of radius 1. */
const OUTLINES = {
  circle: "M1 0A1 1 0 1 1 -1 0A1 1 0 1 1 1 0Z",
  square: "M-.88 -.88H.88V.88H-.88Z",
  diamond: "M0 -1.2L1.2 0L0 1.2L-1.2 0Z",
  "triangle-up": "M0 -1.15L1.1 .85H-1.1Z",
  "triangle-down": "M0 1.15L1.1 -.85H-1.1Z",
  cross: "M-.36 -1.1H.36V-.36H1.1V.36H.36V1.1H-.36V.36H-1.1V-.36H-.36Z",
  x: "M-.52 -1.03L0 -.51L.52 -1.03L1.03 -.52L.51 0L1.03 .52L.52 1.03L0 .51L-.52 1.03L-1.03 .52L-.51 0L-1.03 -.52Z",
  outlier: "M-.82 -1L0 -.18L.82 -1L1 -.82L.18 0L1 .82L.82 1L0 .18L-.82 1L-1 .82L-.18 0L-1 -.82Z",
  star: "M0 -1.3L.32 -.44L1.24 -.4L.52 .17L.76 1.05L0 .55L-.76 1.05L-.52 .17L-1.24 -.4L-.32 -.44Z",
};
const outlineOf = (cluster) => OUTLINES[cluster < 0 ? "outlier" : symbolOf(cluster)];

const measuring = once(() => document.createElement("canvas").getContext("2d"));

/** Width of a text in pixels. */
function widthOf(text, size = 12.5, weight = 400) {
  measuring().font = `${weight} ${size * theme().unit}px ${theme().font}`;
  return measuring().measureText(text).width;
}

/** A text cut to a width in pixels. */
function cutTo(text, width, size) {
  if (widthOf(text, size) <= width) return text;
  let most = text.length;
  while (most > 1 && widthOf(shorten(text, most), size) > width) most--;
  return shorten(text, most);
}

/** What both surfaces share: their size, and the areas that answer to the pointer. */
class Surface {
  constructor(width, height) {
    Object.assign(this, { width, height, areas: [] });
  }

  /** An area of the picture; `tip(x, y)` gives the text of its tooltip, `click(x, y)` is called when it is clicked. */
  area(x, y, width, height, { tip, click } = {}) {
    this.areas.push({ x, y, width, height, tip, click });
  }

  areaAt(x, y) {
    return this.areas.findLast((a) => x >= a.x && x <= a.x + a.width && y >= a.y && y <= a.y + a.height);
  }

  /** Many lines at once, [x1, y1, x2, y2, ...]. */
  segments(ends, style) {
    const parts = [];
    for (let i = 0; i < ends.length; i += 4) parts.push(`M${ends[i].toFixed(1)} ${ends[i + 1].toFixed(1)}L${ends[i + 2].toFixed(1)} ${ends[i + 3].toFixed(1)}`);
    this.path(parts.join(""), { stroke: theme().ink, ...style });
  }

  /** A line through points [[x, y], ...]. */
  line(points, style) {
    this.path(points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""), { stroke: theme().ink, ...style });
  }

  rect(x, y, width, height, style) {
    this.path(`M${x.toFixed(2)} ${y.toFixed(2)}h${width.toFixed(2)}v${height.toFixed(2)}h${(-width).toFixed(2)}Z`, style);
  }

  /** A heat map of rows x columns cells; colour(i, j) is a colour #rrggbb. */
  cells(x, y, width, height, rows, columns, colour, gap = 0) {
    if (rows * columns > MOST_CELLS) return this.image(x, y, width, height, painted(rows, columns, colour));
    const [w, h] = [width / columns, height / rows];
    const same = new Map();  // one path for each colour
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        const fill = colour(i, j);
        if (!same.has(fill)) same.set(fill, []);
        same.get(fill).push(`M${(x + j * w).toFixed(2)} ${(y + i * h).toFixed(2)}h${(w - gap).toFixed(2)}v${(h - gap).toFixed(2)}h${(gap - w).toFixed(2)}Z`);
      }
    }
    for (const [fill, parts] of same) this.path(parts.join(""), { fill });
    return undefined;
  }
}

/** A small canvas with one pixel for each cell. */
function painted(rows, columns, colour) {
  const canvas = element("canvas", { width: columns, height: rows });
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(columns, rows);
  for (let i = 0, at = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++, at += 4) image.data.set([...channels(colour(i, j)), 255], at);
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

class SvgSurface extends Surface {
  constructor(width, height) {
    super(width, height);
    this.node = document.createElementNS(SVG, "svg");
    const view = { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, width, height, "font-family": theme().font, "aria-hidden": "true", focusable: "false" };
    for (const [name, value] of Object.entries(view)) this.node.setAttribute(name, value);
    this.into = this.node;
  }

  add(tag, attributes) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(name, value);
    this.into.append(made);
    return made;
  }

  path(d, { fill = "none", stroke, width = 1, dash, opacity, name }) {
    this.add("path", { d, fill, stroke, "stroke-width": stroke && width, "stroke-dasharray": dash, opacity, class: name, "stroke-linejoin": stroke && "round" });
  }

  text(x, y, text, { fill = theme().ink, size = 12.5, anchor = "start", turn = 0, weight, name } = {}) {
    const turned = turn ? `rotate(${turn} ${x} ${y})` : undefined;
    const look = { fill, "font-size": size * theme().unit, "text-anchor": anchor, transform: turned, "font-weight": weight, class: name };
    this.add("text", { x: x.toFixed(1), y: y.toFixed(1), dy: "0.35em", ...look }).textContent = text;
  }

  /** Markers of one kind at xs[i], ys[i]. */
  markers(outline, xs, ys, radius, { fill, opacity, stroke, width = 0.6 }) {
    const group = this.add("g", { fill, opacity, stroke, "stroke-width": stroke && width / radius });
    const outer = this.into;
    this.into = group;
    for (let i = 0; i < xs.length; i++) this.add("path", { d: outline, transform: `translate(${xs[i].toFixed(1)} ${ys[i].toFixed(1)})scale(${radius})` });
    this.into = outer;
  }

  image(x, y, width, height, canvas) {
    this.add("image", { x, y, width, height, preserveAspectRatio: "none", style: "image-rendering: pixelated", href: canvas.toDataURL() });
  }

  clipped(x, y, width, height, paint) {
    const id = `clip-${SvgSurface.clips = (SvgSurface.clips ?? 0) + 1}`;
    const outer = this.into;
    this.into = this.add("clipPath", { id });
    this.add("rect", { x, y, width, height });
    this.into = outer;
    this.into = this.add("g", { "clip-path": `url(#${id})` });
    paint();
    this.into = outer;
  }
}

class CanvasSurface extends Surface {
  constructor(width, height, { ratio = Math.min(devicePixelRatio || 1, 2), node = element("canvas"), forFile = false } = {}) {
    super(width, height);
    this.node = node;
    node.setAttribute("aria-hidden", "true");
    node.width = Math.round(width * ratio);
    node.height = Math.round(height * ratio);
    this.ratio = ratio;
    this.pen = node.getContext("2d", { willReadFrequently: forFile });
    this.pen.scale(ratio, ratio);
  }

  path(d, { fill, stroke, width = 1, dash, opacity = 1 }) {
    const { pen } = this, path = new Path2D(d);
    pen.globalAlpha = opacity;
    if (fill && fill !== "none") { pen.fillStyle = fill; pen.fill(path); }
    if (stroke) {
      pen.setLineDash(dash ? dash.split(" ").map(Number) : []);
      pen.strokeStyle = stroke;
      pen.lineWidth = width;
      pen.lineJoin = "round";
      pen.stroke(path);
    }
    pen.globalAlpha = 1;
  }

  text(x, y, text, { fill = theme().ink, size = 12.5, anchor = "start", turn = 0, weight = 400 } = {}) {
    const { pen } = this;
    pen.save();
    pen.translate(x, y);
    pen.rotate((turn * Math.PI) / 180);
    pen.font = `${weight} ${size * theme().unit}px ${theme().font}`;
    pen.textAlign = { start: "left", middle: "center", end: "right" }[anchor];
    pen.textBaseline = "middle";
    pen.fillStyle = fill;
    pen.fillText(text, 0, 0);
    pen.restore();
  }

  /** Markers are drawn once and copied, which is fast for tens of thousands. */
  markers(outline, xs, ys, radius, { fill, opacity = 1, stroke, width = 0.6 }) {
    const { pen, ratio } = this;
    const size = 2.6 * radius + 2;
    const stamp = element("canvas");
    stamp.width = stamp.height = Math.ceil(size * ratio);
    const ink = stamp.getContext("2d");
    ink.scale(ratio, ratio);
    ink.translate(size / 2, size / 2);
    ink.scale(radius, radius);
    const path = new Path2D(outline);
    ink.fillStyle = fill;
    ink.fill(path);
    if (stroke) { ink.strokeStyle = stroke; ink.lineWidth = width / radius; ink.stroke(path); }
    pen.globalAlpha = opacity;
    for (let i = 0; i < xs.length; i++) pen.drawImage(stamp, xs[i] - size / 2, ys[i] - size / 2, size, size);
    pen.globalAlpha = 1;
  }

  image(x, y, width, height, canvas) {
    this.pen.imageSmoothingEnabled = false;
    this.pen.drawImage(canvas, x, y, width, height);
  }

  clipped(x, y, width, height, paint) {
    this.pen.save();
    this.pen.beginPath();
    this.pen.rect(x, y, width, height);
    this.pen.clip();
    paint();
    this.pen.restore();
  }
}
