#include "app/process/end_within.h"

#include <pthread.h>

#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>

#include "app/process/error_text.h"
#include "io/core/system/standard_streams.h"

namespace stoker {

void end_now(const Error& error) {
  // Whoever hangs may hold the lock of a stream.
  write_stderr(error_text(error.what()));
  std::_Exit(static_cast<int>(error.code()));
}

void end_within(std::chrono::milliseconds time, const Error& error) {
  const auto end = [time, error] {
    pthread_setname_np(pthread_self(), "end-within");
    std::this_thread::sleep_for(time);
    end_now(error);
  };
  try {
    std::thread(end).detach();  // the process may end before it
  } catch (const std::system_error&) {
    // No thread could be started. The process is then left to end by itself.
  }
}

}  // namespace stoker
