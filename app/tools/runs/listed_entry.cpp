#include "app/tools/runs/listed_entry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/tools/report/run_files.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/system/neighbours.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A run of another machine, whose lock cannot be seen from here, is at work if it wrote lately.
constexpr std::chrono::minutes kLately{10};

json json_of(const std::string& path) {
  try {
    const std::optional<std::string> text = read_own_file(path);
    return text ? try_parse_json(*text).value_or(nullptr) : json();
  } catch (const Error&) {
    return nullptr;
  }
}

std::string text_at(const json& tree, const char* path) {
  const json& value = member_at(tree, path);
  return value.is_string() ? value.get<std::string>() : "";
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

bool wrote_lately(const std::string& directory) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  return std::any_of(fs::directory_iterator(directory, error), fs::directory_iterator(),
                     [&](const fs::directory_entry& entry) {
                       return now - entry.last_write_time(error) < kLately;
                     });
}

// Of a run that is under way: the last whole window that it reported.
std::map<std::string, double> last_window(const std::string& path) try {
  constexpr off_t kTail = 1 << 16;
  const std::string head = read_if_there(path, kTail).value_or("");
  const FileDescriptor file = open_regular("read", path, O_RDONLY);
  if (!file) return {};
  std::string tail(static_cast<size_t>(kTail), '\0');
  const off_t from = std::max<off_t>(0, ::lseek(file.get(), 0, SEEK_END) - kTail);
  const ssize_t count = ::pread(file.get(), tail.data(), tail.size(), from);
  tail.resize(count < 0 ? 0 : static_cast<size_t>(count));
  tail.resize(tail.rfind('\n') + 1);  // npos + 1 is 0
  const size_t begin = tail.size() < 2 ? tail.npos : tail.rfind('\n', tail.size() - 2);
  if (begin == tail.npos) return {};
  const Table table =
      Table::parse(head.substr(0, head.find('\n') + 1) + tail.substr(begin + 1), path);
  std::map<std::string, double> window;
  for (const std::string& name : table.names()) {
    if (const auto value = table.column(name).at(0)) window[name] = *value;
  }
  return window;
} catch (const Error&) {  // no table of ours
  return {};
}

RunState state_of(const ListedRun& run, const std::string& host) {
  if (is_in_use(run.directory)) return RunState::running;
  if (run.status == "completed") return RunState::completed;
  if (run.status == "stopped") return RunState::stopped;
  if (run.summarised) return RunState::failed;
  const bool elsewhere = !host.empty() && host != host_name();
  return elsewhere && wrote_lately(run.directory) ? RunState::running : RunState::killed;
}

// Where the status page of a run is, as its sink has told Prometheus.
std::string live_address(const std::string& directory) {
  const json targets = json_of(directory + "/targets.json");
  if (!targets.is_array() || targets.empty()) return "";
  const json& addresses = member_at(targets[0], "targets");
  if (!addresses.is_array() || addresses.empty() || !addresses[0].is_string()) return "";
  return addresses[0].get<std::string>();
}

// What a character is, as values, so that loops over them take no calls.
constexpr auto kSpace = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
constexpr auto kNoSpace = [](char c) { return !kSpace(c); };
constexpr auto kBegin = [](char c) { return !kSpace(c) && c != ',' && c != ':'; };
constexpr auto kEnd = [](char c) { return !kBegin(c) || c == '}' || c == ']'; };

// Goes through the text of a JSON object and tells each number and text in it by its dotted path,
// as it is written: a list needs some of hundreds, and a parser would convert and keep them all.
// What lies in a list has no path of a figure. False: it is no whole object.
template <class F>
bool skim(std::string_view text, const F& found) {
  std::string path;
  std::vector<size_t> outer;  // the lengths of the paths of what is open
  const auto first = [&](size_t at, const auto& wanted) {
    while (at < text.size() && !wanted(text[at])) ++at;
    return at;
  };
  for (size_t at = first(0, kBegin); at < text.size(); at = first(at, kBegin)) {
    const char c = text[at];
    if (outer.empty() && c != '{') return false;
    if (c == '{' || c == '[') {
      outer.push_back(path.size());
      if (c == '[') path += "[]";
      ++at;
    } else if (c == '}' || c == ']') {
      path.resize(outer.back());
      outer.pop_back();
      ++at;
      if (outer.empty()) return first(at, kNoSpace) == text.size();
    } else if (c == '"') {
      size_t end = at + 1;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      if (end >= text.size()) return false;
      const std::string_view word = text.substr(at + 1, end - at - 1);
      at = end + 1;
      const size_t next = first(at, kNoSpace);
      if (next < text.size() && text[next] == ':') {
        path.resize(outer.back());
        if (!path.empty()) path += '.';
        path += word;
      } else {
        found(path, word);
      }
    } else {
      const size_t end = first(at, kEnd);
      found(path, text.substr(at, end - at));
      at = end;
    }
  }
  return false;
}

void read_summary(const std::string& text, const std::string& figure, ListedRun& run) {
  ListedRun found;
  const auto& listed = listed_figures();
  const auto take = [&](const std::string& path, std::string_view value) {
    if (path == "status") found.status = value;
    if (path == "verdict.level") found.verdict = value;
    const bool wanted = path == "started_unix_s" || path == figure ||
                        std::ranges::find(listed, path) != listed.end();
    double number = 0;
    if (!wanted ||
        std::from_chars(value.data(), value.data() + value.size(), number).ec != std::errc()) {
      return;
    }
    if (path == "started_unix_s") found.started_unix_s = number;
    if (path != "started_unix_s" || path == figure) found.figures[path] = number;
  };
  if (!skim(text, take)) return;
  run.summarised = true;
  run.status = found.status;
  run.verdict = found.verdict;
  run.started_unix_s = found.started_unix_s;
  run.figures = std::move(found.figures);
}

FileStamp stamp_of(const std::string& path) {
  struct stat found {};
  if (uninterrupted([&] { return ::stat(path.c_str(), &found); }) != 0) return {};
  const auto ns = [](const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return {found.st_ino, found.st_size, ns(found.st_mtim), ns(found.st_ctim)};
}

bool is_at_work(const std::string& sweep) {
  try {
    const FileDescriptor lock = open_regular("lock", sweep + "/.lock", O_RDWR);
    return lock && lock_file(lock, FileLock::exclusive) == EAGAIN;
  } catch (const IoError&) {  // another user's sweep
    return false;
  }
}

RunState sweep_state(const json& results) {
  if (!results.contains("finished")) return RunState::incomplete;
  const json& rows = results.at("rows");
  const bool good =
      std::ranges::all_of(rows, [](const json& row) { return row.at("exit_code") == 0; });
  return good ? RunState::completed : RunState::failed;
}

ListedRun read_listed_sweep(const std::string& directory) {
  ListedRun run;
  run.directory = directory;
  run.sweep = true;
  const json results = json_of(directory + "/results.json");
  try {
    run.state = sweep_state(results);
    run.done = results.at("rows").size();
    run.planned = results.at("runs_planned").get<size_t>();
    Leaves axes;
    for (const json& axis : results.at("axes")) {
      std::string values;
      for (const json& value : axis.at("values")) {
        values += (values.empty() ? "" : ",") + value.get<std::string>();
      }
      axes[axis.at("key").get<std::string>()] = values;
    }
    run.differs = {axes.begin(), axes.end()};
    run.config = {std::make_shared<const Leaves>(std::move(axes))};
    for (const json& row : results.at("rows")) {
      const json& figures = row.at("figures");
      if (!figures.contains("images_per_s")) continue;
      const double rate = figures.at("images_per_s").get<double>();
      if (!run.range) run.range.emplace(rate, rate);
      run.range = {std::min(run.range->first, rate), std::max(run.range->second, rate)};
    }
    const json& findings = results.at("findings");
    const auto within = std::ranges::count_if(
        findings, [](const json& one) { return one.at("verdict") == "within"; });
    if (!findings.empty()) run.verdict = fmt::format("{} of {} within", within, findings.size());
  } catch (const json::exception&) {  // of another release: what was read so far
  }
  return run;
}

}  // namespace

void ListedEntry::read_run(ListReading& reading) {
  const auto text_of = [&](const char* name) -> std::string {
    try {
      const auto text = read_own_file(run_.directory + "/" + name);
      reading.files_read += text.has_value();
      return text.value_or("");
    } catch (const Error&) {  // no file of ours
      return "";
    }
  };
  const FileStamp results = stamp_of(run_.directory + "/summary.json");
  const FileStamp config = stamp_of(run_.directory + "/config.yaml");
  if (fresh_ || results != results_) {
    ListedRun kept;
    kept.directory = run_.directory;
    kept.config = std::move(run_.config);
    run_ = std::move(kept);
    if (results != FileStamp()) read_summary(text_of("summary.json"), reading.figure, run_);
  }
  if (fresh_ || config != config_) run_.config = reading.configs.read(text_of("config.yaml"));
  // It is written after the configuration.
  if (!run_.summarised && host_.empty()) {
    host_ = text_at(json_of(run_.directory + "/environment.json"), "host");
  }
  results_ = results;
  config_ = config;
  fresh_ = false;
}

void ListedEntry::look_at_run(ListReading& reading) {
  read_run(reading);
  run_.state = state_of(run_, host_);
  const bool running = run_.state == RunState::running;
  run_.live = running ? live_address(run_.directory) : "";
  if (run_.summarised) return;
  run_.figures = running ? last_window(run_.directory + "/steps.csv") : decltype(run_.figures)();
}

void ListedEntry::look_at_sweep(ListReading& reading) {
  const FileStamp results = stamp_of(run_.directory + "/results.json");
  if (fresh_ || results != results_) {
    run_ = read_listed_sweep(run_.directory);
    ++reading.files_read;
  }
  results_ = results;
  // The end of the sweep is read even where its lock alone has gone.
  fresh_ = is_at_work(run_.directory);
  if (fresh_) run_.state = RunState::running;
}

bool ListedEntry::refresh(const std::string& directory, bool sweep, ListReading& reading) {
  const ListedRun before = run_;
  run_.directory = directory;
  if (sweep) {
    look_at_sweep(reading);
  } else {
    look_at_run(reading);
  }
  return run_ != before;
}

}  // namespace stoker
