#include "app/time_log/time_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "app/base/command_line.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/text/csv.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
constexpr size_t kFields = 9;
constexpr double kMicroseconds = 1e6;
constexpr double kMaxSeconds = 1e12;  // microseconds of it fit into 63 bits

std::string_view without_quotes(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\"");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\"") - begin + 1);
}

template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_us(std::string_view text, int64_t& us) {
  double seconds = 0;
  if (!parse(text, seconds) || !(std::abs(seconds) < kMaxSeconds)) return false;
  us = std::llround(kMicroseconds * seconds);
  return true;
}

// Empty: it was added.
std::string add_line(std::string_view line, TimeLog& log) {
  // No quotes: the last field, a thread's name, may have commas.
  std::vector<std::string_view> fields = split_at(line, ',', kFields);
  for (std::string_view& field : fields) field = without_quotes(field);
  if (fields.size() != kFields) {
    return fmt::format("{} fields where there are {}", fields.size(), kFields);
  }
  TimeLogRecord record;
  if (!parse(fields[0], record.epoch)) return fmt::format("epoch '{}'", fields[0]);
  if (!parse(fields[1], record.rank)) return fmt::format("rank '{}'", fields[1]);
  record.description = fields[3];
  if (record.description.empty()) return "no Action Description";
  if (!parse_us(fields[4], record.span.begin)) return fmt::format("start time '{}'", fields[4]);
  if (!parse_us(fields[5], record.span.end)) return fmt::format("end time '{}'", fields[5]);
  if (!parse_us(fields[6], record.taken_us)) return fmt::format("time taken '{}'", fields[6]);
  if (record.span.end < record.span.begin) return "ends before it starts";
  log.records.push_back(std::move(record));
  return "";
}

std::string folder_of(const std::string& run) { return run + "/time_logger_output"; }

// False: it is not there, or something else. IoError where that cannot be told.
bool is_folder(const std::string& path) {
  std::error_code error;
  const bool found = fs::is_directory(path, error);
  const bool known = !error || error == std::errc::no_such_file_or_directory ||
                     error == std::errc::not_a_directory;
  if (!known) throw IoError("look at " + path + ": " + error.message(), error.value());
  return found;
}

std::vector<std::string> files_in(const std::string& path) {
  const std::string ours = folder_of(path);
  const bool has_ours = is_folder(ours);
  std::error_code error;
  const bool is_run = fs::exists(path + "/config.yaml", error);
  std::vector<std::string> files;
  if (is_run && !has_ours) return files;
  const std::string folder = has_ours ? ours : path;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->is_regular_file(error)) files.push_back(entry->path().string());
  }
  if (error) throw IoError("list " + folder + ": " + error.message(), error.value());
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> files_under(const std::string& path) {
  if (!is_folder(path)) return {path};
  std::vector<std::string> files;
  for (const std::string& directory : directories_of_ranks(path)) {
    const std::vector<std::string> own = files_in(directory);
    files.insert(files.end(), own.begin(), own.end());
  }
  if (files.empty()) {
    throw Error(ExitCode::environment,
                path + ": no records of the TimeLogger; add {type: timelogger} to metrics.sinks");
  }
  return files;
}

}  // namespace

bool has_time_log(const std::string& run) { return is_folder(folder_of(run)); }

void read_time_log(const std::string& text, const std::string& path, TimeLog& log) {
  std::string_view rest = text;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = without_quotes(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.starts_with("Epoch")) continue;
    ++log.lines;
    const std::string problem = add_line(line, log);
    if (!problem.empty()) log.bad.push_back({path, number, problem});
  }
}

TimeLog read_time_logs(const std::vector<std::string>& paths, double max_bad) {
  TimeLog log;
  for (const std::string& path : paths) {
    for (const std::string& file : files_under(path)) {
      const Readable readable = file == path ? Readable::streams : Readable::regular;
      const std::optional<std::string> text = read_if_there(file, SIZE_MAX, readable);
      if (!text) throw Error(ExitCode::environment, file + ": there is no such file");
      log.files.push_back(file);
      read_time_log(*text, file, log);
    }
  }
  const auto bad = static_cast<double>(log.bad.size());
  if (bad > max_bad * static_cast<double>(log.lines)) {
    throw Error(ExitCode::data,
                fmt::format("{} of {} lines are no records of the TimeLogger, first {}:{}: {}; at "
                            "most {:g} % may be (--max-bad)",
                            log.bad.size(), log.lines, log.bad[0].path, log.bad[0].number,
                            log.bad[0].reason, 100 * max_bad));
  }
  return log;
}

TimeSpans unite(TimeSpans spans) {
  std::erase_if(spans, [](const TimeSpan& span) { return span.end <= span.begin; });
  std::ranges::sort(spans, {}, &TimeSpan::begin);
  TimeSpans united;
  for (const TimeSpan& span : spans) {
    if (united.empty() || span.begin > united.back().end) {
      united.push_back(span);
    } else {
      united.back().end = std::max(united.back().end, span.end);
    }
  }
  return united;
}

TimeSpans intersect(const TimeSpans& a, const TimeSpans& b) {
  TimeSpans both;
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const TimeSpan common{std::max(a[i].begin, b[k].begin), std::min(a[i].end, b[k].end)};
    if (common.begin < common.end) both.push_back(common);
    ++(a[i].end < b[k].end ? i : k);
  }
  return both;
}

TimeSpans subtract(const TimeSpans& a, const TimeSpans& b) {
  TimeSpans rest;
  size_t k = 0;
  for (TimeSpan span : a) {
    while (k < b.size() && b[k].end <= span.begin) ++k;
    for (size_t at = k; at < b.size() && b[at].begin < span.end; ++at) {
      if (b[at].begin > span.begin) rest.push_back({span.begin, b[at].begin});
      span.begin = std::max(span.begin, b[at].end);
    }
    if (span.begin < span.end) rest.push_back(span);
  }
  return rest;
}

int64_t total(const TimeSpans& spans) {
  int64_t sum = 0;
  for (const TimeSpan& span : spans) sum += span.end - span.begin;
  return sum;
}

}  // namespace stoker
