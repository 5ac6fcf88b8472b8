// Charts over the time of a run, or of several: they share time and cursor.

// The device's time becomes known when a step has ended: in row k, values of what was observed since the row before.
// They are put where they belong, in rows that end at t; null: not known.
function spread(values, observed, t) {
  const pieces = [];
  let end = 0;
  values.forEach((value, row) => {
    const begin = end;
    end = observed[row] ?? end;
    if (value != null) pieces.push({ begin, end, value });
  });
  let first = 0;
  return t.map((to, row) => {
    const from = row === 0 ? 0 : t[row - 1];
    let sum = 0;
    let known = 0;
    while (first < pieces.length && pieces[first].end <= from) ++first;
    for (let at = first; at < pieces.length && pieces[at].begin < to; ++at) {
      const part = Math.min(to, pieces[at].end) - Math.max(from, pieces[at].begin);
      sum += part * pieces[at].value;
      known += part;
    }
    return known > 0 ? sum / known : null;
  });
}

// Columns of equal length; `end` names the one with the end of each piece, in seconds of the loop.
class Course {
  constructor(table, end) {
    this.table = table ?? {};
    this.t = this.table[end] ?? [];
    this.begins = this.t.map((_, row) => (row === 0 ? 0 : this.t[row - 1]));
    if (table?.["device.observed_s"]) {
      this.table = { ...table };
      for (const name of Object.keys(table).filter((column) => /^device\..*_share/.test(column))) {
        this.table[name] = spread(table[name], table["device.observed_s"], this.t);
      }
    }
  }

  has(name) {
    return Boolean(this.table[name]?.some((value) => value != null));
  }

  at(name, row) {
    return this.table[name]?.[row] ?? null;
  }
}

// One chart; lines: [{name, colour, course, column}]. Those of one course are drawn over its pieces.
class CourseChart {
  constructor(group, title, lines, look = {}) {
    this.lines = lines.filter((line) => line.course.has(line.column));
    this.course = this.lines[0]?.course;
    this.single = this.lines.every((line) => line.course === this.course);
    const legend = lines.length > 1 || look.legend ? make("ul", { class: "legend" }) : null;
    this.root = card(title, { class: look.wide ? "wide" : "" }, make("div", { class: "plot" }), legend,
      look.note ? make("p", { class: "note" }, look.note) : null);
    // Several runs have their points at different moments, and are drawn as lines.
    const spec = { ...look, line: look.line || !this.single, values: (_, row) => this.values(row),
      colour: (name) => this.lines.find((line) => line.name === name).colour };
    this.chart = new Chart(this.root, spec, group);
    legend?.append(...this.lines.map((line) => legendItem(line.name, line.colour, make("b", {},
      line.exact ? show(line.exact, "share") : this.summary(line, look)))));
    group.add(this);
  }

  // The mean over the time, or the last value of what is one.
  summary(line, look) {
    const { t, begins } = line.course;
    let sum = 0;
    let time = 0;
    let last = null;
    t.forEach((end, row) => {
      const value = line.course.at(line.column, row);
      if (value === null) return;
      sum += value * (end - begins[row]);
      time += end - begins[row];
      last = value;
    });
    const value = look.line ? last : time > 0 ? sum / time : null;
    return value === null ? "" : (look.format ?? FORMATS.share)(value);
  }

  value(line, row) {
    return line.course.at(line.column, row);
  }

  values(row) {
    return this.single ? this.lines.map((line) => this.value(line, row)) : this.merged[row]?.slice(1);
  }

  rows() {
    if (!this.single) return this.merged ??= this.mergedRows();
    const { t, begins } = this.course;
    const { line, stacked } = this.chart.spec;
    const rows = t.map((end, row) => [line ? end : begins[row],
      ...this.values(row).map((value) => value ?? (stacked ? 0 : null))]);
    // A step needs its end.
    if (!line && rows.length > 0) rows.push([t.at(-1), ...rows.at(-1).slice(1)]);
    return rows;
  }

  mergedRows() {
    const rows = new Map();
    this.lines.forEach((line, at) => line.course.t.forEach((end, row) => {
      const value = this.value(line, row);
      if (value === null) return;
      if (!rows.has(end)) rows.set(end, [end, ...this.lines.map(() => null)]);
      rows.get(end)[at + 1] = value;
    }));
    return [...rows.values()].sort((a, b) => a[0] - b[0]);
  }

  times() {
    return this.single ? this.course?.t ?? [] : this.rows().map((row) => row[0]);
  }

  draw() {
    if (this.lines.length === 0) return this.chart.draw([], []);
    const names = this.lines.map((line) => line.name);
    const rows = this.rows();
    if (!this.chart.spec.stacked) return this.chart.draw(names, rows);
    // The last series is the one at the base.
    this.chart.draw(names.reverse(), rows.map(([x, ...values]) => [x, ...values.reverse()]));
  }
}

class CourseGroup {
  constructor() {
    this.charts = [];
  }

  add(chart) {
    this.charts.push(chart);
  }

  draw() {
    for (const chart of this.charts) chart.draw();
  }

  owner(source) {
    return this.charts.find((chart) => chart.chart === source);
  }

  select(row, source) {
    const time = row < 0 ? null : this.owner(source).times().at(Math.min(row, this.owner(source).times().length - 1));
    for (const chart of this.charts) {
      if (!chart.chart.graph) continue;
      const times = chart.times();
      const found = time === null ? -1 : times.findIndex((end) => end >= time);
      const at = time === null ? -1 : found < 0 ? times.length - 1 : found;
      chart.chart.tell(at, { t: times });
      if (chart.chart === source) continue;
      if (at < 0) chart.chart.graph.clearSelection();
      else chart.chart.graph.setSelection(at);
    }
  }

  zoom(source) {
    const window = source.graph.isZoomed("x") ? source.graph.xAxisRange() : null;
    for (const { chart } of this.charts) {
      if (chart !== source) chart.graph?.updateOptions({ dateWindow: window });
    }
  }
}
