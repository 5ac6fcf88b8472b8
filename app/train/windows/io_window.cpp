#include "app/train/windows/io_window.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "io/core/io_trigger.h"
#include "io/core/text/json.h"
#include "io/metrics/hub.h"
#include "io/profiler/log/darshan_log.h"
#include "io/profiler/own_io.h"
#include "io/profiler/view/file_lanes.h"
#include "io/profiler/view/profile_json.h"

namespace stoker {
namespace {

// Sessions begin and end on the trainer's thread. Writing a log takes longer than a step, so it is
// done on a thread of its own (`writer_`), whose own I/O the profiler does not count (OwnIo).

// As much as the live page can show at a glance.
constexpr ProfileViewLimits kLive{.files = 20, .directories = 8, .values = 4, .bins = 60};

}  // namespace

extern "C" {
static void ask_for_session(int /*signal*/) { IoTrigger::instance().toggle(); }
}

SessionSignal::SessionSignal() {
  IoTrigger::instance();  // made before a signal can come
  struct sigaction action = {};
  action.sa_handler = ask_for_session;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR2, &action, &old_);
}

SessionSignal::~SessionSignal() { sigaction(SIGUSR2, &old_, nullptr); }

IoWindow::IoWindow(const IoProfileOptions& options, std::string run_dir, int64_t step, Hub& hub,
                   Notify log)
    : options_(options),
      run_dir_(std::move(run_dir)),
      hub_(hub),
      log_(std::move(log)),
      writer_([this] {
        const OwnIo own;
        try {
          while (const std::optional<Ended> ended = ended_.pop()) write(*ended);
        } catch (...) {
          ended_.close(std::current_exception());
        }
      }) {
  at_step(step);
}

IoWindow::~IoWindow() { ended_.close(); }

// A session that somebody asked for lasts until somebody ends it. Meanwhile configured sessions do
// not begin or end.
bool IoWindow::obey(int64_t step) {
  const auto wish = IoTrigger::instance().take(session_.has_value());
  if (!wish) return false;
  if (session_) end(step);
  if (*wish) begin(step);
  asked_for_ = *wish;
  return true;
}

void IoWindow::in_evaluation(int64_t step) { obey(step); }

void IoWindow::at_step(int64_t step) {
  if (obey(step) || asked_for_ || options_.every_steps == 0) return;
  if (session_ && step - first_step_ >= options_.steps) end(step);
  if (!session_ && step % options_.every_steps == 0) begin(step);
}

void IoWindow::begin(int64_t step) {
  if (!profiler_) {
    profiler_ = std::make_unique<IoProfiler>(options_.recorder);
    log_("I/O profiler: attached");
  }
  session_.emplace();
  begun_there_ = step == first_step_ ? begun_there_ + 1 : 1;
  first_step_ = step;
}

void IoWindow::end(int64_t step) {
  IoProfile profile = session_->end();
  session_.reset();
  profile.steps = IoProfile::Steps{first_step_, step};
  const std::string again = begun_there_ > 1 ? fmt::format("-{}", begun_there_) : "";
  // If the writer has failed, its queue is closed and drops the session.
  ended_.push({fmt::format("io_profile-{}{}.darshan", first_step_, again), std::move(profile)});
}

void IoWindow::write(const Ended& ended) {
  const IoProfile& profile = ended.profile;
  write_darshan_log(profile, run_dir_ + "/" + ended.name);
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
  while (ended_.pop()) {  // throws the writer's error, if there is one
  }
}

}  // namespace stoker
