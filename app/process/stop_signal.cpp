#include "app/process/stop_signal.h"

#include <pthread.h>
#include <semaphore.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>

namespace stoker {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1};
// So long after a signal the same one is the same request.
constexpr std::chrono::seconds kSameRequest(1);

// A signal handler can reach nothing but globals.
volatile std::sig_atomic_t g_signal = 0;  // the first one
std::atomic<Clock::rep> g_when = 0;
static_assert(std::atomic<Clock::rep>::is_always_lock_free);
std::array<std::atomic<Clock::rep>, 65> g_came{};  // by signal, when it came first; 0: it has not

// One of the few ways to wake a thread that a handler is allowed.
sem_t g_wake;

void request(int signal) {
  if (g_signal == 0) {
    g_when = Clock::now().time_since_epoch().count();
    g_signal = signal;
  }
  sem_post(&g_wake);
}

extern "C" void remember_signal(int signal) {
  const int before = errno;
  Clock::rep never = 0;
  g_came[static_cast<size_t>(signal)].compare_exchange_strong(
      never, Clock::now().time_since_epoch().count());
  request(signal);
  errno = before;
}

struct sigaction remembering() {
  struct sigaction action = {};
  action.sa_handler = remember_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  // Two signals at once: the handler of one of them runs first, and is not interrupted.
  for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);
  return action;
}

// For a quarter of a second at most.
void wait_for_signal() {
  constexpr long kNanoseconds = 250'000'000, kSecond = 1'000'000'000;
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += kNanoseconds;
  until.tv_sec += until.tv_nsec / kSecond;
  until.tv_nsec %= kSecond;
  sem_timedwait(&g_wake, &until);
}

// The kernel gives a signal to the main thread, and to no other one if that is in a call on a file
// system that does not come back. Then it is pending, and this takes it in the handler's place.
void take_pending(const sigset_t& signals) {
  const timespec at_once{};
  for (;;) {
    const int signal = sigtimedwait(&signals, nullptr, &at_once);
    if (signal <= 0) return;
    remember_signal(signal);
  }
}

// From then on the same signal again ends the process, whatever its threads do.
void end_at_the_next(TimePoint now) {
  for (const int signal : kSignals) {
    const Clock::rep came = g_came[static_cast<size_t>(signal)];
    if (came == 0 || now - TimePoint(Clock::duration(came)) < kSameRequest) continue;
    std::signal(signal, SIG_DFL);
  }
}

}  // namespace

StopSignal::StopSignal() {
  g_signal = 0;
  for (auto& came : g_came) came = 0;
  sem_init(&g_wake, 0, 0);
  passes_on_ = std::jthread([this](const std::stop_token& end) { pass_on(end); });
  const struct sigaction remember = remembering();
  for (const int signal : kSignals) {
    struct sigaction& old = old_[signal];
    sigaction(signal, nullptr, &old);
    if (signal != SIGHUP || old.sa_handler != SIG_IGN) sigaction(signal, &remember, nullptr);
  }
}

StopSignal::~StopSignal() {
  passes_on_.request_stop();
  sem_post(&g_wake);
  passes_on_.join();
  for (const auto& [signal, old] : old_) sigaction(signal, &old, nullptr);
}

void StopSignal::pass_on(const std::stop_token& end) {
  pthread_setname_np(pthread_self(), "stop-signal");
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kSignals) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  while (!end.stop_requested()) {
    wait_for_signal();
    take_pending(signals);
    if (!requested()) continue;
    source_.request_stop();
    end_at_the_next(Clock::now());
  }
}

bool StopSignal::requested() const { return g_signal != 0; }

std::optional<TimePoint> StopSignal::when() const {
  if (!requested()) return std::nullopt;
  return TimePoint(Clock::duration(g_when));
}

ExitCode StopSignal::exit_code() const {
  if (g_signal == SIGINT) return ExitCode::sigint;
  return requested() ? ExitCode::sigterm : ExitCode::ok;
}

int StopSignal::number() const { return g_signal; }

void StopSignal::adopt(int signal) { request(signal); }

}  // namespace stoker
