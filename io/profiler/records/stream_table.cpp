#include "io/profiler/records/stream_table.h"

#include <mutex>
#include <utility>

namespace stoker {

StreamTable::Stream* StreamTable::Part::find(const FILE* stream) {
  for (Stream* entry = first; entry != nullptr; entry = entry->next) {
    if (entry->stream == stream) return entry;
  }
  return nullptr;
}

StreamTable::Part& StreamTable::part_of(const FILE* stream) {
  // Fibonacci's hash: the highest bits are those of all others.
  const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(stream));
  return parts_[(address * 0x9e3779b97f4a7c15) >> 58];
}

FileRecord* StreamTable::find(const FILE* stream) {
  Part& part = part_of(stream);
  const std::lock_guard lock(part.mutex);
  const Stream* const entry = part.find(stream);
  return entry == nullptr ? nullptr : entry->file;
}

bool StreamTable::set(const FILE* stream, FileRecord* file, int fd, int64_t since_ns) {
  Part& part = part_of(stream);
  const std::lock_guard lock(part.mutex);
  Stream* entry = part.find(stream);
  if (entry == nullptr && file == nullptr) return true;
  if (entry == nullptr) entry = part.find(nullptr);
  if (entry == nullptr) {
    entry = arena_.make<Stream>();
    if (entry == nullptr) return false;
    entry->next = std::exchange(part.first, entry);
  }
  *entry = {file == nullptr ? nullptr : stream, file, fd, since_ns, entry->next};
  return true;
}

StreamTable::Closed StreamTable::close(const FILE* stream, int64_t begin_ns) {
  Part& part = part_of(stream);
  const std::lock_guard lock(part.mutex);
  Stream* const entry = part.find(stream);
  if (entry == nullptr || entry->since_ns > begin_ns) return {};
  const Closed closed{entry->file, entry->fd};
  *entry = {nullptr, nullptr, -1, 0, entry->next};
  return closed;
}

void StreamTable::clear() {
  for (Part& part : parts_) {
    const std::lock_guard lock(part.mutex);
    for (Stream* entry = part.first; entry != nullptr; entry = entry->next) {
      *entry = {nullptr, nullptr, -1, 0, entry->next};
    }
  }
}

}  // namespace stoker
