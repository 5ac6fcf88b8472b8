#include "app/tools/sweep/directory.h"

#include <fcntl.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/core/error.h"
#include "io/core/system/file_lock.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResults = "results.json";
constexpr const char* kMark = "sweep.yaml";

void check_is_ours(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error) || fs::is_empty(path, error) || fs::exists(path + "/" + kMark)) {
    return;
  }
  throw Error(ExitCode::environment, path +
                                         " holds something that is no sweep: give the sweep an "
                                         "empty --directory");
}

}  // namespace

SweepDirectory::SweepDirectory(const SweepOptions& options, const std::string& path, bool restart)
    : options_(options), path_(path) {
  check_is_ours(path_);
  make_directories(path_);
  lock_ = open_file("lock", path_ + "/.lock", O_RDWR | O_CREAT);
  if (lock_file(lock_, FileLock::exclusive) != 0) {
    throw Error(ExitCode::environment,
                path_ +
                    ": another `stoker sweep` is at work there: wait for its end, or give this "
                    "one another --directory");
  }
  if (restart) {
    for (const char* old : {kResults, "results.csv", "report.html", "base.yaml", "logs", "runs"})
      fs::remove_all(path_ + "/" + old);
  }
  make_directories(path_ + "/logs");
  make_directories(path_ + "/runs");
}

void SweepDirectory::write_definition() const {
  write_file(kMark, to_yaml(dump_struct(options_)) + "\n");
  if (options_.base.path.empty()) write_file("base.yaml", to_yaml(options_.base.experiment) + "\n");
}

std::string SweepDirectory::base() const {
  return options_.base.path.empty() ? path("base.yaml") : options_.base.path;
}

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
  path_ = given != nullptr && *given != '\0' ? std::string(given) + "/stoker-sweep-" + name
                                             : sweep_directory + "/scratch";
  setenv("STOKER_SCRATCH", path_.c_str(), 1);
}

Scratch::~Scratch() {
  std::error_code error;
  if (made_) fs::remove_all(path_, error);
}

void Scratch::clear() {
  std::error_code error;
  fs::remove_all(path_, error);
  if (error) throw IoError("empty " + path_ + ": " + error.message(), error.value());
  make_directories(path_);
  made_ = true;
}

}  // namespace stoker
