// Which part of the history goes into which chart, and what the charts share: time and cursor.

function stackSpec(field, names, colour, share) {
  return { stacked: true, share, colour, names,
    values: (history, row) => names.map((name) => history[field]?.[name]?.[row]) };
}

function singleSpec(field, more) {
  return { names: [field], values: (history, row) => [history[field]?.[row]], ...more };
}

function chart(id, spec) {
  const root = document.getElementById(`chart-${id}`);
  root.querySelector(".plot").dataset.history = id;
  return new Chart(root, spec, { select: (row, source) => charts.select(row, source),
    zoom: (source) => charts.zoom(source) });
}

const charts = {
  history: null,
  row: -1,
  all: {
    segments: chart("segments_share", stackSpec("segments_share", SEGMENTS, (name) => name, "whole")),
    idle: chart("idle_share_by_cause", stackSpec("idle_share_by_cause", CAUSES, (name) => CAUSE_COLOURS[name], "part")),
    images_per_s: chart("images_per_s", singleSpec("images_per_s", { format: FORMATS.rate })),
    queue_fill: chart("queue_fill", singleSpec("queue_fill", { share: "whole", format: FORMATS.share })),
    loss: chart("loss", singleSpec("loss", { line: true, format: FORMATS.number })),
  },

  update(status) {
    const history = { ...status.history, t: status.history?.elapsed_s ?? [] };
    const state = JSON.stringify([history.t.length, history.t.at(-1), history.wall_s?.[0]]);
    if (state === this.state) return;
    this.state = state;
    this.history = history;
    this.all.idle.spec.thresholds = status.judged?.bounds;
    this.redraw();
  },

  redraw() {
    for (const chart of Object.values(this.all)) {
      const rows = this.rows(chart.spec);
      // The last series is the one at the base.
      const turned = chart.spec.stacked ? rows.map(([x, ...values]) => [x, ...values.reverse()]) : rows;
      chart.draw(chart.spec.stacked ? [...chart.spec.names].reverse() : chart.spec.names, turned);
    }
    // A card grows where those beside it have nothing to show.
    for (const chart of Object.values(this.all)) chart.graph?.resize();
    // Drawing anew takes the cursor away.
    if (this.row >= 0) this.select(this.row, null);
  },

  rows(spec) {
    const { t = [], wall_s: wall } = this.history ?? {};
    const rows = t.map((end, row) => [spec.line || !wall ? end : end - wall[row], ...spec.values(this.history, row)
      .map((value) => value ?? (spec.stacked ? 0 : null))]);
    const measured = t.some((_, row) => spec.values(this.history, row).some((value) => value != null));
    if (!measured) return [];
    // A step needs its end.
    if (!spec.line && wall) rows.push([t.at(-1), ...rows.at(-1).slice(1)]);
    return rows;
  },

  select(row, source) {
    const last = (this.history?.t.length ?? 0) - 1;
    const at = Math.min(row, last);
    this.row = at;
    for (const chart of Object.values(this.all)) {
      if (!chart.graph) continue;
      chart.tell(at, this.history);
      if (chart === source) continue;
      if (at < 0) chart.graph.clearSelection();
      else chart.graph.setSelection(at);
    }
  },

  zoom(source) {
    const zoomed = source.graph.isZoomed("x");
    const window = zoomed ? source.graph.xAxisRange() : null;
    for (const chart of Object.values(this.all)) {
      if (chart !== source) chart.graph?.updateOptions({ dateWindow: window });
    }
  },
};

function showLegends(status) {
  const segments = SEGMENTS.filter((name) => status.segments_s?.[name] != null);
  rebuild(charts.all.segments.root.querySelector(".legend"), segments, () => segments.map((name) =>
    legendItem(name, name, make("b", {}, show(`segments_share.${name}`, "share")), show(`segments_s.${name}`, "seconds"))));
  const device = status.device ?? {};
  const causes = CAUSES.filter((name) => device.idle_s?.[name] != null || device.idle_share_by_cause?.[name] != null);
  rebuild(charts.all.idle.root.querySelector(".legend"), causes, () => causes.map((name) =>
    legendItem(name, CAUSE_COLOURS[name], make("b", {}, show(`device.idle_share_by_cause.${name}`, "share")),
      show(`device.idle_s.${name}`, "seconds"))));
}
