#pragma once

#include <memory>
#include <string>

#include "io/core/error.h"

namespace spdlog {
class logger;
}

namespace stoker {

// The run's log: standard error and, once a run directory exists, log.txt in it, which gets every
// line. All methods except also_to() are for any thread. Colours only on a terminal and without
// NO_COLOR.
class RunLog {
 public:
  // quiet: standard error gets warnings only. prefix: what every line there begins with.
  explicit RunLog(bool quiet, const std::string& prefix = "");
  ~RunLog();

  // From now on lines go to `path`, a new file, as well. Before other threads use the log. IoError.
  void also_to(const std::string& path);
  // One line, with its time. Never throws for a log that cannot be written: the file is left out
  // from then on, which standard error says once.
  void info(const std::string& text);
  void warn(const std::string& text);
  // The error of the write that failed. Empty: everything was written.
  std::string error() const;
  // info() as a function, valid while the log lives.
  Notify notify() {
    return [this](const std::string& text) { info(text); };
  }
  // Is a progress line shown on the terminal? Standard error must be one, and --quiet absent. A
  // line of the log wipes it out.
  bool live() const { return live_; }

 private:
  class File;
  void write(bool warning, const std::string& text);

  bool live_;
  std::shared_ptr<spdlog::logger> logger_;
  std::shared_ptr<File> file_;
};

}  // namespace stoker
