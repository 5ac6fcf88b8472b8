// A sweep in parallel coordinates: an upright line for each axis and each headline figure, and a trace for each cell that
// goes through its values. The colour is that of the cell's value on the first axis.

const MOST_FIGURES = 3;

function cellsOf(report, figures) {
  const cells = new Map();
  for (const row of report.rows.filter((one) => one.status === "ok")) {
    const key = JSON.stringify(report.axes.map((axis) => row.cell?.[axis.key] ?? null));
    if (!cells.has(key)) cells.set(key, { at: row.cell ?? {}, values: figures.map(() => []) });
    figures.forEach((name, index) => Number.isFinite(row.figures?.[name]) && cells.get(key).values[index].push(row.figures[name]));
  }
  return [...cells.values()].filter(({ values }) => values.every((list) => list.length > 0));
}

function medianOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

class ParallelPlot {
  constructor(report) {
    this.axes = report.axes.filter(({ values }) => values.length > 1);
    this.figures = (report.columns ?? report.figure_names).filter((name) => report.figure_names.includes(name)).slice(0, MOST_FIGURES);
    this.cells = this.axes.length > 0 && this.figures.length > 0 ? cellsOf(report, this.figures) : [];
    this.area = make("div", { class: "parallel" });
    this.root = this.cells.length < 2 ? null : card("All cells in parallel coordinates", { class: "full" },
      make("p", { class: "note" }, `Each line is a cell: its settings, then its medians. The colour is the value of ${this.axes[0].key}.`), this.area);
  }

  // The place of a cell on a line, as a share of its height.
  place(cell, line) {
    if (line < this.axes.length) {
      const { key, values } = this.axes[line];
      return values.length < 2 ? 0.5 : values.map(String).indexOf(String(cell.at[key])) / (values.length - 1);
    }
    const all = this.cells.map(({ values }) => medianOf(values[line - this.axes.length]));
    const [least, most] = [Math.min(...all), Math.max(...all)];
    return most > least ? (medianOf(cell.values[line - this.axes.length]) - least) / (most - least) : 0.5;
  }

  ticks(line) {
    if (line < this.axes.length) return this.axes[line].values.map((value, at, all) => [String(value), all.length < 2 ? 0.5 : at / (all.length - 1)]);
    const all = this.cells.map(({ values }) => medianOf(values[line - this.axes.length]));
    const [least, most] = [Math.min(...all), Math.max(...all)];
    return most > least ? [[tickText(least), 0], [tickText(most), 1]] : [[tickText(least), 0.5]];
  }

  draw() {
    if (!this.root) return;
    const names = [...this.axes.map(({ key }) => key), ...this.figures];
    // On a narrow screen the area scrolls, so that the labels of two lines never overlap.
    const size = { w: Math.max(110 * names.length, this.area.clientWidth), h: 280, side: 56, top: 34, bottom: 14 };
    const x = (line) => size.side + (names.length < 2 ? 0 : line * (size.w - 2 * size.side) / (names.length - 1));
    const y = (share) => size.h - size.bottom - share * (size.h - size.top - size.bottom);
    const most = Math.max(4, Math.floor((size.w / names.length - 12) / 6.6));
    const cut = (text) => (text.length > most ? `…${text.slice(1 - most)}` : text);
    const lines = names.flatMap((name, line) => [
      svg("line", { x1: x(line), x2: x(line), y1: y(0), y2: y(1), class: "gridline" }),
      svg("text", { x: x(line), y: 14, class: "tick middle" }, cut(name), svg("title", {}, name)),
      ...this.ticks(line).map(([text, share]) => svg("text", { x: x(line) + 6, y: y(share) + 4, class: "tick" }, cut(text), svg("title", {}, text)))]);
    const first = this.axes[0].values.map(String);
    const traces = this.cells.map((cell) => svg("path", { class: `trace ${colourOf(Math.max(0, first.indexOf(String(cell.at[this.axes[0].key]))))}`,
      d: `M${names.map((_, line) => `${x(line)} ${y(this.place(cell, line))}`).join("L")}` },
    svg("title", {}, [...this.axes.map(({ key }) => `${key}=${cell.at[key]}`),
      ...this.figures.map((name, at) => `${name} ${tickText(medianOf(cell.values[at]))}`)].join(", "))));
    this.area.replaceChildren(svg("svg", { width: size.w, height: size.h, viewBox: `0 0 ${size.w} ${size.h}`, role: "img",
      "aria-label": "parallel coordinates" }, ...traces, ...lines));
  }
}
