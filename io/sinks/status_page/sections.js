// The parts whose shape depends on the status: tables of loaders, tiers and checkpoints.

function fact(label, ...children) {
  return make("span", { class: "item" }, make("i", {}, label), " ", ...children);
}

function pairs(label, base, names) {
  if (names.length === 0) return null;
  return make("p", { class: "pairs" }, make("i", {}, label), ...names.map((name) =>
    make("span", {}, `${name.replaceAll("_", " ")} `, show(`${base}.${name}`, "count", { "data-bad": "" }))));
}

const used = (list, base, count) =>
  (list ?? []).map((entry, at) => [entry, `${base}.${at}`]).filter(([entry]) => entry[count] !== 0);

const STAGE_COLUMNS = (base) => [
  { head: "stage", key: "stage", format: "name" },
  { head: "busy workers", key: "busy_workers", format: "amount", bar: (row) => `${row}.busy_workers/${base}.workers` },
  { head: "mean", key: "mean_s", format: "seconds" },
  { head: "p99", key: "p99_s", format: "seconds" },
  { head: "capacity", key: "capacity_per_s", format: "per_second" },
  { head: "items", key: "items", format: "tally" },
  { head: "time", key: "seconds", format: "seconds" },
  { head: "data", key: "bytes", format: "bytes" },
];

const QUEUE_COLUMNS = [
  { head: "queue", key: "queue", format: "name" },
  { head: "fill", key: "fill", format: "share", bar: (row) => `${row}.fill` },
  { head: "items", key: "items", format: "count",
    cell: (row) => [show(`${row}.items`, "count"), make("span", { class: "item" }, " / ", show(`${row}.capacity`, "count"))] },
  { head: "empty", key: "empty_share", format: "share" },
  { head: "full", key: "full_share", format: "share" },
];

function loaderBlock(loader, base) {
  const stages = used(loader.stages, `${base}.stages`, "items").map(([, row]) => [row]);
  const queues = (loader.queues ?? []).map((_, at) => [`${base}.queues.${at}`]);
  return make("div", { class: "block" },
    make("h3", {}, show(`${base}.split`, "name")),
    make("p", { class: "line" },
      make("span", { class: "item" }, show(`${base}.busy`, "amount"), make("span", { class: "item" }, make("i", {}, " of "),
        show(`${base}.workers`, "count")), make("i", {}, " workers busy")),
      fact("hidden", show(`${base}.hidden_share`, "share")),
      fact("read", show(`${base}.read_bytes`, "bytes")),
      fact("from the block device", show(`${base}.storage_bytes`, "bytes"))),
    stages.length ? table(STAGE_COLUMNS(base), stages) : null,
    queues.length ? table(QUEUE_COLUMNS, queues) : null,
    pairs("errors", `${base}.errors`, Object.keys(loader.errors ?? {})),
    pairs("skipped", `${base}.skipped`, Object.keys(loader.skipped ?? {})));
}

function showLoaders(status) {
  const loaders = status.loaders ?? [];
  const shape = loaders.map((loader) => [loader.stages?.map((stage) => stage.items !== 0), loader.queues?.length,
    Object.keys(loader.errors ?? {}), Object.keys(loader.skipped ?? {})]);
  rebuild(document.getElementById("loaders"), shape,
    () => loaders.map((loader, at) => loaderBlock(loader, `loaders.${at}`)));
}

const OPERATION_COLUMNS = (tier, base) => [
  { head: "operation", key: "op", format: "name" },
  { head: "count", key: "count", format: "tally" },
  { head: "data", key: "bytes", format: "bytes" },
  { head: "rate", key: "bytes_per_s", format: "bytes_per_second" },
  { head: "mean", key: "mean_s", format: "seconds" },
  { head: "p99", key: "p99_s", format: "seconds" },
  { head: "time", key: "seconds", format: "seconds" },
  { head: "errors", key: "errors", cell: (row) => errorCell(tier, base, look(tier, row.slice(base.length + 1)).op) },
];

// named: with the operation, where it has no row of its own.
function errorText(row, named) {
  return make("span", { class: "bad error" }, make("span", named ? {} : { hidden: "" }, show(`${row}.op`, "name"), " "),
    show(`${row}.count`, "count"), " × ", show(`${row}.errno`, "errno"));
}

function errorCell(tier, base, op) {
  return (tier.errors ?? []).flatMap((error, at) =>
    (error.op === op ? [errorText(`${base}.errors.${at}`, false)] : []));
}

function otherErrors(tier, base, operations) {
  const shown = operations.map(([operation]) => operation.op);
  const rows = (tier.errors ?? []).flatMap((error, at) => (shown.includes(error.op) ? [] : [`${base}.errors.${at}`]));
  return rows.length === 0 ? null
    : make("p", { class: "pairs" }, make("i", {}, "never succeeded"), ...rows.map((row) => errorText(row, true)));
}

function tierBlock(tier, base) {
  const operations = used(tier.operations, `${base}.operations`, "count");
  return make("div", { class: "block" },
    make("h3", {}, show(`${base}.tier`), " ", make("i", {}, show(`${base}.type`)), " ",
      make("span", { class: "chip emulated item" }, show(`${base}.emulated`, "emulated_tier"))),
    make("p", { class: "line" }, fact("under way", show(`${base}.in_flight`, "count")),
      ...(tier.emulated ? [fact("slower than the model", show(`${base}.overruns`, "count"), " times, ",
        show(`${base}.overrun_s`, "seconds"))] : [])),
    ...(tier.conditions ?? []).map((_, at) => make("p", { class: "none" }, show(`${base}.conditions.${at}`))),
    operations.length ? table(OPERATION_COLUMNS(tier, base), operations.map(([, row]) => [row]))
      : make("p", { class: "none" }, "not used"),
    otherErrors(tier, base, operations));
}

function showTiers(status) {
  const tiers = status.tiers ?? [];
  const shape = tiers.map((tier) => [tier.operations?.map((operation) => [operation.op, operation.count !== 0]),
    tier.errors?.map((error) => error.op), tier.conditions?.length]);
  rebuild(document.getElementById("tiers"), shape, () => tiers.map((tier, at) => tierBlock(tier, `tiers.${at}`)));
}

const PARTS = [["blocked", "training stands still"], ["snapshot", "copy into snapshot memory"],
  ["write", "copy to commit, first tier"], ["save", "offer to commit, first tier"],
  ["drain", "to the last tier"], ["restore", "a set is read back"]];

const PART_COLUMNS = [
  { head: "part", key: "name" },
  { head: "last", key: "last_s", format: "seconds" },
  { head: "mean", key: "mean_s", format: "seconds" },
  { head: "p99", key: "p99_s", format: "seconds" },
  { head: "count", key: "count", format: "count" },
  { head: "time", key: "seconds", format: "seconds" },
];

function showParts(status) {
  const parts = status.checkpoint?.parts ?? {};
  const names = PARTS.filter(([name]) => parts[name] && parts[name].count !== 0);
  rebuild(document.getElementById("parts"), names, () => {
    if (names.length === 0) return [];
    const rows = names.map(([name, words]) => [`checkpoint.parts.${name}`,
      make("b", {}, name), make("small", {}, words)]);
    return [table(PART_COLUMNS, rows)];
  });
}

function showEvidence(status) {
  const evidence = status.verdict?.evidence ?? [];
  rebuild(document.getElementById("evidence"), evidence.length,
    () => evidence.map((_, at) => make("li", {}, show(`verdict.evidence.${at}`))));
}
