// The report of one run.

function runFigures(run, base) {
  const key = (name) => `${base}.${name}`;
  return section("figures", "Figures",
    figure("exposed I/O share", "Share of the device's time that waiting for data cost; a wait behind queued steps costs nothing",
      key("summary.exposed_io_share"), "share", [item(make("i", {}, "waited, hidden too "), show(key("summary.io_share"), "share"))],
      key("summary.judged.exposed_io_share")),
    figure("images/s", "Images of the run / its wall time; beside it windows of a second", key("summary.images_per_s"), "rate",
      [item(make("i", {}, "windows "), show(key("summary.images_per_s_windows.min"), "rate"), " to ",
        show(key("summary.images_per_s_windows.max"), "rate"))]),
    figure("device idle", "Share of the device's time without work, whatever the cause", key("summary.device.idle_share"), "share",
      [], key("summary.judged.device.idle_share")),
    figure("AU", "Accelerator utilisation as MLPerf Storage defines it: busy / total, first step excluded", key("summary.device.au"),
      "share"),
    figure("checkpoint stall", "Time the trainer stood still for checkpoints / wall time", key("summary.segments_share.checkpoint_stall"), "share",
      [item(make("i", {}, "saved "), show(key("summary.checkpoints.saved"), "count"))]),
    figure("loss", "The last one", key("summary.loss"), "number"),
    figure("top-1", "On held-out images, at the end", key("summary.evaluation.accuracy.top1"), "share",
      [item(make("i", {}, "top-5 "), show(key("summary.evaluation.accuracy.top5"), "share")),
        item(make("i", {}, "AUC "), show(key("summary.evaluation.auc"), "share")),
        item(make("i", {}, "IoU "), show(key("summary.evaluation.iou"), "share")),
        item(show(key("summary.evaluation.samples"), "count"), make("i", {}, " images"))]));
}

// What a reader has to know before any figure.
function conditions(run, base) {
  const key = (name) => `${base}.${name}`;
  const texts = run.tiers.flatMap((tier) => (tier.conditions ?? []).map((text) => `${tier.tier}: ${text}`));
  const slow = run.tiers.filter((tier) => tier.overruns > 0).map((tier) => `${tier.tier}: ${grouped(tier.overruns)} `
    + `operations took longer than the emulated tier's model says, by ${FORMATS.seconds(tier.overrun_s)} in all: `
    + "its figures are too low");
  const samples = Object.entries(run.summary?.skipped ?? {}).map(([reason, count]) =>
    `${grouped(count)} samples replaced (${reason}), see skipped.csv`);
  const used = run.summary?.tolerated ?? 0;
  if (used > 0) samples.push(`${grouped(used)} damaged samples used as libjpeg makes them, see tolerated.csv`);
  const notes = [...texts, ...slow, ...samples];
  return card("Conditions", {}, facts([
    ["device", key("summary.device.name")], ["device timing", key("summary.device.timing_method")],
    ["page cache", key("summary.conditions.page_cache")], ["in the page cache before", key("summary.page_cache.resident_before"), "share"],
    ["and after", key("summary.page_cache.resident"), "share"],
    ["asked for by the loader", key("summary.loaders.train.read_bytes"), "bytes"],
    ["of that from the block device", key("summary.loaders.train.storage_bytes"), "bytes"],
    ["first batch after", key("summary.first_batch_s"), "seconds"],
    ["ledger closure error", key("summary.closure_error"), "fine_share"],
    ["spent on measuring, all threads", key("summary.overhead_share"), "fine_share"],
    ["checkpoint", key("summary.conditions.checkpoint.type")], ["durability", key("summary.conditions.checkpoint.durability")],
    ["configuration", key("summary.config_hash")], ["run directory", key("directory"), "text", "whole"]]),
  make("p", { class: "item lead" }, show(key("summary.page_cache.text"))),
  notes.length ? make("ul", { class: "notes" }, ...notes.map((text) => make("li", {}, text))) : null);
}

const TRAFFIC = ["read", "write"];
const moves = (tier, op) => tier?.[op]?.duration_s?.count > 0;

function tierTable(run, base) {
  const rows = run.tiers.flatMap((tier, at) => TRAFFIC.filter((field) => moves(tier, field)).map((field) => {
    const key = (name) => `${base}.tiers.${at}.${field}.${name}`;
    const cell = (name, format) => show(key(name), format);
    return [make("span", {}, show(`${base}.tiers.${at}.tier`), " ", make("i", {}, field)), show(`${base}.tiers.${at}.type`),
      cell("duration_s.count", "tally"), cell("bytes", "bytes"), cell("busy_mb_per_s", "megabytes_per_second"), cell("busy_s", "seconds"),
      cell("duration_s.mean", "seconds"), cell("duration_s.p50", "seconds"), cell("duration_s.p99", "seconds")];
  }));
  if (rows.length === 0) return null;
  return card("Storage tiers", { class: "full" },
    grid(["tier", "type", "operations", "data", "rate", "busy", "mean", "p50", "p99"], rows),
    make("p", { class: "note" }, "rate: bytes / time with at least one such operation under way (busy). "
      + "Latencies are those of single operations, as their callers saw them; p50 and p99 are interpolated between the bounds of the histogram."));
}

function tierHistograms(runs, tierName) {
  const tiers = runs.map((run) => run.tiers.find((tier) => tier.tier === tierName));
  return TRAFFIC.flatMap((field) => [["latency", "duration_s", FORMATS.seconds], ["size", "request_bytes", FORMATS.bytes]]
    .map(([what, figure, format]) => {
      const columns = tiers.flatMap((tier, at) => (moves(tier, field) ? [{ name: runs.length > 1 ? runs[at].label : "operations",
        colour: runs.length > 1 ? colourOf(at) : field === "read" ? "c0" : "c1", ...tier[field][figure] }] : []));
      if (columns.length === 0) return null;
      return card(`${tierName}: ${what} of a ${field}`, {}, histogram(what, columns, format));
    }));
}

const tierNames = (runs) => [...new Set(runs.flatMap((run) => run.tiers.map((tier) => tier.tier)))];

function slowest(run, base) {
  return ["read", "decode"].map((stage) => {
    const samples = run.summary?.slowest_samples?.[stage] ?? [];
    if (samples.length === 0) return null;
    return card(`Slowest samples to ${stage}`, {}, grid(["sample", "took", "encoded", "epoch"], samples.map((_, at) => {
      const key = (name) => `${base}.summary.slowest_samples.${stage}.${at}.${name}`;
      return [show(key("key")), show(key("seconds"), "seconds"), show(key("bytes"), "bytes"), show(key("epoch"), "count")];
    })));
  });
}

function checkpoints(run, base) {
  if (!run.summary?.checkpoints) return null;
  const key = (name) => `${base}.summary.checkpoints.${name}`;
  const operations = run.summary.checkpoints.operations ?? [];
  return card("Checkpoints and drains", { class: "full" },
    operations.length ? checkpointSpans(operations, run.summary.wall_s ?? 0) : null,
    facts([["saved", key("saved"), "count"], ["failed", key("failed"), "count"], ["skipped", key("skipped"), "count"],
      ["drained", key("drained"), "count"], ["drains left", key("drains_left"), "count"], ["size of a set", key("set_bytes"), "bytes"],
      ["save, median", key("save_s.median"), "seconds"], ["save, longest", key("save_s.max"), "seconds"],
      ["drain, median", key("drain_s.median"), "seconds"], ["waited for at the end", key("flush_s"), "seconds"],
      ["durable step", key("durable_step"), "count"], ["last error", key("last_error"), "text", "whole"]]));
}

function rankTable(run, base) {
  const ranks = Object.keys(run.summary?.ranks ?? {}).sort((a, b) => a - b);
  if (ranks.length === 0) return null;
  const straggler = run.summary.all_ranks?.straggler;
  const rows = ranks.map((rank) => {
    const key = (name) => `${base}.summary.ranks.${rank}.${name}`;
    return [rank, show(key("images"), "count"), show(key("images_per_s"), "rate"), show(key("segments_share.compute"), "share"),
      show(key("segments_share.data_wait"), "share"), show(key("segments_share.allreduce"), "share"),
      show(key("segments_share.checkpoint_stall"), "share"), show(key("idle_share_by_cause.data"), "share"),
      show(key("idle_share_by_cause.peers"), "share")];
  });
  return card("Ranks", { class: "full" },
    grid(["rank", "images", "images/s", "compute", "data wait", "all-reduce", "checkpoint", "idle: data", "idle: peers"], rows),
    straggler ? make("p", { class: "warn" }, `Rank ${straggler.rank} holds the others up, by its ${straggler.cause}.`) : "",
    make("p", { class: "note" }, "idle: peers: how much longer a rank waited for the exchange of gradients than the one that came last."));
}

function ledgerCharts(run, group, base) {
  const timeline = new Course(run.timeline, "elapsed_s");
  const steps = new Course(run.steps, "wall_s");
  const fine = timeline.has("segments_share.compute") || timeline.has("segments_share.data_wait");
  const segments = SEGMENTS.map((name) => ({ name: name.replaceAll("_", " "), colour: name, course: fine ? timeline : steps,
    column: `segments_share.${name}`, exact: `${base}.summary.segments_share.${name}` }));
  const stack = { stacked: true, wide: true };
  const causes = CAUSES.map((name) => ({ name, colour: CAUSE_COLOURS[name], exact: `${base}.summary.device.idle_share_by_cause.${name}`,
    course: timeline.has("device.idle_share_by_cause.data") ? timeline : steps, column: `device.idle_share_by_cause.${name}` }));
  return [new CourseChart(group, "Where the step goes", segments, { ...stack, share: "whole" }),
    new CourseChart(group, "Device idle by cause", causes, { ...stack, share: "part", thresholds: run.summary?.judged?.bounds })];
}

const isRate = (column, verb) => column.startsWith("tiers.") && column.endsWith(`.${verb}.mb_per_s`);
const tierOfRate = (column, verb) => column.slice("tiers.".length, -`.${verb}.mb_per_s`.length);

const MB = { format: (value) => FORMATS.megabytes_per_second(value), wide: true, legend: true };

function trafficCharts(run, group, base) {
  const timeline = new Course(run.timeline, "elapsed_s");
  const names = Object.keys(run.timeline ?? {}).filter((name) => run.timeline[name].some((value) => value > 0));
  const of = (verb) => names.filter((name) => isRate(name, verb)).map((column, at) => ({
    name: tierOfRate(column, verb), colour: colourOf(at), course: timeline, column }));
  const block = [["this process read", "process.storage_read_mb_per_s"], ["this process wrote", "process.storage_written_mb_per_s"],
    ["disks read, all processes", "system.disk_read_mb_per_s"], ["disks wrote, all processes", "system.disk_written_mb_per_s"]]
    .map(([name, column], at) => ({ name, colour: colourOf(at), course: timeline, column }));
  return [new CourseChart(group, "Reads by tier, MB/s", of("read"), MB), new CourseChart(group, "Writes by tier, MB/s", of("write"), MB),
    new CourseChart(group, "Block layer, MB/s", block, MB),
    new CourseChart(group, "CPU and device busy", [{ name: "CPUs of the machine", colour: "c0", course: timeline, column: "system.busy_share" },
      { name: "device", colour: "c1", course: timeline, column: "device.busy_share",
      exact: `${base}.summary.device.busy_share` }], { share: "whole", wide: true })];
}

function progressCharts(run, group) {
  const timeline = new Course(run.timeline, "elapsed_s");
  const steps = new Course(run.steps, "wall_s");
  const rate = timeline.has("images_per_s") ? timeline : steps;
  const line = (course, column) => [{ name: column, colour: "line", course, column }];
  return [new CourseChart(group, "Images/s", line(rate, "images_per_s"), { format: FORMATS.rate }),
    new CourseChart(group, "Fill of the queue before the trainer", line(timeline, "queue_fill"), { share: "whole" }),
    new CourseChart(group, "CPU cores this process used", line(timeline, "process.cores"), { format: FORMATS.amount }),
    new CourseChart(group, "Loss", line(steps, "loss"), { line: true, format: FORMATS.number })];
}

function headline(run, base) {
  const verdict = `${base}.summary.verdict`;
  return make("section", { class: "verdict", id: "verdict", "data-level": run.summary ? run.summary.verdict?.level ?? "unknown" : "failed" },
    make("div", { class: "mark", "aria-hidden": "true" }),
    make("div", {}, make("h2", {}, item(show(`${verdict}.title`))), make("p", { class: "item say" }, show(`${verdict}.text`)),
      make("p", { class: "item next" }, make("i", {}, "try "), show(`${verdict}.next`)),
      make("p", { class: "item failure" }, show(`${base}.summary.error`)),
      run.summary ? "" : make("p", { class: "failure" },
        "There is no summary.json: the process was killed, or still runs. Charts show what it left."),
      make("ul", {}, ...(run.summary?.verdict?.evidence ?? []).map((_, at) => make("li", {}, show(`${verdict}.evidence.${at}`)))),
      make("p", { class: "item" }, show(`${base}.summary.steps`, "count"), " of ", show(`${base}.summary.steps_planned`, "count"),
        " steps, ", show(`${base}.summary.images`, "count"), " images in ", show(`${base}.summary.wall_s`, "span")),
      run.summary?.device?.emulated ? make("p", { class: "warn" }, "On an emulated device: it keeps time and does no arithmetic.") : ""));
}

function runPage(report) {
  const [run] = report.runs;
  const base = "runs.0";
  const group = new CourseGroup();
  const charts = [...ledgerCharts(run, group, base), ...trafficCharts(run, group, base), ...progressCharts(run, group)]
    .filter((chart) => chart.lines.length > 0);
  const main = [headline(run, base), runFigures(run, base),
    section("charts", "Course of the run", charts.map((chart) => chart.root)),
    section("pair", "Ranks, storage and checkpoints", rankTable(run, base), checkpoints(run, base), tierTable(run, base),
      tierNames(report.runs).flatMap((name) => tierHistograms(report.runs, name)), ...slowest(run, base)),
    ...profileSections(run.io_profiles ?? [], `${base}.io_profiles`, group),
    section("pair", "Conditions", conditions(run, base),
      card("Environment", {}, listing(flat(run.environment))),
      run.overrides ? card("Overrides", { class: "full" }, make("pre", {}, run.overrides)) : null,
      card("Configuration", { class: "full" }, make("pre", { class: "columns" }, run.config)))];
  return { title: run.name, chips: runChips(run), what: [run.summary?.loader && `${run.summary.loader} loader`, run.summary?.model,
    run.summary?.device?.name], main, group };
}

function runChips(run) {
  return [run.summary?.device?.emulated ? chip("emulated device", "emulated") : null,
    run.tiers.some((tier) => tier.emulated) ? chip("emulated storage", "emulated") : null,
    run.summary?.conditions?.page_cache ? chip(`page cache ${run.summary.conditions.page_cache}`) : null,
    chip(run.summary?.status ?? "no summary", "phase")].filter(Boolean);
}
