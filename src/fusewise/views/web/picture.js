// A picture: it is painted on a surface, answers to the pointer, and can be saved or copied.

const PAPER_WIDTH = 680;  // pixels between the margins of a page of paper
const MOST_VECTOR = 6000; // rows drawn as vectors on paper and in SVG files that are printed
const PNG_SCALE = 3, MOST_PIXELS = 3000;  // how much larger a PNG is than on the screen, and how wide at most
const pictures = [];

/** Redraw all pictures that are on the page, after a change of colours, of size, or of the partition. */
function redrawAll() {
  current = null;
  for (const picture of pictures) picture.draw();
}

class Picture {
  /**
   * @param {string} id of the element that holds the picture
   * @param {(surface: Surface) => void} paint
   * @param {{height: (width: number) => number, canvas?: boolean, file?: string}} options: its height at a width,
   *   whether it is a canvas on the screen, and the name of its files
   */
  constructor(id, paint, { height, canvas = false, file = id }) {
    Object.assign(this, { host: document.getElementById(id), paint, heightAt: height, canvas, file, width: 0 });
    pictures.push(this);
    this.host.addEventListener("pointermove", (event) => this.point(event));
    this.host.addEventListener("pointerleave", hideTooltip);
    this.host.addEventListener("click", (event) => this.click(event));
    this.host.after(this.tools());
    new ResizeObserver(() => !isOnPaper() && Math.abs(this.host.clientWidth - this.width) > 1 && this.draw()).observe(this.host);
    this.draw();
  }

  draw() {
    this.width = isOnPaper() ? PAPER_WIDTH : this.host.clientWidth;
    if (!this.width) return;  // hidden: drawn when it is shown
    const vector = isOnPaper() ? N <= MOST_VECTOR : !this.canvas;
    const used = this.surface instanceof CanvasSurface ? this.surface.node : undefined;
    this.surface = this.painted((w, h) => (vector ? new SvgSurface(w, h) : new CanvasSurface(w, h, { ratio: isOnPaper() ? 2 : undefined, node: used })));
    if (this.host.firstChild !== this.surface.node) this.host.replaceChildren(this.surface.node);
  }

  painted(make) {
    const width = this.width || PAPER_WIDTH;
    const surface = make(width, Math.round(this.heightAt(width)));
    this.paint(surface);
    return surface;
  }

  /** The picture in the colours of paper, on a white ground. */
  forFile(make) {
    const root = document.documentElement;
    root.dataset.paper = "";
    current = null;
    const surface = this.painted((width, height) => {
      const made = make(width, height);
      made.rect(0, 0, width, height, { fill: theme().paper });
      return made;
    });
    delete root.dataset.paper;
    current = null;
    return surface;
  }

  svgText() {
    const { node } = this.forFile((width, height) => new SvgSurface(width, height));
    node.removeAttribute("aria-hidden");
    return new XMLSerializer().serializeToString(node);
  }

  toSvg() {
    return new Blob([this.svgText()], { type: "image/svg+xml" });
  }

  toPng() {
    const { node } = this.forFile((width, height) => new CanvasSurface(width, height, { ratio: Math.min(PNG_SCALE, MOST_PIXELS / width), forFile: true }));
    const text = atob(node.toDataURL().split(",")[1]);  // toBlob waits until the browser is idle
    return new Blob([Uint8Array.from(text, (sign) => sign.charCodeAt(0))], { type: "image/png" });
  }

  tools() {
    const what = this.host.ariaLabel?.split(".")[0] ?? this.file;
    const named = (text) => ({ "aria-label": `${text}: ${what}`, class: "tool" });
    const bar = element("div", { class: "tools" },
      button("SVG", () => save(`${this.file}.svg`, this.toSvg()), named("Save as SVG")),
      button("PNG", () => save(`${this.file}.png`, this.toPng()), named("Save as PNG")));
    if (navigator.clipboard?.write && window.ClipboardItem) {
      bar.append(
        copier("Copy SVG", () => navigator.clipboard.writeText(this.svgText()), named("Copy as SVG")),
        copier("Copy PNG", () => navigator.clipboard.write([new ClipboardItem({ "image/png": this.toPng() })]), named("Copy as PNG")));
    }
    return bar;
  }

  /** The area under the pointer, and where in the picture the pointer is. */
  under(event) {
    const box = this.host.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    return { area: this.surface?.areaAt(x, y), x, y };
  }

  point(event) {
    const { area, x, y } = this.under(event);
    const words = area?.tip?.(x, y);
    this.host.style.cursor = area?.click ? "pointer" : "";
    if (words) showTooltip(event, words); else hideTooltip();
  }

  click(event) {
    const { area, x, y } = this.under(event);
    area?.click?.(x, y, event);
  }
}

/** A button that copies something to the clipboard, and says whether it could. */
function copier(text, copy, attributes) {
  const say = (words) => { made.textContent = words; setTimeout(() => { made.textContent = text; }, 2000); };
  const made = button(text, () => copy().then(() => say("Copied"), () => say("Copying is not allowed here")), attributes);
  return made;
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

function hideTooltip() {
  document.getElementById("tooltip").hidden = true;
}

/** Paint the axes of a plot in a box {left, top, right, bottom}: x below, y on the left with its title above. */
function paintAxes(surface, { left, top, right, bottom }, { x, y, xTitle, yTitle }) {
  const { line, muted, unit } = theme();
  for (const { at, text } of x?.ticks ?? []) {
    surface.segments([at, top, at, bottom + 4], { stroke: line });
    surface.text(at, bottom + 13 * unit, text, { anchor: "middle", fill: muted, size: 11.5, name: "x-tick" });
  }
  for (const { at, text } of y?.ticks ?? []) {
    surface.segments([left - 4, at, right, at], { stroke: line });
    surface.text(left - 7, at, text, { anchor: "end", fill: muted, size: 11.5, name: "y-tick" });
  }
  if (xTitle) surface.text(right, bottom + 31 * unit, xTitle, { anchor: "end", fill: muted });
  if (yTitle) surface.text(0, Math.max(9 * unit, top - 18 * unit), yTitle, { fill: muted });
}

/** Room for the ticks on the left. */
const roomFor = ({ ticks }) => 12 + Math.max(0, ...ticks.map(({ text }) => widthOf(text, 11.5)));

function startPictures() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  onPaper.addEventListener("change", redrawAll);
  const turnTo = (paper) => {
    isPrinting = paper;
    document.documentElement.toggleAttribute("data-paper", paper);
    redrawAll();
  };
  addEventListener("beforeprint", () => turnTo(true));
  addEventListener("afterprint", () => turnTo(false));
  addEventListener("scroll", hideTooltip, { passive: true });
}
