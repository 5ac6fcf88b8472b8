#include "app/run/stop_signal.h"

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cerrno>

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

}  // namespace

StopSignal::StopSignal() {
  g_signal = 0;
  sem_init(&g_came, 0, 0);
  passes_on_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "stop-signal");
    while (sem_wait(&g_came) != 0) {  // a signal came to this very thread
    }
    if (requested()) source_.request_stop();
  });
  install(SIGINT, old_int_);
  install(SIGTERM, old_term_);
  install(SIGUSR1, old_usr1_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
  sigaction(SIGUSR1, &old_usr1_, nullptr);
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
