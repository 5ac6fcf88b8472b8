#include "io/profiler/io_session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/profiler/counters/merge.h"
#include "io/profiler/recorder_state.h"

namespace stoker {
namespace {

ProfileBegin now_of(const RecorderState& state) {
  ProfileBegin now = begin_profile();
  now.elsewhere_read = state.elsewhere_read;
  now.elsewhere_written = state.elsewhere_written;
  now.dropped_files = state.dropped_files;
  now.dropped_segments = state.dropped_segments;
  return now;
}

// What was missed since `begin`.
IoProfile::Dropped dropped_since(const RecorderState& state, const ProfileBegin& begin) {
  const int64_t segments = state.dropped_segments - begin.dropped_segments;
  return {.files = state.dropped_files - begin.dropped_files,
          .segments = segments,
          .posix = state.posix_partial,
          .stdio = state.stdio_partial,
          .segments_partial = segments > 0};
}

// The profile from `begin` until now, without its files.
IoProfile profile_since(const RecorderState& state, const ProfileBegin& begin) {
  IoProfile profile = profile_between(begin, now_of(state));
  profile.mounts = state.mounts.list();
  return profile;
}

// The times of a file on the profile's clock.
void shift_file(FileIo& file, double begin_s) {
  if (file.posix) shift_times(*file.posix, begin_s);
  if (file.stdio) shift_times(*file.stdio, begin_s);
  for (std::vector<IoSegment>* list : {&file.reads, &file.writes}) {
    for (IoSegment& segment : *list) {
      segment.begin_s = std::max(0., segment.begin_s - begin_s);
      segment.end_s = std::max(0., segment.end_s - begin_s);
    }
  }
}

}  // namespace

class IoSession::Open {
 public:
  explicit Open(RecorderState& state) : state(state), begin(begin_in(state)) {}
  RecorderState& state;
  const ProfileBegin begin;

 private:
  static ProfileBegin begin_in(RecorderState& state) {
    const Inside own(&state);
    const ProfileBegin begin = now_of(state);
    state.begin_session();
    return begin;
  }
};

IoSession::IoSession(IoRecorder& recorder)
    : recorder_(recorder), open_(std::make_unique<Open>(recorder.started())) {}

IoSession::~IoSession() {
  // In a forked child the session is not there to be ended.
  if (open_ == nullptr || recorder_.kept_.get() != &open_->state) return;
  const Inside own(&open_->state);
  RecorderState& state = open_->state;
  state.end_session([&](FileRecord& file) {
    file.reads.take(state.segments);
    file.writes.take(state.segments);
  });
}

IoProfile IoSession::end() {
  if (open_ == nullptr || recorder_.kept_.get() != &open_->state) {
    throw Error(ExitCode::bug, "I/O profiler: the session has ended, or is another process's");
  }
  const std::unique_ptr<Open> open = std::move(open_);
  RecorderState& state = open->state;
  const Inside own(&state);
  IoProfile profile = profile_since(state, open->begin);
  state.end_session([&](FileRecord& file) {
    FileIo& out = profile.files.emplace_back();
    out.id = file.id;
    out.path = file.name;
    out.posix = of_part(file.posix);
    out.stdio = of_part(file.stdio);
    out.reads = file.reads.take(state.segments);
    out.writes = file.writes.take(state.segments);
  });
  // Files were in the session until they were collected.
  profile.dropped = dropped_since(state, open->begin);
  // The last touched comes first in the list.
  std::reverse(profile.files.begin(), profile.files.end());
  const double begin_s = state.seconds_at(open->begin.monotonic_ns);
  for (FileIo& file : profile.files) shift_file(file, begin_s);
  return profile;
}

IoProfile IoRecorder::totals() const {
  RecorderState& state = started();
  const Inside own(&state);
  IoProfile profile = profile_since(state, state.begun);
  profile.dropped = dropped_since(state, state.begun);
  for (FileRecord* file = state.records.newest(); file != nullptr; file = file->next_made) {
    FileIo out;
    out.id = file->id;
    out.path = file->name;
    {
      const std::lock_guard lock(file->mutex);
      out.posix = of_all(file->posix);
      out.stdio = of_all(file->stdio);
    }
    if (out.posix || out.stdio) profile.files.push_back(std::move(out));
  }
  std::reverse(profile.files.begin(), profile.files.end());
  return profile;
}

}  // namespace stoker
