// A figure against an axis of a sweep: medians with their least and largest values, and what others
// published. Own SVG: dygraphs has no categories, no error bars and no marks of different kinds.

const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

const numeric = (x) => (typeof x === "number" ? x : typeof x === "string" && x.trim() !== "" ? Number(x) : NaN);

// Marks of points, as paths round the origin; each has a dash of its own (s0, s1, ... in the style).
const MARKS = ["M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0", "M-3.3 -3.3h6.6v6.6h-6.6z", "M0 -4.4L4.2 3.2H-4.2z", "M0 4.4L4.2 -3.2H-4.2z",
  "M-4 -1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z", "M0 -5L2.6 0L0 5L-2.6 0z"];

function mark({ colour, stroke }, x, y, hint) {
  return svg("path", { d: MARKS[stroke], transform: `translate(${x} ${y})`, class: `solid ${colour}` }, svg("title", {}, hint));
}

// A plot of results.json with all its points in one form.
function readPlot(plot) {
  // Colours are of the first axis, dashes and marks of all others together, so that what belongs together looks alike.
  const [firsts, others] = [(of) => of[0], (of) => of.slice(1).join(", ")].map((part) => [part, new Map()]);
  const placeOf = ([part, known], of) => known.set(part(of), known.get(part(of)) ?? known.size).get(part(of));
  const series = (plot.data ?? []).map(({ series: name, of, points }) => ({ name, points,
    colour: colourOf(placeOf(firsts, of ?? [name])), stroke: placeOf(others, of ?? [name]) % MARKS.length }));
  const published = (plot.published ?? []).map((one) => ({ ...one,
    points: (one.points ?? []).map((point) => (Array.isArray(point) ? { x: point[0], y: point[1] } : point)),
    colour: series.find(({ name }) => name === one.series)?.colour ?? "ink" }));
  const all = [...series, ...published].flatMap(({ points }) => points);
  const names = [...new Set(all.map(({ x }) => String(x)))];
  const stacked = (plot.stack ?? []).length > 0;
  const numbers = !stacked && names.length > 1 && names.every((name) => Number.isFinite(numeric(name)));
  if (numbers) names.sort((a, b) => numeric(a) - numeric(b));
  // Of parts of a stack: those before the `end`.
  const total = (name, end) => series.slice(0, end).reduce((sum, { points }) =>
    sum + (points.find(({ x }) => String(x) === name)?.median ?? 0), 0);
  const values = (stacked ? names.map((name) => total(name)) : all.flatMap((point) => [point.median ?? point.y, point.min, point.max]))
    .filter(Number.isFinite);
  // A course over time rather than a handful of settings: a line, and round numbers below it.
  const course = numbers && (plot.x === "time" || names.length > 24);
  return { ...plot, series, published, names, numbers, stacked, total, course, values };
}

// Round values, some six of them, that lie in a range.
function roundTicks(from, to) {
  const rough = (to - from) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough);
  const ticks = [];
  for (let at = Math.ceil(from / step); at * step <= to; ++at) ticks.push(at * step);
  return ticks;
}

// From x to a share of the width. Numbers that double, as threads do, stand evenly.
function xScale(plot) {
  const { names, numbers } = plot;
  if (!numbers) return (x) => (names.indexOf(String(x)) + 0.5) / names.length;
  const [least, most] = [numeric(names[0]), numeric(names.at(-1))];
  if (plot.course) return (x) => (numeric(x) - Math.min(0, least)) / (most - Math.min(0, least));
  const log = least > 0 && most / least >= 8;
  const place = (x) => (log ? Math.log(x) : x);
  return (x) => 0.06 + 0.88 * (place(numeric(x)) - place(least)) / (place(most) - place(least));
}

function yScale(plot) {
  const most = Math.max(...plot.values);
  const least = Math.min(...plot.values);
  if (plot.scale === "log" && least > 0) {
    const from = 10 ** Math.floor(Math.log10(least));
    const to = 10 ** Math.ceil(Math.log10(most) + 1e-9);
    const ticks = [];
    for (let decade = from; decade <= to * 1.001; decade *= 10) {
      for (const factor of to / from > 1000 ? [1] : [1, 2, 5]) if (decade * factor <= to * 1.001) ticks.push(decade * factor);
    }
    return { ticks, share: (y) => Math.log(y / from) / Math.log(to / from) };
  }
  const from = Math.min(0, 1.08 * least);
  const to = 1.08 * most || 1;
  return { ticks: roundTicks(from, to), share: (y) => (y - from) / (to - from) };
}

const tickText = (value) => (Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(0)
  : grouped(String(+value.toPrecision(4))));

// The published ones: hollow diamonds.
function diamond(x, y, colour, hint) {
  const r = 5;
  return svg("path", { d: `M${x} ${y - r}L${x + r} ${y}L${x} ${y + r}L${x - r} ${y}Z`, class: `published ${colour}` },
    svg("title", {}, hint));
}

class SweepPlot {
  constructor(plot) {
    this.plot = readPlot(plot);
    this.area = make("div", { class: "area" });
    const { series, published } = this.plot;
    const unit = plot.relative_to && Object.keys(plot.relative_to).length
      ? `${plot.y}, as a multiple of that at ${typeof plot.relative_to === "object"
        ? Object.entries(plot.relative_to).map((pair) => pair.join(" = ")).join(", ") : plot.relative_to}` : plot.y;
    this.root = card(plot.title, { class: "wide" },
      make("p", { class: "note" }, `${unit} by ${plot.x}`),
      this.area,
      make("ul", { class: "legend flow" }, ...series.map((one) => make("li", {}, this.key(one),
        make("span", { class: "name" }, one.name || plot.y))),
      ...published.map(({ series: name, colour, mark, source }) => make("li", { class: "source" },
        svg("svg", { class: "key", viewBox: "0 0 12 12", width: 12, height: 12 }, this.plot.stacked
          ? svg("path", { class: "trace dashed ink", d: "M0 6h12" }) : diamond(6, 6, colour, "published")),
        make("span", { class: "name" }, `${name || "published"}, published${mark ? ` (${mark})` : ""}: ${source ?? ""}`)))),
      make("p", { class: "note" }, [this.repeats(), plot.note].filter(Boolean).join(" ")));
  }

  // As the series is drawn.
  key(one) {
    if (!this.plot.numbers) return make("span", { class: `swatch b${one.stroke} ${one.colour}` });
    return svg("svg", { class: "key line", viewBox: "0 0 34 12", width: 34, height: 12 },
      svg("path", { d: "M0 6H34", class: `trace s${one.stroke} ${one.colour}` }), this.plot.course ? null : mark(one, 17, 6, one.name));
  }

  repeats() {
    const counts = [...new Set(this.plot.series.flatMap(({ points }) => points.map(({ n }) => n)))].filter(Boolean).sort((a, b) => a - b);
    if (counts.length === 0) return "";
    const many = counts.length > 1 ? `${counts[0]} to ${counts.at(-1)}` : counts[0];
    if (counts.at(-1) === 1) return "One run each.";
    return `Medians of ${many} runs${this.plot.stacked ? "" : ", bars from the least to the largest"}.`;
  }

  draw() {
    const size = { w: Math.max(240, this.area.clientWidth), h: 260, left: 52, right: 8, top: 10, bottom: 34 };
    const { plot } = this;
    const x = xScale(plot);
    const y = yScale(plot);
    const at = { x: (value) => size.left + x(value) * (size.w - size.left - size.right),
      y: (value) => size.h - size.bottom - y.share(value) * (size.h - size.top - size.bottom) };
    const parts = [...this.frame(size, at, y), ...plot.series.flatMap((one, index) => this.line(one, index, size, at)),
      ...plot.published.flatMap((one) => this.marks(one, size, at))];
    this.area.replaceChildren(svg("svg", { width: size.w, height: size.h, viewBox: `0 0 ${size.w} ${size.h}`, role: "img",
      "aria-label": plot.title }, ...parts));
  }

  frame(size, at, y) {
    const lines = y.ticks.flatMap((value) => [
      svg("line", { x1: size.left, x2: size.w - size.right, y1: at.y(value), y2: at.y(value), class: "gridline" }),
      svg("text", { x: size.left - 6, y: at.y(value) + 4, class: "tick end" }, tickText(value))]);
    const room = (size.w - size.left - size.right) / this.plot.names.length;
    const below = this.plot.course ? roundTicks(Math.min(0, numeric(this.plot.names[0])), numeric(this.plot.names.at(-1))).map(String)
      : this.plot.names;
    const names = below.map((name) => {
      const most = Math.max(3, Math.floor(room / 6.5));
      const text = name.length > most && !this.plot.numbers ? `${name.slice(0, most - 1)}…` : name;
      return svg("text", { x: at.x(name), y: size.h - size.bottom + 18, class: "tick middle" }, text, svg("title", {}, name));
    });
    return [...lines, ...names];
  }

  // Categories have bars beside one another, numbers a line.
  offset(index, size) {
    if (this.plot.numbers) return { dx: 0, width: 0 };
    const room = 0.7 * (size.w - size.left - size.right) / this.plot.names.length;
    if (this.plot.stacked) return { dx: 0, width: Math.min(80, room) };
    const width = Math.min(40, room / this.plot.series.length);
    return { dx: (index - (this.plot.series.length - 1) / 2) * width, width: 0.86 * width };
  }

  // What lies below a part of a stack.
  below(index, name) {
    return this.plot.stacked ? this.plot.total(name, index) : 0;
  }

  line(one, index, size, at) {
    const { dx, width } = this.offset(index, size);
    const points = this.plot.names.flatMap((name) => one.points.filter((point) => String(point.x) === name && Number.isFinite(point.median)));
    const hint = (point) => `${one.name} at ${point.x}: ${tickText(point.median)}`
      + (point.n > 1 ? ` (${tickText(point.min)} to ${tickText(point.max)}, ${point.n} runs)` : "");
    const parts = this.plot.course ? [] : points.flatMap((point) => {
      const below = this.below(index, String(point.x));
      const [px, py] = [at.x(point.x) + dx, at.y(below + point.median)];
      const bar = point.max > point.min && !this.plot.stacked ? svg("path", { class: `error ${width ? "ink" : one.colour}`,
        d: `M${px} ${at.y(point.min)}V${at.y(point.max)}M${px - 4} ${at.y(point.min)}h8M${px - 4} ${at.y(point.max)}h8` }) : null;
      const zero = this.plot.scale === "log" ? size.h - size.bottom : at.y(below);
      const shape = width ? svg("rect", { x: px - width / 2, width, y: Math.min(py, zero), height: Math.abs(zero - py),
        class: `solid b${one.stroke} ${one.colour}` }, svg("title", {}, hint(point))) : mark(one, px, py, hint(point));
      return [shape, bar].filter(Boolean);
    });
    if (width || points.length < 2) return parts;
    return [svg("path", { class: `trace s${one.stroke} ${one.colour}`, d: `M${points.map((point) => `${at.x(point.x)} ${at.y(point.median)}`).join("L")}` }),
      ...parts];
  }

  // Of a stack others have published shares of the whole: a line across each bar, where the part would end.
  shares(one, size, at) {
    const index = Math.max(0, this.plot.series.findIndex(({ name }) => name === one.series));
    const { width } = this.offset(0, size);
    return one.points.filter(({ y }) => Number.isFinite(y)).flatMap(({ x, y }) => {
      const [px, py] = [at.x(x), at.y(this.below(index, String(x)) + y * this.plot.total(String(x)))];
      const share = `${tickText(100 * y)} %`;
      return [svg("path", { class: "trace dashed ink", d: `M${px - width / 2 - 4} ${py}h${width + 8}` },
        svg("title", {}, `${one.series} at ${x}, published: ${share} of the whole (${one.mark ?? ""} ${one.source ?? ""})`)),
      svg("text", { x: px + width / 2 + 8, y: py + 4, class: "tick" }, share)];
    });
  }

  marks(one, size, at) {
    if (this.plot.stacked) return this.shares(one, size, at);
    const { dx } = this.offset(Math.max(0, this.plot.series.findIndex(({ name }) => name === one.series)), size);
    const points = one.points.filter((point) => Number.isFinite(point.y));
    const place = (point) => [at.x(point.x) + dx, at.y(point.y)];
    const trace = this.plot.numbers && points.length > 1
      ? [svg("path", { class: `trace dashed ${one.colour}`, d: `M${points.map((point) => place(point).join(" ")).join("L")}` })] : [];
    return [...trace, ...points.map((point) => diamond(...place(point), one.colour,
      `${one.series || "published"} at ${point.x}, published: ${tickText(point.y)} (${one.mark ?? ""} ${one.source ?? ""})`))];
  }
}
