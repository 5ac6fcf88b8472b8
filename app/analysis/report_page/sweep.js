// The report of a sweep: what came out against what was published, plots, every run.

const amount = tickText;

function range(finding, base) {
  return make("span", {}, show(`${base}.measured`, "figure"), item(make("i", {}, " "), show(`${base}.range`)));
}

function outcome(finding) {
  const kind = finding.fitted ? "put_in" : String(finding.verdict ?? "not measured").replaceAll(" ", "_");
  const text = finding.fitted ? "put in, no finding" : finding.verdict ?? "not measured";
  return make("span", { class: `outcome ${kind}`, "data-value": text }, text);
}

function expected(finding, base) {
  const limits = [["at most", finding.at_most], ["at least", finding.at_least]].filter(([, value]) => Number.isFinite(value))
    .map(([word, value]) => `${word} ${amount(value)}`).join(", ");
  const room = Number.isFinite(finding.tolerance) ? ` ± ${plain(100 * finding.tolerance)} %` : "";
  const known = Number.isFinite(finding.published);
  return make("span", {}, show(`${base}.published`, "figure"), known ? room : "", known && limits ? "; " : "", limits ? words(limits) : "");
}

// Where a statement comes from, and what one has to know.
function origin(finding) {
  const text = [[finding.mark && `(${finding.mark})`, finding.source].filter(Boolean).join(" "), finding.note,
    typeof finding.fitted === "string" && finding.fitted && `put in by ${finding.fitted}`].filter(Boolean).join("; ");
  return text ? words(text, { class: "origin" }) : null;
}

function findings(report) {
  const rows = (report.findings ?? []).map((finding, at) => {
    const base = `findings.${at}`;
    return [show(`${base}.name`), range(finding, base), expected(finding, base), outcome(finding), origin(finding)];
  });
  return rows.length === 0 ? null : card("Findings", { class: "full findings" },
    grid(["statement", "measured", "published or limit", "verdict", "source"], rows),
    make("p", { class: "note" }, "Marks of sources: V verbatim, S second-hand, M from memory. A statement that is put in holds because a "
      + "setting was chosen so that it does: it says nothing."));
}

function cells(report) {
  const heads = [...report.axes.map(({ key }) => key), "run", "status", ...report.figure_names];
  const rows = report.table.map((row, at) => {
    const bad = row.status !== "ok" && row.status !== "completed";
    const cell = (index) => show(`table.${at}.values.${index}`, typeof row.values[index] === "number" ? "figure" : "text");
    return [...row.values.slice(0, report.axes.length).map((_, index) => cell(index)), show(`table.${at}.repeat`, "count"),
      make("span", { class: bad ? "bad" : "" }, show(`table.${at}.status`), row.error ? words(`: ${row.error}`) : ""),
      ...report.figure_names.map((_, index) => cell(report.axes.length + index))];
  });
  return card(`All runs (${report.table.length})`, { class: "full" }, grid(heads, rows, { class: "cells" }));
}

// Names may hold dots, which keys of values do not.
function prepare(report) {
  report.axes ??= [];
  report.rows ??= [];
  report.figure_names = [...new Set(report.rows.flatMap((row) => Object.keys(row.figures ?? {})))];
  report.table = report.rows.map((row) => ({ repeat: row.repeat, status: row.status, error: row.error,
    values: [...report.axes.map(({ key }) => row.cell?.[key] ?? null), ...report.figure_names.map((name) => row.figures?.[name] ?? null)] }));
  for (const finding of report.findings ?? []) {
    if (finding.low !== undefined && finding.high !== undefined && finding.low !== finding.high) {
      finding.range = `(${amount(finding.low)} to ${amount(finding.high)})`;
    }
  }
}

function distinctConditions(report) {
  const known = new Map();
  for (const row of report.rows) for (const [name, text] of flat(row.conditions ?? null)) {
    if (name) known.set(name, (known.get(name) ?? new Set()).add(text));
  }
  return [...known].map(([name, texts]) => [name, [...texts].join(", ")]);
}

function sweepPage(report) {
  FORMATS.figure = (value) => (typeof value === "number" ? amount(value) : String(value));
  prepare(report);
  const plots = (report.plots ?? []).map((plot) => new SweepPlot(plot));
  const conditionsOf = distinctConditions(report);
  const failed = report.table.filter((row) => row.status !== "ok" && row.status !== "completed").length;
  const count = { within: 0, outside: 0 };
  for (const finding of report.findings ?? []) if (!finding.fitted && finding.verdict in count) ++count[finding.verdict];
  const group = { charts: plots, draw: () => plots.forEach((plot) => plot.draw()) };
  const chips = [chip(`${report.table.length} runs`), failed ? chip(`${failed} failed`, "failed") : null,
    (report.findings ?? []).length ? chip(`${count.within} of ${count.within + count.outside} findings within`, "phase") : null].filter(Boolean);
  return { title: report.name ?? "sweep", chips, what: [report.command && `stoker ${report.command}`, ...report.axes.map(({ key, values }) =>
    `${key}: ${values.join(", ")}`)], group, main: [
    section("pair", "Findings", findings(report)),
    section("charts", "Plots", plots.map((plot) => plot.root)),
    section("pair", "Runs", cells(report),
      conditionsOf.length ? card("Conditions", {}, listing(conditionsOf)) : null,
      report.machine ? card("Machine", {}, listing(flat(report.machine))) : null)] };
}
