// A program that `stoker run` watched: what holds it up, and what shows it. The record lies beside its Darshan log.

const PROGRAM_DOINGS = [["on_core", "on a core", "c0"], ["for_core", "waiting for a core", "c4"], ["in_file", "in calls on files", "c1"],
  ["in_fault", "in page faults", "c6"], ["on_gpu", "waiting for a GPU", "c3"], ["on_socket", "waiting for a socket", "c5"],
  ["on_pipe", "waiting for a pipe", "c2"], ["on_lock", "waiting for a thread or lock", "c7"], ["on_poll", "polling", "c8"],
  ["asleep", "asleep", "c9"], ["on_children", "waiting for a process to end", "c10"], ["other", "blocked elsewhere", "c11"]];
const PROGRAM_BOUNDS = { storage: "storage", workers: "processor time of workers", main_process: "the main process", cores: "too few cores",
  gpu: "the GPU", peers: "other ranks", network: "a server", unknown: "not to be seen", nothing: "too short to judge" };
const PROGRAM_ROWS = 30;

FORMATS.bound = (value) => PROGRAM_BOUNDS[value] ?? value;

function programHeadline(program, key) {
  const { bound, evidence } = program.verdict;
  const level = { nothing: "unknown", main_process: "fine", gpu: "fine" }[bound] ?? "host_bound";
  return make("section", { class: "verdict", id: "verdict", "data-level": level }, make("div", { class: "mark", "aria-hidden": "true" }),
    make("div", {}, make("h2", {}, show(key("verdict.bound"), "bound")), make("p", { class: "say" }, show(key("verdict.what"))),
      make("p", { class: "item" }, make("i", {}, "where "), show(key("verdict.where"))),
      make("p", { class: "item" }, make("i", {}, "to be gained at most "), show(key("verdict.gain_at_most"), "share")),
      make("p", { class: "item next" }, make("i", {}, "try "), show(key("verdict.next"))),
      make("ul", {}, ...evidence.map((_, at) => make("li", {}, show(key(`verdict.evidence.${at}`)))))));
}

function programConditions(program, key) {
  const causes = program.verdict.causes.map((_, at) => [show(key(`verdict.causes.${at}.bound`), "bound"),
    show(key(`verdict.causes.${at}.share`), "share")]);
  return [card("The program", {}, facts([["command", key("command"), "text", "whole"], ["began", key("begin_unix_s"), "time"],
    ["lasted", key("seconds"), "span"], ["judged", key("verdict.judged_s"), "span"], ["exit code", key("exit_code"), "plain"],
    ["cores it may use", key("watch.usable_cores"), "amount"], ["stopped by a cgroup", key("watch.throttled_s"), "seconds"],
    ["looks at it", key("watch.looks"), "count"], ["what they cost", key("watch.own_s"), "seconds"]]),
  program.notes.length ? make("ul", { class: "notes" }, ...program.notes.map((_, at) => make("li", {}, show(key(`notes.${at}`))))) : null),
  causes.length ? card("Its time by cause", {}, grid(["cause", "share"], causes),
    make("p", { class: "note" }, "Of the main thread, or of those of all ranks. What it waited for its workers is divided as these spent their time.")) : null];
}

// Folders that it saw through tiers (--tier).
function programTiers(program, key) {
  const tiers = program.tiers ?? [];
  if (tiers.length === 0) return null;
  const cell = (at, name, format) => show(key(`tiers.${at}.${name}`), format);
  return card("Emulated tiers", { class: "full" }, grid(["folder", "as", "page cache", "opens", "reads", "read", "waited", "of it the device"],
    tiers.map((_, at) => [cell(at, "folder"), cell(at, "tier"), cell(at, "page_cache"), cell(at, "opens", "tally"), cell(at, "reads", "tally"),
      cell(at, "bytes_read", "bytes"), cell(at, "waited_s", "seconds"), cell(at, "modelled_s", "seconds")]), { class: "paths" }),
  make("p", { class: "note" }, "The program saw these folders as if they were on such devices: what they take is calculated, not measured."));
}

function programCharts(program, group) {
  const course = new Course(program.course, "end_s");
  const lines = (whose) => PROGRAM_DOINGS.map(([name, words, colour]) => ({ name: words, colour, course, column: `${whose}.${name}` }));
  const look = { stacked: true, wide: true, format: (value) => `${digits(value)}` };
  return [new CourseChart(group, "What main threads did: threads by kind of time", lines("main"), look),
    new CourseChart(group, "What all threads did", lines("all"), look),
    new CourseChart(group, "Busiest block device and GPU", [{ name: "block device", colour: "c1", course, column: "disk_busy" },
      { name: "GPU", colour: "c3", course, column: "gpu_busy" }], { share: "whole", wide: true }),
    new CourseChart(group, "Cores that other programs kept busy", [{ name: "cores", colour: "c4", course, column: "other_cores" }],
      { wide: true, format: FORMATS.amount })].map((chart) => (chart.lines.length ? chart.root : null));
}

function programFiles(program, key) {
  const files = program.files.slice(0, PROGRAM_ROWS);
  if (files.length === 0) return null;
  const cell = (at, name, format) => show(key(`files.${at}.${name}`), format);
  return card("Files by time", { class: "full" }, grid(["file", "blocked", "in calls", "reads", "read", "of it cold", "written", "file system"],
    files.map((_, at) => [cell(at, "path"), cell(at, "blocked_s", "seconds"), cell(at, "seconds", "seconds"), cell(at, "reads", "tally"),
      cell(at, "bytes_read", "bytes"), cell(at, "cold_bytes", "bytes"), cell(at, "bytes_written", "bytes"), cell(at, "mount")]), { class: "paths" }),
  make("p", { class: "note" }, "Blocked: what was seen of threads that waited within a call, summed over them. In calls: all calls, with the "
    + "time of copying what was in memory. Cold: what slow reads had from a device, where the file system counts that."));
}

function programThreads(program, key) {
  const shown = PROGRAM_DOINGS.filter(([name]) => program.threads.some(({ did }) => did[name] !== undefined));
  const rows = program.threads.slice(0, PROGRAM_ROWS).map((_, at) => [make("span", {}, show(key(`threads.${at}.pid`)), " ",
    show(key(`threads.${at}.name`))), ...shown.map(([name]) => show(key(`threads.${at}.did.${name}`), "seconds"))]);
  return rows.length ? card("Threads", { class: "full" }, grid(["thread", ...shown.map(([, words]) => words)], rows)) : null;
}

function programSections(program, base, group) {
  const key = (name) => `${base}.${name}`;
  return [programHeadline(program, key), section("pair", "The program", programConditions(program, key)),
    section("charts", "Over time", programCharts(program, group)),
    section("pair", "Files and threads", programTiers(program, key), programFiles(program, key), programThreads(program, key))];
}
