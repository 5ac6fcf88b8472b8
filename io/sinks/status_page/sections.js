// The parts whose shape depends on the status: tables of loaders, tiers and checkpoints.

function fact(label, ...children) {
  return make("span", { class: "item" }, make("i", {}, label), " ", ...children);
}

function pairs(label, base, names) {
  if (names.length === 0) return null;
  return make("p", { class: "pairs" }, make("i", {}, label), ...names.map((name) =>
    make("span", {}, `${name.replaceAll("_", " ")} `, show(`${base}.${name}`, "count", { "data-bad": "" }))));
}

// The parts of an object by name in which something was counted.
const ORDER = ["read", "decode", "digest", "copy", "wait", "list", "open", "create", "write", "sync", "rename", "remove", "stat",
  "other"];
const used = (parts) => ORDER.filter((name) => parts?.[name]?.duration_s?.count > 0);
const named = (base, names) => names.map((name) => [`${base}.${name}`, make("b", {}, name.replaceAll("_", " "))]);

const DURATION_COLUMNS = [
  { head: "mean", key: "duration_s.mean", format: "seconds" },
  { head: "p99", key: "duration_s.p99", format: "seconds" },
  { head: "time", key: "duration_s.sum", format: "seconds" },
];

const STAGE_COLUMNS = (base) => [
  { head: "stage", key: "name" },
  { head: "busy workers", key: "busy_workers", format: "amount", bar: (row) => `${row}.busy_workers/${base}.workers` },
  ...DURATION_COLUMNS,
  { head: "capacity", key: "capacity_per_s", format: "per_second" },
  { head: "items", key: "duration_s.count", format: "tally" },
];

const QUEUE_COLUMNS = [
  { head: "queue", key: "name" },
  { head: "fill", key: "fill_share", format: "share", bar: (row) => `${row}.fill_share` },
  { head: "items", key: "items", format: "count",
    cell: (row) => [show(`${row}.items`, "count"), make("span", { class: "item" }, " / ", show(`${row}.capacity`, "count"))] },
  { head: "empty", key: "empty_share", format: "share" },
  { head: "full", key: "full_share", format: "share" },
];

function loaderBlock(split, loader, base) {
  const stages = used(loader.stages);
  const queues = Object.keys(loader.queues ?? {});
  return make("div", { class: "block" },
    make("h3", {}, split),
    make("p", { class: "line" },
      make("span", { class: "item" }, show(`${base}.workers_busy`, "amount"), make("span", { class: "item" }, make("i", {}, " of "),
        show(`${base}.workers`, "count")), make("i", {}, " workers busy")),
      fact("hidden", show(`${base}.hidden_share`, "share")),
      fact("read", show(`${base}.read_bytes`, "bytes")),
      fact("from the block device", show(`${base}.storage_bytes`, "bytes"))),
    stages.length ? table(STAGE_COLUMNS(base), named(`${base}.stages`, stages)) : null,
    queues.length ? table(QUEUE_COLUMNS, named(`${base}.queues`, queues)) : null,
    pairs("errors", `${base}.errors`, Object.keys(loader.errors ?? {})),
    pairs("skipped", `${base}.skipped`, Object.keys(loader.skipped ?? {})));
}

function showLoaders(status) {
  const loaders = Object.entries(status.loaders ?? {});
  const shape = loaders.map(([split, loader]) => [split, used(loader.stages), Object.keys(loader.queues ?? {}),
    Object.keys(loader.errors ?? {}), Object.keys(loader.skipped ?? {})]);
  rebuild(document.getElementById("loaders"), shape,
    () => loaders.map(([split, loader]) => loaderBlock(split, loader, `loaders.${split}`)));
}

const OPERATION_COLUMNS = (tier) => [
  { head: "operation", key: "name" },
  { head: "count", key: "duration_s.count", format: "tally" },
  { head: "data", key: "bytes", format: "bytes" },
  { head: "rate", key: "busy_mb_per_s", format: "megabytes_per_second" },
  ...DURATION_COLUMNS,
  { head: "errors", key: "errors", cell: (row) => errorTexts(tier, row.split(".").at(-1), row) },
];

const failed = (tier, op) => Object.entries(tier[op]?.errors ?? {}).filter(([, count]) => count > 0).map(([errno]) => errno);

function errorTexts(tier, op, base) {
  return failed(tier, op).map((errno) => make("span", { class: "bad error" },
    show(`${base}.errors.${errno}`, "count"), ` × ${errno}`));
}

function neverSucceeded(tier, base) {
  const ops = ORDER.filter((op) => failed(tier, op).length > 0 && !used(tier).includes(op));
  return ops.length === 0 ? null
    : make("p", { class: "pairs" }, make("i", {}, "never succeeded"),
      ...ops.flatMap((op) => [make("span", {}, `${op} `), ...errorTexts(tier, op, `${base}.${op}`)]));
}

function tierBlock(name, tier, base) {
  const operations = used(tier);
  return make("div", { class: "block" },
    make("h3", {}, name, " ", make("i", {}, show(`${base}.type`)), " ",
      make("span", { class: "chip emulated item" }, show(`${base}.emulated`, "emulated_tier"))),
    make("p", { class: "line" }, fact("under way", show(`${base}.in_flight`, "count")),
      ...(tier.emulated ? [fact("slower than the model", show(`${base}.overruns`, "count"), " times, ",
        show(`${base}.overrun_s`, "seconds"))] : [])),
    ...(tier.conditions ?? []).map((_, at) => make("p", { class: "none" }, show(`${base}.conditions.${at}`))),
    operations.length ? table(OPERATION_COLUMNS(tier), named(base, operations))
      : make("p", { class: "none" }, "not used"),
    neverSucceeded(tier, base));
}

function showTiers(status) {
  const tiers = Object.entries(status.tiers ?? {});
  const shape = tiers.map(([name, tier]) => [name, used(tier), ORDER.map((op) => failed(tier, op)), tier.conditions?.length]);
  rebuild(document.getElementById("tiers"), shape, () => tiers.map(([name, tier]) => tierBlock(name, tier, `tiers.${name}`)));
}

const PARTS = [["blocked", "training stands still"], ["snapshot", "copy into snapshot memory"],
  ["write", "copy to commit, first tier"], ["save", "offer to commit, first tier"],
  ["drain", "to the last tier"], ["restore", "a set is read back"]];

const PART_COLUMNS = [
  { head: "part", key: "name" },
  { head: "last", key: "last_s", format: "seconds" },
  ...DURATION_COLUMNS,
  { head: "count", key: "duration_s.count", format: "count" },
];

function showParts(status) {
  const parts = status.checkpoints?.parts ?? {};
  const names = PARTS.filter(([name]) => parts[name]?.duration_s?.count > 0);
  rebuild(document.getElementById("parts"), names, () => {
    if (names.length === 0) return [];
    const rows = names.map(([name, words]) => [`checkpoints.parts.${name}`,
      make("b", {}, name), make("small", {}, words)]);
    return [table(PART_COLUMNS, rows)];
  });
}

const RANK_COLUMNS = [
  { head: "rank", key: "name" },
  { head: "images/s", key: "images_per_s", format: "rate" },
  { head: "compute", key: "segments_share.compute", format: "share" },
  { head: "data wait", key: "segments_share.data_wait", format: "share", bar: (row) => `${row}.segments_share.data_wait` },
  { head: "all-reduce", key: "segments_share.allreduce", format: "share", bar: (row) => `${row}.segments_share.allreduce` },
  { head: "checkpoint", key: "segments_share.checkpoint_stall", format: "share" },
  { head: "idle: data", key: "idle_share_by_cause.data", format: "share" },
  { head: "idle: peers", key: "idle_share_by_cause.peers", format: "share", bar: (row) => `${row}.idle_share_by_cause.peers` },
];

// Of a run of many, on rank 0's page.
function showRanks(status) {
  const ranks = Object.keys(status.ranks ?? {}).sort((a, b) => a - b);
  document.getElementById("ranks-card").hidden = ranks.length === 0;
  const straggler = look(status, "all_ranks.straggler.rank");
  document.getElementById("straggler").hidden = straggler === undefined;
  rebuild(document.getElementById("ranks"), [ranks, straggler], () => ranks.length === 0 ? []
    : [table(RANK_COLUMNS, ranks.map((rank) => [`ranks.${rank}`,
      make("b", Number(rank) === straggler ? { class: "bad" } : {}, rank)]))]);
}

function showEvidence(status) {
  const evidence = status.verdict?.evidence ?? [];
  rebuild(document.getElementById("evidence"), evidence.length,
    () => evidence.map((_, at) => make("li", {}, show(`verdict.evidence.${at}`))));
}

// The newest session of the I/O profiler; the cards are made anew for each.
function showProfile(status) {
  const root = document.getElementById("io_profile");
  const profile = status.io_profile;
  root.hidden = profile === undefined;
  if (profile === undefined) return;
  rebuild(root.lastElementChild, [profile.first_step, profile.job.begin_unix_s], () => profileCards(profile, "io_profile"));
}
