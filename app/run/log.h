#pragma once

#include <memory>
#include <string>

#include "io/core/notify.h"

namespace spdlog {
class logger;
}

namespace stoker {

// The run's log: standard error and, once a run directory exists, log.txt in it. Any thread.
// Colours only on a terminal and without NO_COLOR; quiet: standard error gets warnings only.
class RunLog {
 public:
  explicit RunLog(bool quiet);

  // From here on lines go to `path` as well.
  void also_to(const std::string& path);
  void info(const std::string& text);
  void warn(const std::string& text);
  Notify notify() {
    return [this](const std::string& text) { info(text); };
  }
  // A progress line is shown on the terminal: standard error is one, and not told to be quiet.
  bool live() const { return live_; }

 private:
  bool live_;
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace stoker
