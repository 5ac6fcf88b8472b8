// The report of a sweep, or of several: what came out against what was published, plots, every run. `at` is where a
// sweep stands in the data of the page: "", or "sweeps.1.".

const amount = tickText;

function range(finding, base) {
  return make("span", {}, show(`${base}.measured`, "figure"), item(make("i", {}, " "), show(`${base}.range`)));
}

function outcome(finding) {
  const verdict = finding.verdict ?? "not measured";
  const kind = verdict.split(",")[0].replaceAll(" ", "_");
  const text = kind === "put_in" ? "put in, no finding" : verdict;
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

function findings(report, at) {
  const rows = (report.findings ?? []).map((finding, index) => {
    const base = `${at}findings.${index}`;
    return [show(`${base}.name`), range(finding, base), expected(finding, base), outcome(finding), origin(finding)];
  });
  return rows.length === 0 ? null : card("Findings", { class: "full findings" },
    grid(["statement", "measured", "published or limit", "verdict", "source"], rows),
    make("p", { class: "note" }, "Marks of sources: V verbatim, S second-hand, M from memory. A statement that is put in holds because a "
      + "setting was chosen so that it does: it says nothing."));
}

// Shown without being asked for: what the sweep is about, and what every run is known by.
const HEADLINE = new Set(["images_per_s", "device.idle_share", "io_share", "device.au", "mb_per_s", "wall_s", "steps", "images", "loss"]);

function runsTable(report, at, count) {
  const heads = [...report.axes.map(({ key }) => key), "run", "status", ...report.figure_names.slice(0, count)];
  const rows = report.table.map((row, index) => {
    const base = `${at}table.${index}`;
    const bad = row.status !== "ok" && row.status !== "completed";
    const cell = (column) => show(`${base}.values.${column}`, typeof row.values[column] === "number" ? "figure" : "text");
    return [...row.values.slice(0, report.axes.length).map((_, column) => cell(column)), show(`${base}.repeat`, "count"),
      make("span", { class: bad ? "bad" : "" }, show(`${base}.status`), row.error ? words(`: ${row.error}`) : ""),
      ...report.figure_names.slice(0, count).map((_, column) => cell(report.axes.length + column))];
  });
  return grid(heads, rows, { class: "cells" });
}

function cells(report, at) {
  const all = report.figure_names.length;
  const chosen = new Set([...HEADLINE, ...(report.main_figures ?? [])]);
  const first = report.figure_names.findIndex((name) => !chosen.has(name));
  const count = first < 1 ? Math.min(all, HEADLINE.size) : first;
  return card(`All runs (${report.table.length})`, { class: "full" },
    make("details", report.table.length > 24 ? {} : { open: "" },
      make("summary", {}, "what was varied, and the headline figures"), runsTable(report, at, count)),
    all <= count ? null : make("details", {}, make("summary", {}, `all ${all} figures of every run`), runsTable(report, at, all)));
}

// Names may hold dots, which keys of values do not.
function prepare(report) {
  report.axes ??= [];
  report.rows ??= [];
  const known = new Set(report.rows.flatMap((row) => Object.keys(row.figures ?? {})));
  report.figure_names = [...new Set([...(report.columns ?? report.main_figures ?? []).filter((name) => known.has(name)), ...known])];
  report.table = report.rows.map((row) => ({ repeat: row.repeat, status: row.status, error: row.error,
    values: [...report.axes.map(({ key }) => row.cell?.[key] ?? null), ...report.figure_names.map((name) => row.figures?.[name] ?? null)] }));
  (report.findings ?? []).forEach(addRange);
}

function addRange(finding) {
  if (finding.low !== undefined && finding.high !== undefined && finding.low !== finding.high) {
    finding.range = `(${amount(finding.low)} to ${amount(finding.high)})`;
  }
}

// A few texts as they are, many numbers by their least and largest.
function several(texts) {
  const numbers = texts.map(Number);
  if (texts.length < 4 || !numbers.every(Number.isFinite)) return texts.join(", ");
  return `${amount(Math.min(...numbers))} to ${amount(Math.max(...numbers))}`;
}

function distinctConditions(report) {
  const known = new Map();
  for (const row of report.rows) for (const [name, text] of flat(row.conditions ?? null)) {
    if (name) known.set(name, (known.get(name) ?? new Set()).add(text));
  }
  return [...known].map(([name, texts]) => [name, several([...texts].filter((text) => text !== ""))]).filter(([, text]) => text);
}

function sweepParts(report, at) {
  prepare(report);
  const parallel = new ParallelPlot(report);
  const measured = (report.plots ?? []).map((plot) => new SweepPlot(plot)).filter(({ plot }) => plot.values.length > 0);
  const plots = [...measured, parallel];
  const conditionsOf = distinctConditions(report);
  const failed = report.table.filter((row) => row.status !== "ok" && row.status !== "completed").length;
  const count = { within: 0, outside: 0 };
  for (const finding of report.findings ?? []) if (finding.verdict in count) ++count[finding.verdict];
  const chips = [chip(report.runs_planned > report.table.length ? `${report.table.length} of ${report.runs_planned} runs` : `${report.table.length} runs`), failed ? chip(`${failed} failed`, "failed") : null,
    (report.findings ?? []).length ? chip(`${count.within} of ${count.within + count.outside} findings within`, "phase") : null].filter(Boolean);
  return { title: report.name ?? "sweep", chips, plots, what: [report.command && `stoker ${report.command}`,
    ...report.axes.map(({ key, values }) => `${key}: ${values.join(", ")}`)].filter(Boolean), main: [
    section("pair", "Findings", findings(report, at)),
    section("charts", "Plots", measured.map((plot) => plot.root)),
    section("pair", "All cells", parallel.root),
    section("pair", "Runs", cells(report, at),
      conditionsOf.length ? card("Conditions", {}, listing(conditionsOf)) : null,
      report.machine ? card("Machine", {}, listing(flat(report.machine))) : null)] };
}

function drawn(plots) {
  FORMATS.figure = (value) => (typeof value === "number" ? amount(value) : String(value));
  return { charts: plots, draw: () => plots.forEach((plot) => plot.draw()) };
}

function sweepPage(report) {
  const { plots, ...shown } = sweepParts(report, "");
  return { ...shown, group: drawn(plots) };
}

function sweepsPage({ sweeps }) {
  const parts = sweeps.map((sweep, index) => sweepParts(sweep, `sweeps.${index}.`));
  return { title: parts.map(({ title }) => title).join(", "), chips: [chip(`${parts.length} sweeps`)], what: [],
    group: drawn(parts.flatMap(({ plots }) => plots)), main: parts.flatMap(({ title, chips, what, main }) => [
      make("header", { class: "sweep" }, make("div", { class: "names" }, make("h2", {}, title), ...chips),
        make("p", { class: "what" }, ...what.map((text) => make("span", {}, text)))), ...main]) };
}
