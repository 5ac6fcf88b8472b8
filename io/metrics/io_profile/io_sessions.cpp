#include "io/metrics/io_profile/io_sessions.h"

#include "io/core/error.h"

namespace stoker {

template <>
Registry<IoSessions>& Registry<IoSessions>::global() {
  static Registry<IoSessions> registry;
  return registry;
}

std::unique_ptr<IoSessions> new_io_sessions(const IoSessions::Inputs& inputs) {
  try {
    (void)Registry<IoSessions>::global().need("profiler");
  } catch (const Error& error) {
    throw Error(ExitCode::environment, error.what());  // no configuration names it
  }
  return default_component<IoSessions>("profiler").create(inputs);
}

}  // namespace stoker
