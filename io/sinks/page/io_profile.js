// The views of an I/O profile (io/profiler/view/profile_json.h): cards, for any page that has its data under `base`.

const PROFILE_DIRECTIONS = [["read", "reads", "c0"], ["write", "writes", "c1"]];
const PROFILE_OPERATIONS = ["files", "opens", "reads", "writes", "seeks", "stats", "mmaps", "syncs", "renames", "flushes"];

function profileConditions(profile, key) {
  return card("I/O profile", { class: "full" }, facts([
    ["lasted", key("job.seconds"), "span"], ["began", key("job.begin_unix_s"), "time"], ["host", key("job.host")],
    ["job", key("job.job_id")], ["ranks", key("job.ranks"), "count"], ["files", key("files_in_all"), "count"],
    ["command", key("job.command"), "text", "whole"]]),
  make("ul", { class: "notes" }, ...profile.remarks.map((_, at) => make("li", {}, show(key(`remarks.${at}`))))));
}

function profileBandwidth(profile, key) {
  const rows = PROFILE_DIRECTIONS.map(([direction]) => [direction, show(key(`${direction}.operations`), "count"),
    show(key(`${direction}.bytes`), "bytes"), show(key(`${direction}.mb_per_s`), "megabytes_per_second"),
    show(key(`${direction}.under_way_mb_per_s`), "megabytes_per_second"), show(key(`${direction}.under_way_s`), "seconds"),
    show(key(`${direction}.sequential_share`), "share"), show(key(`${direction}.consecutive_share`), "share")]);
  for (const [at, { bytes_read, bytes_written }] of (profile.emulated ?? []).entries()) {
    for (const [way, bytes, busy, moved] of [["read", "bytes_read", "reading_s", bytes_read], ["write", "bytes_written", "writing_s", bytes_written]]) {
      if (moved > 0) {
        rows.push([make("span", {}, `${way}, EMULATED tier `, show(key(`emulated.${at}.tier`))), "", show(key(`emulated.${at}.${bytes}`), "bytes"), "",
          show(key(`emulated.${at}.${way}_mb_per_s`), "megabytes_per_second"), show(key(`emulated.${at}.${busy}`), "seconds"), "", ""]);
      }
    }
  }
  return card("Bandwidth and order", { class: "full" },
    grid(["", "operations", "data", "of the session", "while under way", "under way", "sequential", "consecutive"], rows),
    make("p", { class: "note" }, "Bandwidth is of both modules. Under way: with at least one read (write) in progress. Order is POSIX's, for "
      + "Darshan counts none of streams. Sequential: behind the end of the one before it on that file; consecutive: right behind it. The "
      + "first of a file at its begin is neither."));
}

function profileOperations(profile, key) {
  const modules = [["POSIX", "posix"], ["STDIO", "stdio"]];
  return card("Operations", { class: "full" },
    grid(["", ...PROFILE_OPERATIONS, "read", "written"], modules.map(([name, module]) => [name,
      ...PROFILE_OPERATIONS.map((operation) => show(key(`${module}.${operation}`), "tally")),
      show(key(`${module}.bytes_read`), "bytes"), show(key(`${module}.bytes_written`), "bytes")])),
    grid(["time in calls", "read", "write", "meta"], [...modules.map(([name, module]) => [name,
      ...["read_s", "write_s", "meta_s"].map((part) => show(key(`${module}.${part}`), "seconds"))]),
    ...(profile.emulated ?? []).map((_, at) => [make("span", {}, "emulated tier ", show(key(`emulated.${at}.tier`))),
      ...["read_s", "write_s", "meta_s"].map((part) => show(key(`emulated.${at}.${part}`), "seconds"))]),
    ["of the wall time", ...["read", "write", "meta"].map((part) => show(key(`time_share.${part}`), "share"))]]),
    make("p", { class: "note" }, "Times of several files at once add up. A stream whose descriptor was asked for counts in both modules."));
}

const anyCounted = ({ counts }) => counts.some((count) => count > 0);

function profileHistograms(profile) {
  const requests = PROFILE_DIRECTIONS.map(([direction, name, colour]) => ({ name, colour, ...profile[direction].sizes }))
    .filter(anyCounted);
  const files = [{ name: "files", colour: "c2", ...profile.file_sizes }].filter(anyCounted);
  return [["Sizes of reads and writes", "bytes", requests], ["Sizes of files, as far as they were used", "bytes", files]]
    .map(([title, unit, columns]) => (columns.length === 0 ? null : card(title, {}, histogram(unit, columns, FORMATS.bytes))));
}

function profileValues(profile, key) {
  return [["Commonest access sizes", "access_sizes"], ["Commonest strides", "strides"]].map(([title, field]) =>
    (profile[field].length === 0 ? null : card(title, {}, grid(["bytes", "times"], profile[field].map((_, at) =>
      [show(key(`${field}.${at}.value`), "count"), show(key(`${field}.${at}.count`), "count")])))));
}

function profileFiles(profile, key) {
  if (profile.files.length === 0) return null;
  const cell = (at, name, format) => show(key(`files.${at}.${name}`), format);
  const ranks = profile.job.ranks > 1;
  return card("Files by time lost", { class: "full" },
    grid(["file", ...(ranks ? ["rank"] : []), "time", "reading", "writing", "meta", "opens", "reads", "writes", "read", "written"],
      profile.files.map((_, at) => [cell(at, "path"), ...(ranks ? [cell(at, "rank", "text")] : []),
        ...["seconds", "read_s", "write_s", "meta_s"].map((name) => cell(at, name, "seconds")),
        ...["opens", "reads", "writes"].map((name) => cell(at, name, "tally")), cell(at, "bytes_read", "bytes"),
        cell(at, "bytes_written", "bytes")]), { class: "paths" }),
    profile.files_in_all > profile.files.length ? make("p", { class: "note" },
      `and ${grouped(profile.files_in_all - profile.files.length)} more`) : null);
}

function profileDirectories(profile, key) {
  if (profile.directories.length === 0) return null;
  const cell = (at, name, format) => show(key(`directories.${at}.${name}`), format);
  return card("Bytes by directory", { class: "full" }, grid(["directory", "files", "read", "written", "time"],
    profile.directories.map((_, at) => [cell(at, "path"), cell(at, "files", "count"), cell(at, "bytes_read", "bytes"),
      cell(at, "bytes_written", "bytes"), cell(at, "seconds", "seconds")]), { class: "paths" }));
}

// chart: of the course over time, where the page has one.
function profileCards(profile, base, chart = null) {
  const key = (name) => `${base}.${name}`;
  return [profileConditions(profile, key), profileBandwidth(profile, key), chart, profileOperations(profile, key), ...profileHistograms(profile),
    ...profileValues(profile, key), profileFiles(profile, key), profileDirectories(profile, key)].filter(Boolean);
}
