#include "io/profiler/io_profiler.h"

#include <cstdio>
#include <exception>

#include "io/profiler/attach/attachment.h"
#include "io/profiler/io_recorder.h"
#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {

IoProfiler::IoProfiler() { Attachment::instance().attach(wrapped_functions()); }

IoProfiler::~IoProfiler() {
  try {
    if (open()) end();
    Attachment::instance().detach();
  } catch (const std::exception& error) {
    // It failed while it looked at libraries that came later. The slots are as they were.
    std::fprintf(stderr, "I/O profiler: %s\n", error.what());
  }
}

void IoProfiler::begin(const IoRecorderOptions& options) {
  IoRecorder::instance().start(options);
  count_calls(true);
}

bool IoProfiler::open() const { return IoRecorder::instance().on(); }

IoProfile IoProfiler::end() {
  count_calls(false);
  return IoRecorder::instance().stop();
}

}  // namespace stoker
