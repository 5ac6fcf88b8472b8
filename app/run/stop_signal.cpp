#include "app/run/stop_signal.h"

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <ctime>

namespace stoker {
namespace {

// A signal handler can reach nothing but globals.
volatile std::sig_atomic_t g_signal = 0;
std::atomic<Clock::rep> g_when = 0;
static_assert(std::atomic<Clock::rep>::is_always_lock_free);

// One of the few ways to wake a thread that a handler is allowed.
sem_t g_came;

extern "C" void remember_signal(int signal) {
  const int before = errno;
  g_when = Clock::now().time_since_epoch().count();
  g_signal = signal;
  sem_post(&g_came);
  errno = before;
}

void install(int signal, struct sigaction& old) {
  struct sigaction action = {};
  action.sa_handler = remember_signal;
  // SA_RESETHAND: the second signal meets the default action and ends the process.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, &old);
}

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&signals, signal);
  return signals;
}

// For a quarter of a second at most.
void wait_for_signal() {
  constexpr long kNanoseconds = 250'000'000, kSecond = 1'000'000'000;
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += kNanoseconds;
  until.tv_sec += until.tv_nsec / kSecond;
  until.tv_nsec %= kSecond;
  sem_timedwait(&g_came, &until);
}

// The kernel gives a signal to the main thread, and to no other one if that is in a call on a file
// system that does not come back. Then it is pending, and this takes it in the handler's place.
void take_pending(const sigset_t& signals) {
  const timespec at_once{};
  const int signal = sigtimedwait(&signals, nullptr, &at_once);
  if (signal <= 0) return;
  std::signal(signal, SIG_DFL);
  remember_signal(signal);
}

}  // namespace

StopSignal::StopSignal() {
  g_signal = 0;
  sem_init(&g_came, 0, 0);
  passes_on_ = std::jthread([this](const std::stop_token& end) {
    pthread_setname_np(pthread_self(), "stop-signal");
    const sigset_t signals = stop_signals();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    while (!end.stop_requested()) {
      wait_for_signal();
      if (!requested()) take_pending(signals);
      if (requested()) source_.request_stop();
    }
  });
  install(SIGINT, old_int_);
  install(SIGTERM, old_term_);
  install(SIGUSR1, old_usr1_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
  sigaction(SIGUSR1, &old_usr1_, nullptr);
  passes_on_.request_stop();
  sem_post(&g_came);
  passes_on_.join();
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

void StopSignal::adopt(int signal) { remember_signal(signal); }

}  // namespace stoker
