#include <pthread.h>

#include <memory>
#include <mutex>
#include <thread>

#include "io/core/error.h"
#include "io/profiler/io_recorder.h"
#include "io/profiler/recorder_state.h"

// Sessions of this process. The preloaded library, which has none, does without this file.

namespace stoker {

IoRecorder& IoRecorder::instance() {
  static IoRecorder& only = []() -> IoRecorder& {
    // Another thread may hold any lock of a state at the fork, so the child leaves it where it is.
    pthread_atfork(nullptr, nullptr, [] { instance().forget_in_child(); });
    // NOLINTNEXTLINE(bugprone-unused-return-value): it is never destroyed.
    return *std::make_unique<IoRecorder>().release();
  }();
  return only;
}

IoRecorder::IoRecorder() = default;
IoRecorder::~IoRecorder() = default;

void IoRecorder::forget_in_child() {
  tables_ = nullptr;
  forget_threads();
  // NOLINTNEXTLINE(bugprone-unused-return-value): the parent's, and its locks may be held.
  kept_.release();
}

void IoRecorder::start(const IoRecorderOptions& options) {
  const std::lock_guard lock(starting_);
  if (kept_ != nullptr) {
    throw Error(ExitCode::bug, "I/O profiler: a session is open already; end it first");
  }
  kept_ = std::make_unique<RecorderState>(options);
  tables_ = &kept_->tables;
}

IoProfile IoRecorder::stop() {
  const std::lock_guard lock(starting_);
  RecorderState& state = session();
  tables_ = nullptr;
  while (!nobody_inside()) std::this_thread::yield();
  IoProfile profile = state.profile(RecorderState::Segments::with);
  kept_.reset();
  return profile;
}

IoProfile IoRecorder::totals() const {
  const std::lock_guard lock(starting_);
  const Inside own(*this);
  return session().profile(RecorderState::Segments::without);
}

RecorderState& IoRecorder::session() const {
  if (kept_ == nullptr) {
    throw Error(ExitCode::bug, "I/O profiler: no session of this process is open");
  }
  return *kept_;
}

}  // namespace stoker
