#include "app/tools/darshan/darshan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "io/core/config/config.h"
#include "io/core/config/registry.h"
#include "io/core/text/text.h"
#include "io/metrics/hub.h"
#include "io/metrics/sink.h"
#include "io/profiler/log/darshan_log.h"
#include "io/profiler/profile.h"
#include "io/profiler/view/file_lanes.h"
#include "io/profiler/view/profile_json.h"

namespace stoker {
namespace {

// Writes recorded profiles as trace.json, through the sink `trace`. Each file has a row. One
// thread.
//
//   ProfileTrace trace(directory);
//   trace.add(profile);  // each session, in the order of time
//   std::string line = trace.finish();
class ProfileTrace {
 public:
  // The directory is there. IoError where the file cannot be written.
  explicit ProfileTrace(const std::string& directory);
  void add(IoProfile profile);
  // Call it once, last. Returns a line that says what was written.
  std::string finish();

 private:
  Hub hub_;
  std::string line_;
  std::unique_ptr<MetricsSink> sink_;  // it refers to the hub
  const TimePoint start_;              // where the first profile begins
  std::optional<int64_t> first_ns_;    // its begin
};

ProfileTrace::ProfileTrace(const std::string& directory)
    : sink_(Registry<MetricsSink>::global()
                .parse(Section(parse_yaml("{type: trace, max_bytes: 4g}", "trace"), "", "trace",
                               nullptr))
                .create({.run_dir = directory,
                         .log = [this](const std::string& line) { line_ = line; },
                         .hub = hub_})),
      start_(Clock::now()) {}

void ProfileTrace::add(IoProfile profile) {
  if (!first_ns_) first_ns_ = profile.begin_ns;
  const auto begin =
      std::chrono::duration_cast<std::chrono::nanoseconds>(start_.time_since_epoch());
  // The logs are expected to be of one run. If they were years apart, a common axis of time would
  // say nothing.
  constexpr int64_t kYear = int64_t{366} * 86400 * 1'000'000'000;
  int64_t after = 0;
  if (__builtin_sub_overflow(profile.begin_ns, *first_ns_, &after)) after = kYear;
  profile.begin_monotonic_ns = begin.count() + std::clamp(after, -kYear, kYear);
  hub_.tracer().add(file_lanes(profile));
}

std::string ProfileTrace::finish() {
  sink_->flush();
  return line_;
}

using nlohmann::json;

std::vector<std::string> logs_of(const std::vector<std::string>& sources) {
  std::vector<std::string> logs;
  for (const std::string& source : sources) {
    if (!std::filesystem::is_directory(source)) {
      logs.push_back(source);
      continue;
    }
    const std::vector<std::string> found = profile_logs(source);
    if (found.empty()) {
      throw Error(ExitCode::environment,
                  source +
                      " has no io_profile*.darshan: a run with metrics.io_profile leaves one "
                      "for each session");
    }
    logs.insert(logs.end(), found.begin(), found.end());
  }
  return logs;
}

json metadata_json(const DarshanLog& log) {
  json metadata = json::object();
  for (const auto& [key, value] : log.metadata) metadata[to_text(key)] = to_text(value);
  return metadata;
}

json modules_json(const DarshanLog& log) {
  json modules = json::array();
  for (const DarshanLog::Module& module : log.modules) {
    modules.push_back({{"name", module.name},
                       {"version", module.version},
                       {"partial", module.partial},
                       {"read", module.read}});
  }
  return modules;
}

json mounts_json(const IoProfile& profile) {
  json mounts = json::array();
  for (const IoProfile::Mount& mount : profile.mounts) {
    mounts.push_back({{"type", to_text(mount.type)}, {"path", to_text(mount.path)}});
  }
  return mounts;
}

template <class Counters>
json counters_json(const Counters& counters, std::span<const char* const> counter_names,
                   std::span<const char* const> time_names) {
  json named = json::object();
  for (size_t i = 0; i < counter_names.size(); ++i) named[counter_names[i]] = counters.counters[i];
  for (size_t i = 0; i < time_names.size(); ++i) named[time_names[i]] = counters.times[i];
  return named;
}

json segments_json(const std::vector<IoSegment>& segments) {
  json list = json::array();
  for (const IoSegment& segment : segments) {
    list.push_back({segment.offset, segment.bytes, segment.begin_s, segment.end_s});
  }
  return list;
}

json records_json(const IoProfile& profile) {
  json list = json::array();
  for (const FileIo& file : profile.files) {
    json record = {{"id", file.id}, {"rank", file.rank}, {"path", to_text(file.path)}};
    if (file.posix) {
      record["POSIX"] = counters_json(*file.posix, posix_counter_names(), posix_time_names());
    }
    if (file.stdio) {
      record["STDIO"] = counters_json(*file.stdio, stdio_counter_names(), stdio_time_names());
    }
    if (!file.reads.empty()) record["read_segments"] = segments_json(file.reads);
    if (!file.writes.empty()) record["write_segments"] = segments_json(file.writes);
    list.push_back(std::move(record));
  }
  return list;
}

json log_json(const std::string& path, const DarshanLog& log, const DarshanArguments& arguments,
              const ProfileViewLimits& limits) {
  json value = {{"log", to_text(path)},
                {"format", log.version},
                {"metadata", metadata_json(log)},
                {"modules", modules_json(log)},
                {"mounts", mounts_json(log.profile)},
                {"profile", profile_json(log.profile, limits)}};
  if (arguments.records) value["records"] = records_json(log.profile);
  return value;
}

}  // namespace

ExitCode show_darshan(const DarshanArguments& arguments) {
  ProfileViewLimits limits;
  limits.files = static_cast<size_t>(arguments.files);
  json list = json::array();
  std::string text;
  const std::vector<std::string> logs = logs_of(arguments.sources);
  if (!arguments.output.empty() && logs.size() > 1) {
    throw Error(ExitCode::config,
                fmt::format("--output: it takes one log, and these are {}: name one", logs.size()));
  }
  std::optional<ProfileTrace> trace;
  if (!arguments.trace.empty()) trace.emplace(arguments.trace);
  for (const std::string& path : logs) {
    const bool named = std::ranges::find(arguments.sources, path) != arguments.sources.end();
    const DarshanLog log =
        read_darshan_log(path, kDarshanMemory, named ? Readable::streams : Readable::regular);
    if (trace) trace->add(log.profile);
    if (!arguments.output.empty()) write_darshan_log(log.profile, arguments.output);
    if (arguments.json) {
      list.push_back(log_json(path, log, arguments, limits));
    } else {
      text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", printable(path),
                          darshan_text(log, limits));
    }
  }
  if (trace) print_note(trace->finish());
  return print_result(arguments.json, {{"logs", std::move(list)}}, text, 2, arguments.output);
}

}  // namespace stoker
