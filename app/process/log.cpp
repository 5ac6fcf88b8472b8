#include "app/process/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/sinks/output_file.h"

namespace stoker {

// spdlog's own file would lose a line where a signal interrupts it, and tell nobody.
class RunLog::File final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit File(const std::string& path) : file_(path) {}

  std::string error() {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  // The error, if it has not been returned before.
  std::string news() {
    const std::lock_guard lock(mutex_);
    return std::exchange(told_, true) ? "" : error_;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!error_.empty()) return;
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    try {
      file_.write({line.data(), line.size()});
    } catch (const IoError& error) {
      error_ = error.what();
      told_ = false;
    }
  }
  void flush_() override {}

  const OutputFile file_;
  std::string error_;
  bool told_ = true;
};

RunLog::RunLog(bool quiet, const std::string& prefix)
    : live_(isatty(STDERR_FILENO) == 1 && !quiet) {
  const bool plain = std::getenv("NO_COLOR") != nullptr;
  auto console = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
      plain ? spdlog::color_mode::never : spdlog::color_mode::automatic);
  // On a terminal a line of the log first wipes the progress line out.
  console->set_pattern((live_ ? "\r\x1b[K%^%l%$ " : "%T %^%l%$ ") + prefix + "%v");
  if (quiet) console->set_level(spdlog::level::warn);
  logger_ = std::make_shared<spdlog::logger>("stoker", console);
}

RunLog::~RunLog() = default;

void RunLog::also_to(const std::string& path) {
  file_ = std::make_shared<File>(path);
  file_->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger_->sinks().push_back(file_);
}

void RunLog::info(const std::string& text) { write(false, text); }
void RunLog::warn(const std::string& text) { write(true, text); }

void RunLog::write(bool warning, const std::string& text) {
  logger_->log(warning ? spdlog::level::warn : spdlog::level::info, "{}", printable(text));
  const std::string lost = file_ ? file_->news() : "";
  if (!lost.empty()) warn(lost + ": the training goes on without log.txt");
}

std::string RunLog::error() const { return file_ ? file_->error() : ""; }

}  // namespace stoker
