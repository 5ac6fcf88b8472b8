#include "io/profiler/recorder_state.h"

#include <algorithm>
#include <mutex>

#include "io/profiler/recorded_files.h"

namespace stoker {

RecorderState::RecorderState(const IoRecorderOptions& options)
    : filter_{options.exclude, options.include},
      begun_(begin_profile()),
      arena_(options.memory.bytes),
      segment_arena_(options.segment_memory.bytes),
      tables({.of = this,
              .sees =
                  [](const void* of, std::string_view name) {
                    return static_cast<const RecorderState*>(of)->filter_.sees(name);
                  },
              .block_bytes =
                  [](const void* of, std::string_view name) {
                    return static_cast<const RecorderState*>(of)->mounts_.block_bytes(name);
                  },
              .memory_alignment = options.memory_alignment,
              .begin_ns = begun_.monotonic_ns},
             arena_, options.segment_memory.bytes == 0 ? nullptr : &segment_arena_) {
  tables.add_standard_streams();
}

IoProfile RecorderState::profile(Segments segments) const {
  IoProfile profile = profile_between(begun_, begin_profile());
  if (profile.kernel) {
    profile.kernel->elsewhere_read = tables.elsewhere_read;
    profile.kernel->elsewhere_written = tables.elsewhere_written;
  }
  profile.mounts = mounts_.list();
  const bool with = segments == Segments::with;
  for (FileRecord* file = tables.records.newest(); file != nullptr; file = file->next_made) {
    const std::lock_guard lock(file->mutex);
    add_recorded_file(*file, with, RecordedMemory(), profile);
  }
  std::reverse(profile.files.begin(), profile.files.end());
  add_dropped(tables, profile);
  return profile;
}

}  // namespace stoker
