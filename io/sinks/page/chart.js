// The course of something over time, drawn by dygraphs. A point is a mean over a piece of time and is
// drawn as a step over that piece; a last value, such as the loss, is drawn as a line (spec.line).

// From the base up: what one wants to read against the zero line comes first.
const SEGMENTS = ["data_wait", "h2d", "checkpoint_stall", "allreduce", "eval", "log", "other", "paused", "compute"];
const CAUSES = ["data", "h2d", "checkpoint", "peers", "host"];
const CAUSE_COLOURS = { data: "data_wait", h2d: "h2d", checkpoint: "checkpoint_stall", peers: "allreduce", host: "host" };

// The legend would put texts into the page as HTML; ours does not.
Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin.prototype.toString() !== "Legend Plugin");

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

function elapsed(value, step) {
  if (step < 60) {
    const minutes = Math.floor(value / 60);
    const rest = value - 60 * minutes;
    return minutes ? `${minutes}:${String(Math.round(rest)).padStart(2, "0")}` : `${+rest.toFixed(2)} s`;
  }
  if (step < 3600) {
    const minutes = Math.round(value / 60);
    return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")} h`;
  }
  return step < 86400 ? `${Math.round(value / 3600)} h` : `${Math.round(value / 86400)} d`;
}

const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
  86400, 172800, 432000, 604800, 1209600, 2592000];

function timeTicks(from, to, pixels) {
  const most = Math.max(2, pixels / (5 * rem()));
  const step = STEPS.find((candidate) => (to - from) / candidate <= most) ?? (to - from) / most;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push({ v: at, label: elapsed(at, step) });
  return ticks;
}

function valueTicks(from, to, pixels) {
  const rough = (to - from) / Math.max(2, pixels / (2.4 * rem()));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let at = Math.ceil(from / step); at * step <= to; ++at) {
    ticks.push({ v: at * step, label: grouped((at * step).toFixed(places)) });
  }
  return ticks;
}

function shareTicks(from, to) {
  const step = [0.05, 0.1, 0.2, 0.25].find((candidate) => (to - from) / candidate <= 5.01) ?? 0.5;
  const ticks = [];
  for (let at = 0; at <= to + 1e-9; at += step) ticks.push({ v: at, label: `${Math.round(100 * at)} %` });
  return ticks;
}

function legendItem(name, colour, ...values) {
  return make("li", {}, make("span", { class: `swatch ${colour}` }), make("span", { class: "name" },
    name.replaceAll("_", " ")), make("span", { class: "total" }, ...values), make("span", { class: "then" }));
}

class Chart {
  // root: an element with .plot, .at and, where there are several names, .legend. group: what the
  // charts of a page share, with select(row, chart) and zoom(chart).
  constructor(root, spec, group) {
    this.root = root;
    this.plot = this.root.querySelector(".plot");
    this.at = this.root.querySelector(".at");
    this.spec = spec;
    this.group = group;
    this.graph = null;
  }

  // rows: [[x, value...]] with as many values as names; empty: not measured.
  draw(names, rows) {
    this.root.classList.toggle("absent", rows.length === 0);
    setData(this.plot, "points", rows.length);
    if (rows.length === 0) {
      this.graph?.destroy();
      this.graph = null;
      return;
    }
    const options = { file: rows, labels: ["time", ...names], ...this.look(names), ...this.range(rows) };
    if (this.graph) this.graph.updateOptions(options);
    else this.graph = new Dygraph(this.plot, rows, { ...options, file: undefined, ...this.behaviour() });
  }

  look(names) {
    const stacked = Boolean(this.spec.stacked);
    return {
      colors: names.map((name) => css(`--${this.spec.colour?.(name) ?? "line"}`)),
      stackedGraph: stacked, stepPlot: !this.spec.line, fillGraph: stacked || names.length === 1 && !this.spec.line,
      fillAlpha: stacked ? 0.9 : 0.16, strokeWidth: stacked ? 0.01 : 1.5,
      connectSeparatedPoints: Boolean(this.spec.line),
      gridLineColor: css("--grid"), axisLineColor: css("--grid"), axisLabelFontSize: Math.round(0.75 * rem()),
    };
  }

  range(rows) {
    const values = rows.flatMap((row) => row.slice(1)).filter(Number.isFinite);
    const sums = rows.map((row) => row.slice(1).reduce((sum, value) => sum + (value ?? 0), 0));
    const most = Math.max(...(this.spec.stacked ? sums : values));
    const y = this.spec.share ? this.shareRange(most) : this.spec.line ? null : [0, 1.12 * most || 1];
    return { axes: { x: this.axis(timeTicks, 0), y: this.axis(this.spec.share ? shareTicks : valueTicks, y) } };
  }

  shareRange(most) {
    const top = this.spec.share === "whole" ? 1 : Math.min(1, Math.max(0.25, 1.1 * most));
    // Rounding may bring a sum of shares above 1, and dygraphs complains of points above the range.
    return [0, Math.max(top, most) * (1 + 1e-9)];
  }

  axis(ticker, range) {
    return {
      ticker, ...(range ? { valueRange: range } : {}), drawGrid: ticker !== timeTicks,
      axisLabelWidth: Math.round(3.2 * rem()), pixelsPerLabel: Math.round(2.2 * rem()), axisTickSize: 0,
    };
  }

  behaviour() {
    const { mousedown, dblclick, willDestroyContextMyself } = Dygraph.defaultInteractionModel;
    return {
      legend: "never", xRangePad: 0, yRangePad: 4, highlightCircleSize: 3,
      // Touches stay the page's: a finger on a chart scrolls.
      interactionModel: { mousedown, dblclick, willDestroyContextMyself },
      underlayCallback: (context) => { this.context = context; },
      drawCallback: (graph) => this.drawThresholds(graph),
      drawHighlightPointCallback: (graph, name, context, x) => this.drawCursor(graph, context, x),
      highlightCallback: (event, x, points, row) => this.group.select(row, this),
      unhighlightCallback: () => this.group.select(-1, this),
      zoomCallback: () => this.group.zoom(this),
    };
  }

  drawThresholds(graph) {
    if (!this.spec.thresholds) return;
    const area = graph.getArea();
    const context = this.context;
    context.save();
    context.strokeStyle = css("--threshold");
    context.setLineDash([2, 3]);
    for (const share of this.spec.thresholds) {
      const y = Math.round(graph.toDomYCoord(share)) + 0.5;
      if (y < area.y) continue;
      context.beginPath();
      context.moveTo(area.x, y);
      context.lineTo(area.x + area.w, y);
      context.stroke();
    }
    context.restore();
  }

  drawCursor(graph, context, x) {
    const area = graph.getArea();
    context.save();
    context.strokeStyle = css("--text");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, area.y);
    context.lineTo(Math.round(x) + 0.5, area.y + area.h);
    context.stroke();
    context.restore();
  }

  // What the history, with times t, says at a row, beside the title or in the legend; row -1: nothing.
  tell(row, history) {
    const values = row < 0 ? null : this.spec.values(history, row);
    const legend = this.root.querySelector(".legend");
    const when = row < 0 ? "" : ` at ${span(history.t[row])}`;
    setText(this.at, values && !legend && values[0] != null ? `${this.spec.format(values[0])}${when}` : when);
    if (!legend) return;
    legend.classList.toggle("hover", Boolean(values));
    legend.querySelectorAll(".then").forEach((element, at) => {
      setText(element, values?.[at] == null ? "" : (this.spec.format ?? FORMATS.share)(values[at]));
    });
  }
}
