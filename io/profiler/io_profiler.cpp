#include "io/profiler/io_profiler.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "io/profiler/attach/attachment.h"
#include "io/profiler/io_recorder.h"
#include "io/profiler/wrap/counting.h"
#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {

namespace {

// Darshan writes its log in a destructor of its library, which no run calls: the program ends by
// std::_Exit(). So the function is called by its name; it does nothing a second time.
void write_log_of(const std::string& library) {
  if (library.empty()) return;
  void* const handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return;
  if (void* const finalize = ::dlsym(handle, "serial_finalize")) {
    const OwnIo own;
    reinterpret_cast<void (*)()>(finalize)();
  }
  ::dlclose(handle);
}

}  // namespace

IoProfiler::IoProfiler(const std::string& library, const std::string& library_log)
    : library_(library) {
  if (!library.empty()) {
    constexpr int kKeep = 0;
    ::setenv("DARSHAN_ENABLE_NONMPI", "1", kKeep);
    ::setenv("DARSHAN_LOGFILE", library_log.c_str(), kKeep);
  }
  Attachment::instance().attach(wrapped_functions(), library);
}

IoProfiler::~IoProfiler() {
  try {
    if (open()) end();
    Attachment::instance().detach();
    write_log_of(library_);
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
