#include "io/profiler/view/profile_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "io/core/text/text.h"
#include "io/profiler/profile_summary.h"

namespace stoker {
namespace {

using nlohmann::json;

json module_json(const IoModuleSummary& module) {
  return {{"files", module.files},           {"opens", module.opens},
          {"reads", module.reads},           {"writes", module.writes},
          {"seeks", module.seeks},           {"stats", module.stats},
          {"mmaps", module.mmaps},           {"syncs", module.syncs},
          {"renames", module.renames},       {"flushes", module.flushes},
          {"bytes_read", module.bytes_read}, {"bytes_written", module.bytes_written},
          {"read_s", module.read_s},         {"write_s", module.write_s},
          {"meta_s", module.meta_s}};
}

json share(int64_t part, int64_t whole) {
  return whole > 0 ? json(static_cast<double>(part) / static_cast<double>(whole)) : json();
}

struct ViewedDirection {
  int64_t count, bytes;
  int64_t of_posix, sequential, consecutive;
  double mb_per_s, under_way_s;
  const SizeCounts& sizes;
};

json histogram_json(const SizeCounts& counts) {
  return {{"bounds", kSizeBounds}, {"counts", counts}};
}

json direction_json(const ViewedDirection& of) {
  json value = {{"operations", of.count},        {"bytes", of.bytes},
                {"mb_per_s", of.mb_per_s},       {"sequential", of.sequential},
                {"consecutive", of.consecutive}, {"sizes", histogram_json(of.sizes)}};
  if (of.of_posix > 0) {
    value["sequential_share"] = share(of.sequential, of.of_posix);
    value["consecutive_share"] = share(of.consecutive, of.of_posix);
  }
  if (of.under_way_s >= 0) value["under_way_s"] = of.under_way_s;
  if (of.under_way_s > 0) {
    value["under_way_mb_per_s"] = 1e-6 * static_cast<double>(of.bytes) / of.under_way_s;
  }
  return value;
}

json values_json(std::span<const CommonValue> values, size_t most) {
  json list = json::array();
  for (const CommonValue& value : values.first(std::min(most, values.size()))) {
    list.push_back({{"value", value.value}, {"count", value.count}});
  }
  return list;
}

json files_json(std::span<const FileRow> rows, bool ranks) {
  json list = json::array();
  for (const FileRow& row : rows) {
    list.push_back({{"path", to_text(row.file->path)},
                    {"bytes", row.bytes},
                    {"opens", row.opens},
                    {"reads", row.reads},
                    {"writes", row.writes},
                    {"bytes_read", row.bytes_read},
                    {"bytes_written", row.bytes_written},
                    {"read_s", row.read_s},
                    {"write_s", row.write_s},
                    {"meta_s", row.meta_s},
                    {"seconds", row.seconds()}});
    if (ranks) list.back()["rank"] = row.file->rank;
  }
  return list;
}

json directories_json(std::span<const DirectoryRow> rows) {
  json list = json::array();
  for (const DirectoryRow& row : rows) {
    list.push_back({{"path", to_text(row.path)},
                    {"files", row.files},
                    {"bytes_read", row.bytes_read},
                    {"bytes_written", row.bytes_written},
                    {"seconds", row.seconds}});
  }
  return list;
}

// Columns of equal length, as the charts of pages want them.
json course_json(const std::vector<BandwidthBin>& bins) {
  json course = {{"end_s", json::array()},
                 {"read_mb_per_s", json::array()},
                 {"write_mb_per_s", json::array()}};
  for (const BandwidthBin& bin : bins) {
    const double seconds = bin.end_s - bin.begin_s;
    const auto rate = [&](double bytes) { return seconds > 0 ? 1e-6 * bytes / seconds : 0; };
    course["end_s"].push_back(bin.end_s);
    course["read_mb_per_s"].push_back(rate(bin.read_bytes));
    course["write_mb_per_s"].push_back(rate(bin.written_bytes));
  }
  return course;
}

json job_json(const IoProfile& profile, double seconds) {
  json job = {{"begin_unix_s", 1e-9 * static_cast<double>(profile.begin_ns)},
              {"seconds", seconds},
              {"uid", profile.uid},
              {"job_id", profile.job_id},
              {"ranks", profile.ranks},
              {"host", to_text(profile.host)},
              {"command", to_text(profile.command)}};
  if (const auto& steps = profile.steps) job["steps"] = {steps->first, steps->last};
  return job;
}

// Shares of the session's time in all ranks. Times of several threads at once add up.
// The waits for models of emulated tiers are in them: whoever reads such a tier waits as for a
// real one.
json time_shares(const ProfileSummary& summary, const IoProfile& profile) {
  const double whole = summary.seconds * static_cast<double>(std::max<int64_t>(1, profile.ranks));
  if (whole <= 0) return nullptr;
  IoProfile::Emulated waited;
  for (const IoProfile::Emulated& of : profile.emulated) {
    waited.read_s += of.read_s;
    waited.write_s += of.write_s;
    waited.meta_s += of.meta_s;
  }
  return {{"read", (summary.posix.read_s + summary.stdio.read_s + waited.read_s) / whole},
          {"write", (summary.posix.write_s + summary.stdio.write_s + waited.write_s) / whole},
          {"meta", (summary.posix.meta_s + summary.stdio.meta_s + waited.meta_s) / whole}};
}

json emulated_json(const IoProfile& profile) {
  json list = json::array();
  for (const IoProfile::Emulated& of : profile.emulated) {
    list.push_back({{"tier", to_text(of.tier)},
                    {"read_s", of.read_s},
                    {"write_s", of.write_s},
                    {"meta_s", of.meta_s},
                    {"bytes_read", of.bytes_read},
                    {"bytes_written", of.bytes_written},
                    {"reading_s", of.reading_s},
                    {"writing_s", of.writing_s}});
    if (of.reading_s > 0) list.back()["read_mb_per_s"] = emulated_read_mb_per_s(of);
    if (of.writing_s > 0) list.back()["write_mb_per_s"] = emulated_write_mb_per_s(of);
  }
  return list;
}

}  // namespace

json profile_json(const IoProfile& profile, const ProfileViewLimits& limits) {
  const ProfileSummary summary = summarize(profile);
  const IoModuleSummary &posix = summary.posix, &stdio = summary.stdio;
  const std::vector<FileRow> files = file_rows(profile);
  const std::vector<DirectoryRow> directories = directory_rows(profile);
  json value = {
      {"job", job_json(profile, summary.seconds)},
      {"posix", module_json(posix)},
      {"stdio", module_json(stdio)},
      {"read", direction_json({posix.reads + stdio.reads, summary.bytes_read(), posix.reads,
                               summary.sequential_reads, summary.consecutive_reads,
                               summary.read_mb_per_s(), summary.reading_s, summary.read_sizes})},
      {"write", direction_json({posix.writes + stdio.writes, summary.bytes_written(), posix.writes,
                                summary.sequential_writes, summary.consecutive_writes,
                                summary.write_mb_per_s(), summary.writing_s, summary.write_sizes})},
      {"read_write_switches", summary.read_write_switches},
      {"memory_unaligned", summary.memory_unaligned},
      {"file_unaligned", summary.file_unaligned},
      {"access_sizes", values_json(summary.access_sizes, limits.values)},
      {"strides", values_json(summary.strides, limits.values)},
      {"file_sizes", histogram_json(summary.file_sizes)},
      {"time_share", time_shares(summary, profile)},
      {"emulated", emulated_json(profile)},
      {"files_in_all", files.size()},
      {"files",
       files_json(std::span(files).first(std::min(limits.files, files.size())), profile.ranks > 1)},
      {"directories",
       directories_json(
           std::span(directories).first(std::min(limits.directories, directories.size())))},
      {"dropped",
       {{"files", profile.dropped.files},
        {"segments", profile.dropped.segments},
        {"posix", profile.dropped.posix},
        {"stdio", profile.dropped.stdio},
        {"segments_partial", profile.dropped.segments_partial}}},
      {"remarks", profile_remarks(profile)}};
  if (const auto bins = bandwidth_over_time(profile, limits.bins); !bins.empty()) {
    value["course"] = course_json(bins);
  }
  if (const auto check = check_bytes(profile)) {
    value["kernel"] = {{"bytes_read", check->kernel_read},
                       {"bytes_read_seen", check->seen_read},
                       {"bytes_written", check->kernel_written},
                       {"bytes_written_seen", check->seen_written}};
  }
  return value;
}

namespace {

std::string kernel_remark(const char* what, int64_t kernel, int64_t seen) {
  const int64_t more = kernel - seen;
  const double percent =
      kernel > 0 ? 100 * static_cast<double>(std::abs(more)) / static_cast<double>(kernel) : 0;
  return fmt::format("the kernel counts {} bytes {}, of which {} were seen: {} {} ({:.2f} %)",
                     kernel, what, seen, std::abs(more), more < 0 ? "too many" : "not", percent);
}

}  // namespace

std::vector<std::string> profile_remarks(const IoProfile& profile) {
  std::vector<std::string> remarks;
  for (const IoProfile::Emulated& of : profile.emulated) {
    const double waited = of.read_s + of.write_s + of.meta_s;
    const std::string begin = fmt::format(
        "tier '{}' is EMULATED: its times are calculated, not measured", to_text(of.tier));
    remarks.push_back(
        waited > 0 ? fmt::format("{}; the {:.2f} s for which its callers waited for its model are "
                                 "no system calls: they are in no counter of a file, but in the "
                                 "shares of time and in what was under way",
                                 begin, waited)
                   : begin);
  }
  const IoProfile::Dropped& dropped = profile.dropped;
  const auto partial = [&](bool is_partial, const char* module) {
    if (!is_partial) return;
    remarks.push_back(
        fmt::format("{} is incomplete: there was no memory for the records of more "
                    "files",
                    module));
  };
  partial(dropped.posix, "POSIX");
  partial(dropped.stdio, "STDIO");
  if (dropped.files > 0) {
    remarks.push_back(fmt::format("{} opens were of files without a record", dropped.files));
  }
  if (dropped.segments > 0) {
    remarks.push_back(
        fmt::format("{} reads and writes are counted, but single ones are not kept: "
                    "there was no memory for more",
                    dropped.segments));
  } else if (dropped.segments_partial) {
    remarks.emplace_back(
        "single reads and writes (DXT) are incomplete: there was no memory for more");
  }
  const IoModuleSummary streams = summarize(profile).stdio;
  const auto lacking = [&](const char* what, const char* view) {
    remarks.push_back(
        fmt::format("streams (STDIO) read {} bytes and wrote {}, and the log does not say {}: {} "
                    "POSIX's alone",
                    streams.bytes_read, streams.bytes_written, what, view));
  };
  if (streams.bytes_read > 0 || streams.bytes_written > 0) {
    if (!profile.stream_sizes) lacking("in requests of which sizes", "the sizes of requests are");
    if (course_lacks_streams(profile)) lacking("when", "the course of bandwidth is");
  }
  if (const std::optional<ByteCheck> check = check_bytes(profile)) {
    remarks.push_back(kernel_remark("read", check->kernel_read, check->seen_read));
    remarks.push_back(kernel_remark("written", check->kernel_written, check->seen_written));
  }
  remarks.emplace_back(
      "never seen: page faults of mapped files (LMDB reads so), calls that the C library makes "
      "itself, loops that keep the address of a call in a register");
  return remarks;
}

}  // namespace stoker
