#include "app/run/session_signal.h"

#include "io/metrics/io_trigger.h"

namespace stoker {

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

}  // namespace stoker
