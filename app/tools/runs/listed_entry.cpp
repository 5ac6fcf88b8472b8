#include "app/tools/runs/listed_entry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/tools/report/run_files.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/system/file_lock.h"
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

// What a list needs of a summary.json, taken out of its text without a tree of all of it.
class SummaryReader : public nlohmann::json_sax<json> {
 public:
  SummaryReader(ListedRun& run, const std::string& figure) : run_(run), figure_(figure) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& value) override {
    if (path_ == "status") run_.status = std::move(value);
    if (path_ == "verdict.level") run_.verdict = std::move(value);
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& name) override {
    path_.resize(begins_.back());
    if (!path_.empty()) path_ += '.';
    path_ += name;
    return true;
  }
  bool start_object(size_t) override {
    begins_.push_back(path_.size());
    return true;
  }
  bool end_object() override { return end(); }
  // A figure is never in a list.
  bool start_array(size_t) override {
    begins_.push_back(path_.size());
    path_ += "[]";
    return true;
  }
  bool end_array() override { return end(); }
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }

 private:
  bool number(double value) {
    if (path_ == "started_unix_s") run_.started_unix_s = value;
    const auto& listed = listed_figures();
    if (path_ == figure_ || std::ranges::find(listed, path_) != listed.end()) {
      run_.figures[path_] = value;
    }
    return true;
  }
  bool end() {
    path_.resize(begins_.back());
    begins_.pop_back();
    return true;
  }

  ListedRun& run_;
  const std::string& figure_;
  std::string path_;
  std::vector<size_t> begins_;
};

void read_summary(const std::string& text, const std::string& figure, ListedRun& run) {
  ListedRun found;
  SummaryReader reader(found, figure);
  if (!text.starts_with('{') || !json::sax_parse(text, &reader)) return;
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
