#include "app/train/windows/io_window.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "io/core/json.h"
#include "io/metrics/hub.h"
#include "io/profiler/io_trigger.h"
#include "io/profiler/log/darshan_log.h"
#include "io/profiler/own_io.h"
#include "io/profiler/view/file_lanes.h"
#include "io/profiler/view/profile_json.h"

namespace stoker {
namespace {

// What a page can show at a glance.
constexpr ProfileViewLimits kLive{.files = 20, .directories = 8, .values = 4, .bins = 60};

}  // namespace

IoWindow::IoWindow(const IoProfileOptions& options, std::string run_dir, int64_t step, Hub& hub,
                   Notify log)
    : options_(options),
      run_dir_(std::move(run_dir)),
      hub_(hub),
      log_(std::move(log)),
      writer_([this] {
        const OwnIo own;
        try {
          while (const std::optional<IoProfile> ended = ended_.pop()) write(*ended);
        } catch (...) {
          ended_.close(std::current_exception());
        }
      }) {
  at_step(step);
}

IoWindow::~IoWindow() { ended_.close(); }

void IoWindow::at_step(int64_t step) {
  if (const auto wish = IoTrigger::instance().take(session_.has_value())) {
    if (session_) end(step);
    if (*wish) begin(step);
    asked_for_ = *wish;
    return;
  }
  if (asked_for_ || options_.every_steps == 0) return;
  if (session_ && step - first_step_ >= options_.steps) end(step);
  if (!session_ && step % options_.every_steps == 0) begin(step);
}

void IoWindow::begin(int64_t step) {
  if (!profiler_) {
    profiler_ = std::make_unique<IoProfiler>(options_.recorder);
    log_("I/O profiler: attached");
  }
  session_.emplace();
  first_step_ = step;
}

void IoWindow::end(int64_t step) {
  IoProfile profile = session_->end();
  session_.reset();
  profile.steps = IoProfile::Steps{first_step_, step};
  ended_.push(std::move(profile));  // after a failure it is dropped
}

void IoWindow::write(const IoProfile& profile) {
  const std::string path = fmt::format("{}/io_profile-{}.darshan", run_dir_, profile.steps->first);
  write_darshan_log(profile, path);
  hub_.tracer().add(file_lanes(profile));
  nlohmann::json json = profile_json(profile, kLive);
  json["first_step"] = profile.steps->first;
  hub_.set_io_profile(json_text(json));
}

void IoWindow::finish(int64_t step) {
  if (session_) end(step);
  profiler_.reset();
  ended_.close();
  writer_.join();
  while (ended_.pop()) {
  }
}

}  // namespace stoker
