#include "app/train/windows/io_window.h"

#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "io/core/error.h"
#include "io/metrics/io_sessions.h"

namespace stoker {

extern "C" {
static void ask_for_session(int /*signal*/) { IoTrigger::instance().toggle(); }
}

void take_session_signal() {
  IoTrigger::instance();  // made before a signal can come
  struct sigaction action = {};
  action.sa_handler = ask_for_session;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR2, &action, nullptr);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

IoWindow::IoWindow(const IoProfileOptions& options, std::string run_dir,
                   std::vector<std::string> folders, int64_t step, Hub& hub, Notify log)
    : options_(options),
      run_dir_(std::move(run_dir)),
      folders_(std::move(folders)),
      hub_(hub),
      log_(std::move(log)) {
  at_step(step);
}

// A session that somebody asked for lasts until somebody ends it. Meanwhile configured sessions do
// not begin or end.
bool IoWindow::obey(int64_t step) {
  const auto wish = IoTrigger::instance().take(open());
  if (!wish) return false;
  if (open()) end(step);
  try {
    if (*wish) begin(step);
  } catch (const Error& error) {
    log_(error.what());  // a run must not end because somebody wanted to look at it
  }
  asked_for_ = open();
  return true;
}

void IoWindow::in_evaluation(int64_t step) { obey(step); }

void IoWindow::at_step(int64_t step) {
  if (obey(step) || asked_for_ || options_.every_steps == 0) return;
  if (open() && step - first_step_ >= options_.steps) end(step);
  if (!open() && step % options_.every_steps == 0) begin(step);
}

void IoWindow::begin(int64_t step) {
  if (!sessions_) {
    sessions_ = new_io_sessions({options_.recorder, run_dir_, hub_, folders_,
                                 options_.library ? options_.library->value : ""});
    log_("I/O profiler: attached");
  }
  sessions_->begin();
  begun_there_ = step == first_step_ ? begun_there_ + 1 : 1;
  first_step_ = step;
}

void IoWindow::end(int64_t step) {
  const std::string again = begun_there_ > 1 ? fmt::format("-{}", begun_there_) : "";
  sessions_->end(fmt::format("io_profile-{}{}", first_step_, again), first_step_, step);
}

void IoWindow::finish(int64_t step) {
  if (open()) end(step);
  if (sessions_) sessions_->finish();
  sessions_.reset();
}

}  // namespace stoker
