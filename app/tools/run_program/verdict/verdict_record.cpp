#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/base/result_table.h"
#include "app/tools/run_program/verdict/program_verdict.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

using nlohmann::json;

// Rows of tables on a terminal, and of the record.
constexpr size_t kRowsOfText = 8;
constexpr size_t kRowsOfRecord = 200;

const char* name_of(Bound bound) { return kBoundNames[static_cast<size_t>(bound)]; }

std::string words_of(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  return to_text(text);
}

json did_json(const DoingSeconds& did) {
  json parts = json::object();
  for (size_t i = 0; i < kDoings; ++i) {
    if (did.seconds[i] > 0.0005) parts[kDoingNames[i]] = did.seconds[i];
  }
  return parts;
}

// Threads by what they did, those first that were on a core or in files longest.
std::vector<size_t> busiest(const ProgramSamples& samples) {
  std::vector<size_t> order(samples.threads.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) {
    const DoingSeconds& did = samples.threads[i].did;
    return did[Doing::on_core] + did[Doing::for_core] + did[Doing::in_file] + did[Doing::in_fault] +
           (samples.threads[i].main ? 1e-3 * did.sum() : 0);
  });
  return order;
}

json verdict_json(const ProgramVerdict& verdict) {
  json causes = json::array();
  for (const ProgramVerdict::Cause& cause : verdict.causes) {
    causes.push_back({{"bound", name_of(cause.bound)}, {"share", cause.share}});
  }
  return {{"bound", verdict.bound ? name_of(*verdict.bound) : "nothing"},
          {"what", verdict.what},
          {"where", to_text(verdict.where)},
          {"share", verdict.share},
          {"gain_at_most", verdict.gain_at_most},
          {"evidence", verdict.evidence},
          {"next", verdict.next},
          {"judged_s", verdict.judged_s},
          {"causes", std::move(causes)}};
}

json processes_json(const ProgramSamples& samples) {
  json list = json::array();
  for (const ProcessSamples& process : samples.processes) {
    list.push_back({{"pid", process.pid},
                    {"parent", process.parent},
                    {"name", to_text(process.name)},
                    {"command", words_of(process.command)},
                    {"begin_s", process.begin_s},
                    {"end_s", process.end_s},
                    {"device_bytes", process.device_bytes},
                    {"cores", process.cores}});
    if (list.size() >= kRowsOfRecord) break;
  }
  return list;
}

json threads_json(const ProgramSamples& samples) {
  json list = json::array();
  for (const size_t i : busiest(samples)) {
    const ThreadSamples& thread = samples.threads[i];
    list.push_back({{"pid", samples.processes[thread.process].pid},
                    {"tid", thread.tid},
                    {"name", to_text(thread.name)},
                    {"main", thread.main},
                    {"begin_s", thread.begin_s},
                    {"end_s", thread.end_s},
                    {"major_faults", thread.major_faults},
                    {"did", did_json(thread.did)}});
    if (list.size() >= kRowsOfRecord) break;
  }
  return list;
}

// A column for each kind of time: of the main threads of ranks, and of all threads.
json course_json(const ProgramSamples& samples) {
  const ProgramRoles roles = roles_of(samples);
  std::map<std::string, std::vector<double>> columns;
  std::vector<double> ends;
  json disk = json::array();
  json gpu = json::array();
  json others = json::array();
  const auto known = [](const std::optional<double>& value) {
    return value ? json(*value) : json();
  };
  double begin_s = 0;
  for (const SampleWindow& window : samples.windows) {
    const double length = std::max(1e-9, window.end_s - begin_s);
    DoingSeconds main;
    DoingSeconds all;
    for (const SampleWindow::Share& share : window.threads) {
      all += share.did;
      for (const ProgramRoles::Rank& rank : roles.ranks) {
        if (rank.thread == share.thread) main += share.did;
      }
    }
    for (size_t i = 0; i < kDoings; ++i) {
      columns[std::string("main.") + kDoingNames[i]].push_back(std::max(0.0, main.seconds[i]) /
                                                               length);
      columns[std::string("all.") + kDoingNames[i]].push_back(std::max(0.0, all.seconds[i]) /
                                                              length);
    }
    ends.push_back(window.end_s);
    disk.push_back(known(window.disk_busy));
    gpu.push_back(known(window.gpu_busy));
    others.push_back(known(window.other_cores));
    begin_s = window.end_s;
  }
  json course = json::object();
  for (auto& [name, values] : columns) {
    // What never happened has no column.
    if (std::ranges::any_of(values, [](double value) { return value > 0.001; })) {
      course[name] = std::move(values);
    }
  }
  course["end_s"] = std::move(ends);
  course["disk_busy"] = std::move(disk);
  course["gpu_busy"] = std::move(gpu);
  course["other_cores"] = std::move(others);
  return course;
}

// What two sources know of one file; null: this one knows nothing.
struct FileTimes {
  const ProgramIo::File* counted = nullptr;
  const BlockedOn* blocked = nullptr;

  double most_s() const {
    return std::max(counted == nullptr ? 0 : counted->call_s(),
                    blocked == nullptr ? 0 : blocked->seconds);
  }
};

json file_json(const std::string& path, const FileTimes& times) {
  json file = {{"path", to_text(path)}};
  if (const ProgramIo::File* const counted = times.counted) {
    file.update({{"seconds", counted->call_s()},
                 {"reads", counted->reads},
                 {"bytes_read", counted->bytes_read},
                 {"cold_bytes", counted->cold_bytes},
                 {"bytes_written", counted->bytes_written}});
  }
  if (times.blocked != nullptr) {
    file["blocked_s"] = times.blocked->seconds;
    file["mount"] = to_text(times.blocked->mount);
  }
  return file;
}

// Both sources are joined before rows are left out, so that each row has all that is known.
json files_json(const ProgramSamples& samples, const ProgramIo& io) {
  std::map<std::string, FileTimes> files;
  for (const ProgramIo::File& file : io.files) files[file.path].counted = &file;
  for (const BlockedOn& one : samples.blocked) {
    if (one.doing == Doing::in_file && !one.path.empty()) files[one.path].blocked = &one;
  }
  std::vector<std::pair<std::string, FileTimes>> order(files.begin(), files.end());
  std::ranges::stable_sort(order, std::greater(),
                           [](const auto& file) { return file.second.most_s(); });
  if (order.size() > kRowsOfRecord) order.resize(kRowsOfRecord);
  json list = json::array();
  for (const auto& [path, times] : order) list.push_back(file_json(path, times));
  return list;
}

std::string threads_text(const ProgramSamples& samples) {
  ResultTable table({{"", "process"},
                     {"", "thread"},
                     {"", "on core s", 2},
                     {"", "for core s", 2},
                     {"", "files s", 2},
                     {"", "waits s", 2}});
  size_t rows = 0;
  for (const size_t i : busiest(samples)) {
    if (++rows > kRowsOfText) break;
    const ThreadSamples& thread = samples.threads[i];
    const DoingSeconds& did = thread.did;
    const double files = did[Doing::in_file] + did[Doing::in_fault];
    table.add({fmt::format("{}", samples.processes[thread.process].pid), thread.name,
               did[Doing::on_core], did[Doing::for_core], files,
               did.sum() - did[Doing::on_core] - did[Doing::for_core] - files});
  }
  return rows == 0 ? "" : table.text(2);
}

std::string files_text(const ProgramSamples& samples, const ProgramIo& io) {
  ResultTable table({{"", "file"},
                     {"", "in calls s", 2},
                     {"", "blocked s", 2},
                     {"", "read MB", 1},
                     {"", "cold MB", 1}});
  size_t rows = 0;
  for (const json& file : files_json(samples, io)) {
    if (++rows > kRowsOfText) break;
    const auto megabytes = [&file](const char* name) {
      return file.contains(name) ? std::optional(1e-6 * file.at(name).get<double>()) : std::nullopt;
    };
    const auto seconds = [&file](const char* name) {
      return file.contains(name) ? std::optional(file.at(name).get<double>()) : std::nullopt;
    };
    table.add({file.at("path").get<std::string>(), seconds("seconds"), seconds("blocked_s"),
               megabytes("bytes_read"), megabytes("cold_bytes")});
  }
  return rows == 0 ? "" : table.text(2);
}

}  // namespace

json program_record(const ProgramSamples& samples, const ProgramIo& io,
                    const ProgramVerdict& verdict) {
  return {{"schema_version", 1},
          {"kind", "program"},
          {"command", samples.processes.empty() ? "" : words_of(samples.processes[0].command)},
          {"begin_unix_s", 1e-9 * static_cast<double>(io.begin_ns)},
          {"exit_code", io.exit_code},
          {"seconds", io.seconds},
          {"verdict", verdict_json(verdict)},
          {"processes", processes_json(samples)},
          {"threads", threads_json(samples)},
          {"course", course_json(samples)},
          {"files", files_json(samples, io)},
          {"mapped", samples.mapped},
          {"notes", io.notes},
          {"watch",
           {{"looks", samples.looks},
            {"own_s", samples.own_s},
            {"throttled_s", samples.throttled_s},
            {"usable_cores", samples.usable_cores},
            {"disks", samples.disks}}}};
}

std::string program_text(const ProgramSamples& samples, const ProgramIo& io,
                         const ProgramVerdict& verdict) {
  std::string text = printable(verdict.what) + "\n";
  if (!verdict.where.empty()) text += fmt::format("  where: {}\n", printable(verdict.where));
  if (verdict.bound) {
    text +=
        fmt::format("  to be gained: at most {:.0f} % of the time\n", 100 * verdict.gain_at_most);
  }
  for (const std::string& line : verdict.evidence) {
    text += fmt::format("  - {}\n", printable(line));
  }
  if (!verdict.next.empty()) text += fmt::format("  next: {}\n", printable(verdict.next));
  std::string causes;
  for (const ProgramVerdict::Cause& cause : verdict.causes) {
    causes += fmt::format("{}{} {:.0f} %", causes.empty() ? "" : ", ", name_of(cause.bound),
                          100 * cause.share);
  }
  if (!causes.empty()) text += fmt::format("  the time by cause: {}\n", causes);
  for (const std::string& table : {threads_text(samples), files_text(samples, io)}) {
    if (!table.empty()) text += "\n" + table;
  }
  return text;
}

std::string record_beside(const std::string& log) {
  constexpr std::string_view kEnding = ".darshan";
  return (log.ends_with(kEnding) ? log.substr(0, log.size() - kEnding.size()) : log) + ".json";
}

}  // namespace stoker
