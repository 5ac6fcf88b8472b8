#include "app/run/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <unistd.h>

#include <cstdlib>

#include "io/core/text.h"

namespace stoker {

RunLog::RunLog(bool quiet) : live_(isatty(STDERR_FILENO) == 1 && !quiet) {
  const bool plain = std::getenv("NO_COLOR") != nullptr;
  auto console = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
      plain ? spdlog::color_mode::never : spdlog::color_mode::automatic);
  // On a terminal a line of the log first wipes the progress line out.
  console->set_pattern(live_ ? "\r\x1b[K%^%l%$ %v" : "%T %^%l%$ %v");
  if (quiet) console->set_level(spdlog::level::warn);
  logger_ = std::make_shared<spdlog::logger>("stoker", console);
}

void RunLog::also_to(const std::string& path) {
  auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  file->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger_->sinks().push_back(std::move(file));
  logger_->flush_on(spdlog::level::info);
}

void RunLog::info(const std::string& text) { logger_->info("{}", readable(text)); }
void RunLog::warn(const std::string& text) { logger_->warn("{}", readable(text)); }

}  // namespace stoker
