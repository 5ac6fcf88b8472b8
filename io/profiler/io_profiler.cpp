#include "io/profiler/io_profiler.h"

#include <cstdio>
#include <exception>

#include "io/profiler/attach/attachment.h"
#include "io/profiler/io_recorder.h"
#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {

IoProfiler::IoProfiler(const IoRecorderOptions& options) {
  IoRecorder::instance().start(options);
  try {
    Attachment::instance().attach(wrapped_functions());
  } catch (...) {
    IoRecorder::instance().stop();
    throw;
  }
  count_calls(true);
}

IoProfiler::~IoProfiler() {
  count_calls(false);
  try {
    Attachment::instance().detach();
  } catch (const std::exception& error) {
    // It failed while it looked at libraries that came later. The slots are as they were.
    std::fprintf(stderr, "I/O profiler: %s\n", error.what());
  }
  IoRecorder::instance().stop();
}

}  // namespace stoker
