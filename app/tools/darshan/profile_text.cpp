#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <span>
#include <vector>

#include "app/base/result_table.h"
#include "app/tools/darshan/darshan.h"
#include "io/core/text/text.h"
#include "io/profiler/profile_summary.h"
#include "io/profiler/view/profile_json.h"

namespace stoker {
namespace {

using Cell = ResultTable::Cell;

constexpr double kMega = 1e-6;

std::string job_text(const DarshanLog& log, double seconds) {
  const IoProfile& profile = log.profile;
  const std::time_t begin = profile.begin_ns / 1'000'000'000;
  std::string text =
      fmt::format("  {} s from {:%Y-%m-%d %H:%M:%S} UTC, job {}, user {}, {}", seconds,
                  fmt::gmtime(begin), profile.job_id, profile.uid, plural(profile.ranks, "rank"));
  if (!profile.host.empty()) text += ", " + printable(profile.host);
  if (const auto& steps = profile.steps) {
    text += fmt::format(", steps {} to {}", steps->first, steps->last);
  }
  text += fmt::format("\n  {}\n  format {}", printable(profile.command), printable(log.version));
  std::string left_out;
  for (const DarshanLog::Module& module : log.modules) {
    if (module.read) {
      text += fmt::format(", {} {}{}", printable(module.name), module.version,
                          module.partial ? " (incomplete)" : "");
    } else {
      left_out += fmt::format("{}{}", left_out.empty() ? "" : ", ", printable(module.name));
    }
  }
  if (!left_out.empty()) text += "; left out: " + left_out;
  return text + '\n';
}

std::optional<double> share(int64_t part, int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string bandwidth_text(const ProfileSummary& summary,
                           const std::vector<IoProfile::Emulated>& emulated) {
  ResultTable table({{"", "bandwidth"},
                     {"", "operations"},
                     {"", "MB", 3, kMega},
                     {"", "MB/s of the session", 3},
                     {"", "MB/s while under way", 3},
                     {"", "POSIX: sequential %", 1, 100},
                     {"", "consecutive %", 1, 100}});
  const auto add = [&](const char* name, int64_t count, int64_t bytes, double rate, double busy_s,
                       int64_t of_posix, int64_t sequential, int64_t consecutive) {
    std::optional<double> under_way;
    if (busy_s > 0) under_way = kMega * static_cast<double>(bytes) / busy_s;
    table.add({name, count, static_cast<double>(bytes), rate, under_way,
               share(sequential, of_posix), share(consecutive, of_posix)});
  };
  const IoModuleSummary &posix = summary.posix, &stdio = summary.stdio;
  add("read", posix.reads + stdio.reads, summary.bytes_read(), summary.read_mb_per_s(),
      summary.reading_s, posix.reads, summary.sequential_reads, summary.consecutive_reads);
  add("write", posix.writes + stdio.writes, summary.bytes_written(), summary.write_mb_per_s(),
      summary.writing_s, posix.writes, summary.sequential_writes, summary.consecutive_writes);
  const auto add_emulated = [&](const IoProfile::Emulated& of, const char* way, int64_t bytes,
                                double rate) {
    if (bytes == 0) return;
    table.add({fmt::format("{}, EMULATED tier {}", way, of.tier),
               {},
               static_cast<double>(bytes),
               {},
               rate,
               {},
               {}});
  };
  for (const IoProfile::Emulated& of : emulated) {
    add_emulated(of, "read", of.bytes_read, emulated_read_mb_per_s(of));
    add_emulated(of, "write", of.bytes_written, emulated_write_mb_per_s(of));
  }
  return table.text(2);
}

std::string operations_text(const ProfileSummary& summary, int64_t ranks) {
  ResultTable table({{"", "operations"},
                     {"", "files"},
                     {"", "opens"},
                     {"", "reads"},
                     {"", "writes"},
                     {"", "seeks"},
                     {"", "stats"},
                     {"", "mmaps"},
                     {"", "syncs"},
                     {"", "renames"},
                     {"", "flushes"},
                     {"", "MB read", 3, kMega},
                     {"", "MB written", 3, kMega}});
  ResultTable times({{"", "time in calls"},
                     {"", "read s", 4},
                     {"", "write s", 4},
                     {"", "meta s", 4},
                     {"", "read %", 2, 100},
                     {"", "write %", 2, 100},
                     {"", "meta %", 2, 100}});
  const double whole = summary.seconds * static_cast<double>(std::max<int64_t>(1, ranks));
  const auto of_whole = [&](double seconds) {
    return whole > 0 ? std::optional(seconds / whole) : std::nullopt;
  };
  for (const auto& [name, module] :
       {std::pair("POSIX", &summary.posix), {"STDIO", &summary.stdio}}) {
    table.add({name, module->files, module->opens, module->reads, module->writes, module->seeks,
               module->stats, module->mmaps, module->syncs, module->renames, module->flushes,
               static_cast<double>(module->bytes_read),
               static_cast<double>(module->bytes_written)});
    times.add({name, module->read_s, module->write_s, module->meta_s, of_whole(module->read_s),
               of_whole(module->write_s), of_whole(module->meta_s)});
  }
  return table.text(2) + '\n' + times.text(2);
}

std::string sizes_text(const ProfileSummary& summary) {
  ResultTable table({{"", "bytes"}, {"", "reads"}, {"", "writes"}, {"", "files"}});
  bool any = false;
  for (size_t at = 0; at < kSizeNames.size(); ++at) {
    if ((summary.read_sizes[at] | summary.write_sizes[at] | summary.file_sizes[at]) == 0) continue;
    table.add(
        {kSizeNames[at], summary.read_sizes[at], summary.write_sizes[at], summary.file_sizes[at]});
    any = true;
  }
  return any ? table.text(2) : "";
}

std::string common_text(const ProfileSummary& summary, size_t most) {
  ResultTable table(
      {{"", "commonest size"}, {"", "times"}, {"", "commonest stride"}, {"", "times"}});
  const auto& sizes = summary.access_sizes;
  const auto& strides = summary.strides;
  const size_t rows = std::min(most, std::max(sizes.size(), strides.size()));
  for (size_t at = 0; at < rows; ++at) {
    std::vector<Cell> row(4);
    if (at < sizes.size()) row[0] = sizes[at].value, row[1] = sizes[at].count;
    if (at < strides.size()) row[2] = strides[at].value, row[3] = strides[at].count;
    table.add(std::move(row));
  }
  return rows > 0 ? table.text(2) : "";
}

std::string files_text(const IoProfile& profile, size_t most) {
  const std::vector<FileRow> rows = file_rows(profile);
  ResultTable table({{"", "s", 4},
                     {"", "read s", 4},
                     {"", "write s", 4},
                     {"", "meta s", 4},
                     {"", "opens"},
                     {"", "reads"},
                     {"", "writes"},
                     {"", "MB read", 3, kMega},
                     {"", "MB written", 3, kMega},
                     {"", profile.ranks > 1 ? "rank" : ""},
                     {"", "file"}});
  for (const FileRow& row : std::span(rows).first(std::min(most, rows.size()))) {
    table.add({row.seconds(), row.read_s, row.write_s, row.meta_s, row.opens, row.reads, row.writes,
               static_cast<double>(row.bytes_read), static_cast<double>(row.bytes_written),
               row.file->rank, row.file->path});
  }
  if (rows.empty() || most == 0) return "";
  return table.text(2) +
         (rows.size() > most ? fmt::format("  and {} more\n", rows.size() - most) : "");
}

std::string directories_text(const IoProfile& profile, size_t most) {
  const std::vector<DirectoryRow> rows = directory_rows(profile);
  ResultTable table({{"", "MB read", 3, kMega},
                     {"", "MB written", 3, kMega},
                     {"", "s", 4},
                     {"", "files"},
                     {"", "directory"}});
  for (const DirectoryRow& row : std::span(rows).first(std::min(most, rows.size()))) {
    table.add({static_cast<double>(row.bytes_read), static_cast<double>(row.bytes_written),
               row.seconds, row.files, row.path});
  }
  return rows.empty() ? "" : table.text(2);
}

}  // namespace

std::string darshan_text(const DarshanLog& log, const ProfileViewLimits& limits) {
  const IoProfile& profile = log.profile;
  const ProfileSummary summary = summarize(profile);
  std::string text = job_text(log, summary.seconds);
  for (const std::string& part :
       {bandwidth_text(summary, profile.emulated), operations_text(summary, profile.ranks),
        sizes_text(summary), common_text(summary, limits.values), files_text(profile, limits.files),
        directories_text(profile, limits.directories)}) {
    if (!part.empty()) text += '\n' + part;
  }
  text += '\n';
  for (const std::string& remark : profile_remarks(profile))
    text += fmt::format("  {}\n", printable(remark));
  return text;
}

}  // namespace stoker
