#pragma once

#include <cstddef>
#include <cstdint>

#include "io/profiler/profile.h"
#include "io/profiler/recorder_tables.h"

namespace stoker {

// Where the records of a recorder lie: in place, or mapped somewhere else by another process. A
// value; pure.
class RecordedMemory {
 public:
  RecordedMemory() = default;  // in place
  // `bytes` at `here` are what the recorder had at `there`.
  RecordedMemory(uintptr_t there, const std::byte* here, size_t bytes)
      : there_(there), here_(here), bytes_(bytes) {}

  // What `pointer`, as the recorder has it, means here. Null: `count` of them do not lie in that
  // memory, or not as they must be aligned: whoever wrote them was not the recorder.
  template <class T>
  const T* here(const T* pointer, size_t count = 1) const {
    if (here_ == nullptr || pointer == nullptr) return pointer;
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    if (address < there_ || address - there_ >= bytes_ || address % alignof(T) != 0) return nullptr;
    const size_t at = address - there_;
    if (count > (bytes_ - at) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(here_ + at);
  }

 private:
  uintptr_t there_ = 0;
  const std::byte* here_ = nullptr;  // null: in place
  size_t bytes_ = 0;
};

// Adds what was counted of one file to profile.files and profile.stream_sizes; nothing where
// nothing was. Under the file's mutex, or where nobody counts any more.
void add_recorded_file(const FileRecord& file, bool with_segments, const RecordedMemory& memory,
                       IoProfile& profile);
// Adds what was not kept to profile.dropped.
void add_dropped(const RecorderTables& tables, IoProfile& profile);

}  // namespace stoker
