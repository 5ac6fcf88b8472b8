#include "app/train/windows/io_window.h"

#include <fmt/format.h>

#include <csignal>
#include <string>
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

namespace {

using nlohmann::json;

// Numbers of the same place are added, and those of the same place in lists. Bounds of histograms
// are equal everywhere. Quotients are left out, and times under way, which not every session has.
void add_up(json& sum, const json& value) {
  if (value.is_number_integer()) {
    sum = sum.is_null() ? value : json(sum.get<int64_t>() + value.get<int64_t>());
  } else if (value.is_number()) {
    sum = sum.is_null() ? value : json(sum.get<double>() + value.get<double>());
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) add_up(sum[i], value[i]);
  } else if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      if (name == "bounds") {
        sum[name] = member;
      } else if (!name.ends_with("mb_per_s") && !name.ends_with("_share") &&
                 name != "under_way_s") {
        add_up(sum[name], member);
      }
    }
  }
}

// part / whole under a name, where both are there and the whole is not 0.
void divide(json& in, const char* name, double part, double whole) {
  if (whole > 0) in[name] = part / whole;
}

void add_quotients(json& direction, double seconds, double of_posix) {
  divide(direction, "mb_per_s", 1e-6 * direction.at("bytes").get<double>(), seconds);
  divide(direction, "sequential_share", direction.at("sequential").get<double>(), of_posix);
  divide(direction, "consecutive_share", direction.at("consecutive").get<double>(), of_posix);
}

}  // namespace

IoTotals::IoTotals(IoSessionFeed& feed)
    : subscription_(feed.subscribe([this](const IoSessionReport& report) { add(report); })) {}

void IoTotals::add(const IoSessionReport& report) {
  const json session = json::parse(report.json);
  json counted = {{"sessions", 1},
                  {"seconds", session.at("job").at("seconds")},
                  {"files", session.at("files_in_all")}};
  for (const char* part : {"posix", "stdio", "read", "write", "file_sizes"}) {
    counted[part] = session.at(part);
  }
  const std::lock_guard lock(mutex_);
  add_up(sums_, counted);
}

json IoTotals::figures() const {
  json all;
  {
    const std::lock_guard lock(mutex_);
    all = sums_;
  }
  if (all.is_null()) return all;
  const double seconds = all.at("seconds").get<double>();
  add_quotients(all["read"], seconds, all["posix"].at("reads").get<double>());
  add_quotients(all["write"], seconds, all["posix"].at("writes").get<double>());
  return all;
}

}  // namespace stoker
