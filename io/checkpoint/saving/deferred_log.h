#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "io/core/notify.h"

namespace stoker {

// Lines for the user's log, of whatever thread has something to say. The trainer's thread writes
// them, for the user's log is its alone.
class DeferredLog {
 public:
  DeferredLog(Notify info, Notify warn) : info_(std::move(info)), warn_(std::move(warn)) {}

  // Any thread.
  void info(const std::string& line) { add(false, line); }
  void warn(const std::string& line) { add(true, line); }
  // Writes all lines since the last call, in their order. The trainer's thread.
  void write() {
    std::deque<std::pair<bool, std::string>> lines;
    {
      const std::lock_guard lock(mutex_);
      lines = std::exchange(lines_, {});
    }
    for (const auto& [warning, line] : lines) (warning ? warn_ : info_)(line);
  }

 private:
  void add(bool warning, const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(warning, line);
  }

  const Notify info_;
  const Notify warn_;
  std::mutex mutex_;
  std::deque<std::pair<bool, std::string>> lines_;
};

}  // namespace stoker
