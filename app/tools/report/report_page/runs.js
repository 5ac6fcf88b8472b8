// Several runs side by side: the same charts with a line for each, and what differs between them.

const FIGURES = [
  ["status", "summary.status", "text"], ["verdict", "summary.verdict.title", "text"], ["cause", "summary.verdict.cause", "name"],
  ["images/s", "summary.images_per_s", "rate"], ["images/s, median window", "summary.images_per_s_windows.median", "rate"],
  ["exposed I/O share", "summary.exposed_io_share", "share", "summary.judged.exposed_io_share"], ["I/O share", "summary.io_share", "share"],
  ["device idle", "summary.device.idle_share", "share", "summary.judged.device.idle_share"],
  ["AU", "summary.device.au", "share"], ["checkpoint stall", "summary.segments_share.checkpoint_stall", "share"],
  ["steps", "summary.steps", "count"], ["wall time", "summary.wall_s", "span"], ["first batch after", "summary.first_batch_s", "seconds"],
  ["loss", "summary.loss", "number"], ["top-1", "summary.evaluation.accuracy.top1", "share"],
  ["checkpoints saved", "summary.checkpoints.saved", "count"], ["page cache", "summary.conditions.page_cache", "text"],
  ["device", "summary.device.name", "text"], ["closure error", "summary.closure_error", "fine_share"],
];

function labelled(run, at) {
  return make("span", { class: "who" }, make("span", { class: `swatch ${colourOf(at)}` }), run.label);
}

function heads(runs) {
  return runs.map(labelled);
}

function figuresTable(report) {
  const used = FIGURES.filter(([, key]) => report.runs.some((run) => look(run, key) !== undefined));
  const tiers = tierNames(report.runs).flatMap((tier) => TRAFFIC
    .filter((field) => report.runs.some((run) => run.tiers.some((one) => one.tier === tier && moves(one, field))))
    .map((field) => [`${tier}: ${field}s`, ...report.runs.map((run, at) => {
      const place = run.tiers.findIndex((one) => one.tier === tier && moves(one, field));
      return place < 0 ? null : show(`runs.${at}.tiers.${place}.${field}.busy_mb_per_s`, "megabytes_per_second");
    })]));
  return card("Figures", { class: "full" }, grid(["", ...heads(report.runs)], [...used.map(([label, key, format, judged]) => [label,
    ...report.runs.map((_, at) => show(`runs.${at}.${key}`, format, judged ? { "data-judged": `runs.${at}.${judged}` } : {}))]), ...tiers], { class: "cells compared" }));
}

function differences(title, report, field) {
  const rows = report.differences?.[field] ?? [];
  if (rows.length === 0) return card(title, {}, make("p", { class: "none" }, "the same in all runs"));
  return card(title, { class: rows.length > 4 ? "full" : "" }, grid(["", ...heads(report.runs)],
    rows.map(({ key, values }) => [key, ...values.map((value) => (value === null ? null : words(value)))]), { class: "cells compared" }));
}

const hasValue = (run, key) => look(run, key) !== undefined;

// columns: by preference; the first that a run has is taken. exact: where a run has the share of the whole.
function sideBySide(report, group, title, columns, settings, exact) {
  const lines = report.runs.flatMap((run, at) => {
    for (const [table, end, column] of columns) {
      const course = new Course(run[table], end);
      if (course.has(column)) return [{ name: run.label, colour: colourOf(at), course, column,
        exact: exact && hasValue(run, exact) ? `runs.${at}.${exact}` : undefined }];
    }
    return [];
  });
  return lines.length === 0 ? null : new CourseChart(group, title, lines, { ...settings, legend: true, wide: true });
}

function comparedCharts(report, group) {
  const chart = (title, columns, settings, exact) => sideBySide(report, group, title, columns, settings, exact);
  const verbs = ["read", "write"].flatMap((verb) => [...new Set(report.runs.flatMap((run) => Object.keys(run.timeline ?? {})
    .filter((name) => isRate(name, verb) && run.timeline[name].some((value) => value > 0))))].map((column) => chart(
    `${tierOfRate(column, verb)}: ${verb}s, MB/s`, [["timeline", "elapsed_s", column]], MB)));
  const both = (column) => [["timeline", "elapsed_s", column], ["steps", "wall_s", column]];
  return [
    chart("Images/s", both("images_per_s"), { format: FORMATS.rate }),
    chart("Waiting for data", both("segments_share.data_wait"), { share: "whole" }, "summary.io_share"),
    chart("Device busy", [["timeline", "elapsed_s", "device.busy_share"]], { share: "whole" }, "summary.device.busy_share"),
    chart("Standing still for checkpoints", both("segments_share.checkpoint_stall"), { share: "whole" },
      "summary.segments_share.checkpoint_stall"), ...verbs,
    chart("Fill of the queue before the trainer", [["timeline", "elapsed_s", "queue_fill"]], { share: "whole" }),
    chart("CPU cores used", [["timeline", "elapsed_s", "process.cores"]], { format: FORMATS.amount }),
    chart("Loss", [["steps", "wall_s", "loss"]], { line: true, format: FORMATS.number }),
  ].filter(Boolean);
}

function runsPage(report) {
  const group = new CourseGroup();
  const charts = comparedCharts(report, group);
  const main = [section("pair", "Figures", figuresTable(report), differences("What differs in the configuration", report, "config"),
    differences("What differs in the environment", report, "environment")),
  section("charts", "Course of the runs", charts.map((chart) => chart.root)),
  section("pair", "Storage", tierNames(report.runs).flatMap((name) => tierHistograms(report.runs, name))),
  section("pair", "Conditions", report.runs.map((run, at) => conditions(run, `runs.${at}`))),
  ...report.runs.map((run) => folded(`Configuration of ${run.label}`, make("pre", {}, run.config)))];
  return { title: `${report.runs.length} runs`, chips: [...new Set(report.runs.flatMap((run) => runChips(run).map((one) => one.textContent)))]
    .map((text) => chip(text, text.startsWith("emulated") ? "emulated" : "")), what: report.runs.map((run) => run.label), main, group };
}
