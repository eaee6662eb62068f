// SPDX-License-Identifier: Apache-2.0
// Line and bar charts in SVG. Colours come from the style sheet; lines differ in their dashes too.

import { element, svg } from "./dom.js";

const HEIGHT = 168;
const MARGIN = { left: 48, right: 8, top: 8, bottom: 24 };
const NUM_GRID_LINES = 2;
const DEFAULT_WIDTH = 440;

// The frame of a chart: caption, legend, drawing.
class Chart {
  constructor(title, legend) {
    this.title = title;
    this.drawing = svg("svg", { role: "img", class: "chart", height: HEIGHT });
    this.caption = element("span", { class: "caption-value" });
    this.node = element("figure", {},
      element("figcaption", {}, element("span", { class: "caption-title" }, title), this.caption),
      legend, this.drawing);
  }

  get width() {
    return Math.max(this.drawing.getBoundingClientRect().width || DEFAULT_WIDTH, 200);
  }

  // Replaces the drawing; `said` is what it shows, in words.
  draw(parts, said) {
    this.drawing.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.drawing.setAttribute("aria-label", `${this.title}: ${said}`);
    this.drawing.replaceChildren(...parts);
  }

  grid(top, format) {
    const lines = [];
    for (let i = 0; i <= NUM_GRID_LINES; ++i) {
      const part = i / NUM_GRID_LINES;
      const y = yOf(part);
      lines.push(
        svg("line", { class: "grid", x1: MARGIN.left, x2: this.width - MARGIN.right, y1: y, y2: y }),
        svg("text", { class: "tick", x: MARGIN.left - 6, y: y + 4, "text-anchor": "end" },
          format(top * part)));
    }
    return lines;
  }
}

function yOf(part) {
  return MARGIN.top + (HEIGHT - MARGIN.top - MARGIN.bottom) * (1 - part);
}

// The next of 1, 2, 5, 10, 20 … that is no less.
function roundTop(value) {
  const decade = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * decade).find((step) => step >= value * 0.9999);
}

/** Values over the last seconds, one line for each name. */
export class LineChart extends Chart {
  /** `top` is the largest value that can be, or 0 to find it; the axis never ends below `leastTop`. */
  constructor(title, names, { format, seconds, top = 0, leastTop = 1 }) {
    const legend = element("ul", { class: "legend" }, ...names.map((name, i) =>
      element("li", { class: `series-${i}` }, swatch(i), name)));
    super(title, names.length > 1 ? legend : null);
    Object.assign(this, { names, format, seconds, top, leastTop });
  }

  /** `points` are { time, values } in order, times in seconds; a value that is no number is a gap. */
  update(points, now) {
    const shown = points.filter(({ time }) => now - time <= this.seconds);
    const largest = Math.max(0, ...shown.flatMap(({ values }) => values.filter(Number.isFinite)));
    const top = this.top || Math.max(this.leastTop, largest > 0 ? roundTop(largest) : 0);
    const x = (time) => this.width - MARGIN.right -
      (now - time) / this.seconds * (this.width - MARGIN.left - MARGIN.right);
    const lines = this.names.map((_, i) => svg("path", { class: `line series-${i}`,
      d: pathOf(shown.map(({ time, values }) => [x(time), values[i], yOf(values[i] / top)])) }));
    const last = shown[shown.length - 1]?.values ?? [];
    const said = this.names.map((name, i) => `${name} ${this.format(last[i] ?? NaN)}`).join(", ");
    this.draw([...this.grid(top, this.format), ...this.times(x, now), ...lines], said);
  }

  times(x, now) {
    return [this.seconds, this.seconds / 2, 0].map((ago) => svg("text", { class: "tick",
      x: x(now - ago), y: HEIGHT - 6,
      "text-anchor": ago === this.seconds ? "start" : ago === 0 ? "end" : "middle" },
    ago === 0 ? "now" : `−${ago} s`));
  }
}

function swatch(i) {
  return svg("svg", { class: "swatch", viewBox: "0 0 24 8", width: 24, height: 8, "aria-hidden": "true" },
    svg("line", { class: `line series-${i}`, x1: 1, x2: 23, y1: 4, y2: 4 }));
}

function pathOf(points) {
  let isDown = false;
  return points.map(([x, value, y]) => {
    const step = Number.isFinite(value) ? `${isDown ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}` : "";
    isDown = step !== "";
    return step;
  }).join("");
}

/** How many values fell into each bin. */
export class BarChart extends Chart {
  /** `format` writes a bound. */
  constructor(title, format) {
    super(title, null);
    this.format = format;
  }

  update({ bounds, counts }) {
    const first = counts.findIndex((count) => count > 0);
    if (first < 0) {
      this.draw([svg("text", { class: "tick", x: this.width / 2, y: HEIGHT / 2, "text-anchor": "middle" },
        "nothing yet")], "nothing yet");
      return;
    }
    const from = Math.max(0, first - 1);
    const to = Math.min(counts.length - 1, counts.findLastIndex((count) => count > 0) + 1);
    const top = roundTop(Math.max(...counts));
    const step = (this.width - MARGIN.left - MARGIN.right) / (to - from + 1);
    const every = Math.ceil(68 / step); // labels do not touch
    const parts = this.grid(top, (value) => value.toLocaleString("en-US"));
    const said = [];
    for (let i = from; i <= to; ++i) {
      const x = MARGIN.left + step * (i - from);
      const label = Number.isFinite(bounds[i]) ? `≤ ${this.format(bounds[i])}`
        : `> ${this.format(bounds[i - 1])}`;
      const y = yOf(counts[i] / top);
      parts.push(svg("rect", { class: "column", x: x + 1, width: Math.max(step - 2, 1), y, height: yOf(0) - y },
        svg("title", {}, `${label}: ${counts[i]}`)));
      if ((i - from) % every === 0) {
        parts.push(svg("text", { class: "tick", x: x + step / 2, y: HEIGHT - 6, "text-anchor": "middle" },
          label));
      }
      if (counts[i] > 0) {
        said.push(`${label}: ${counts[i]}`);
      }
    }
    this.draw(parts, said.join(", "));
  }
}
