#include "app/tools/sweep/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/base/progress_line.h"
#include "io/core/error.h"
#include "io/core/system/neighbours.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResults = "results.json";
constexpr const char* kMark = "sweep.yaml";
constexpr const char* kLock = ".lock";
constexpr const char* kLogs = "logs";
constexpr const char* kRuns = "runs";

// A sweep that was killed early has made these and no more.
bool is_made_first(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename();
  return name == kLock || name == kLogs || name == kRuns;
}

void check_is_ours(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error) || fs::exists(path + "/" + kMark)) return;
  if (std::all_of(fs::directory_iterator(path, error), fs::directory_iterator(), is_made_first)) {
    return;
  }
  throw Error(ExitCode::environment, path +
                                         " holds something that is no sweep: give the sweep an "
                                         "empty --directory");
}

}  // namespace

std::string last_line(const std::string& log) {
  const std::string text = "\n" + read_if_there(log).value_or("");
  const size_t error = text.rfind("\nerror: "), last = text.find_last_not_of('\n');
  const size_t begin = (error != std::string::npos ? error : text.rfind('\n', last)) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string base_file(const SweepOptions& options, const std::string& directory) {
  return options.base.path.empty() ? directory + "/base.yaml" : options.base.path;
}

SweepDirectory::SweepDirectory(const SweepOptions& options, const std::string& path, bool restart)
    : options_(options), path_(path) {
  check_is_ours(path_);
  make_directories(path_);
  lock();
  if (restart) throw_away();
  make_directories(this->path(kLogs));
  make_directories(this->path(kRuns));
}

void SweepDirectory::lock() {
  lock_ = open_file("lock", path(kLock), O_RDWR | O_CREAT);
  const int taken = lock_file(lock_, FileLock::exclusive);
  if (taken == 0) return;
  if (has_no_locks(taken)) {
    print_note(path_ +
               " has no file locks: nothing keeps another `stoker sweep` out of this directory");
    return;
  }
  if (taken != EAGAIN) throw_errno("lock", path(kLock), taken);
  throw Error(ExitCode::environment,
              path_ +
                  ": another `stoker sweep` is at work there: wait for its end, or give this "
                  "one another --directory");
}

// Without the results, what else stays is in the way of nothing.
void SweepDirectory::throw_away() const {
  std::error_code error;
  for (const char* known : {kResults, kUnderWay}) {
    fs::remove_all(path(known), error);
    if (error) throw IoError("remove " + path(known) + ": " + error.message(), error.value());
  }
  for (const char* old : {"results.csv", "report.html", "base.yaml", kLogs, kRuns}) {
    fs::remove_all(path(old), error);
    if (error) print_note(fmt::format("remove {}: {}: it stays", path(old), error.message()));
  }
}

void SweepDirectory::write_definition() const {
  write_file(kMark, to_yaml(dump_struct(options_)) + "\n");
  if (options_.base.path.empty()) write_file("base.yaml", to_yaml(options_.base.experiment) + "\n");
}

std::string SweepDirectory::base() const { return base_file(options_, path_); }

SweepResults SweepDirectory::results() const {
  return fs::exists(path(kResults)) ? read_results(path(kResults)) : SweepResults{};
}

void SweepDirectory::write(const SweepPlan& plan, const SweepResults& results) const {
  write_file(kResults, json_text(results_json(options_, plan, results, path_), 1) + "\n");
  write_file("results.csv", results_csv(options_, results));
}

void SweepDirectory::write_file(const std::string& name, const std::string& text) const {
  atomic_write_file(path(name), Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

std::string SweepDirectory::relative(const std::string& path) const {
  return path.starts_with(path_ + "/") ? path.substr(path_.size() + 1) : path;
}

Scratch::Scratch(const std::string& sweep_directory, const std::string& name) {
  const char* given = std::getenv("STOKER_SCRATCH");
  before_ = given != nullptr ? given : "";
  path_ = before_.empty() ? sweep_directory + "/scratch" : before_ + "/stoker-sweep-" + name;
  setenv("STOKER_SCRATCH", path_.c_str(), 1);
}

Scratch::~Scratch() {
  std::error_code error;
  if (held_) fs::remove_all(path_, error);
  if (before_.empty()) {
    unsetenv("STOKER_SCRATCH");
  } else {
    setenv("STOKER_SCRATCH", before_.c_str(), 1);
  }
}

// Where there are no locks, the folder is taken to be free.
bool Scratch::take(const std::string& path) {
  for (;;) {
    make_directories(path);
    FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder && errno == ENOENT) continue;  // its last user took it away
    struct stat held {
    }, there{};
    if (!folder || ::fstat(folder.get(), &held) != 0 || held.st_uid != ::geteuid()) return false;
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    if (::stat(path.c_str(), &there) != 0 || there.st_ino != held.st_ino) continue;  // likewise
    held_ = std::move(folder);
    path_ = path;
    setenv("STOKER_SCRATCH", path_.c_str(), 1);
    return true;
  }
}

void Scratch::clear() {
  if (!fs::exists(path_)) held_ = {};  // somebody has removed it
  const std::string first = path_;
  constexpr int kMost = 100;
  for (int i = 1; !held_ && !take(i == 1 ? first : fmt::format("{}-{}", first, i)); ++i) {
    if (i < kMost) continue;
    throw Error(ExitCode::environment,
                first +
                    ": other sweeps, or other users, have it: set STOKER_SCRATCH to a folder "
                    "of your own");
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_)) {
    fs::remove_all(entry.path(), error);
    if (error) throw IoError("empty " + path_ + ": " + error.message(), error.value());
  }
}

}  // namespace stoker
