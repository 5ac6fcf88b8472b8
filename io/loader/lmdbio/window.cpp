#include "io/loader/lmdbio/window.h"

#include <limits>
#include <new>

#include "io/core/error.h"

namespace stoker {
namespace {

constexpr uint64_t kPage = 4096;  // values begin on one, for those who read by blocks

uint64_t places_bytes(int64_t records) {
  return rounded_up(static_cast<uint64_t>(records) * sizeof(Window::Place), kPage);
}

}  // namespace

size_t Window::memory(int64_t records, size_t bytes) {
  const uint64_t places = places_bytes(records);
  if (bytes > std::numeric_limits<size_t>::max() / 2 - places) throw std::bad_alloc();
  return places + bytes;
}

Window::Window(std::span<uint8_t> memory, int64_t records)
    : places_(reinterpret_cast<Place*>(memory.data()), static_cast<size_t>(records)),
      bytes_(memory.subspan(places_bytes(records))) {}

Bytes Window::record(int64_t place) const {
  // A copy: another process may write there.
  const Place at = place >= 0 && place < std::ssize(places_) ? places_[static_cast<size_t>(place)]
                                                             : Place{UINT64_MAX, 0};
  if (at.offset > bytes_.size() || at.bytes > bytes_.size() - at.offset) {
    throw Error(ExitCode::device, "loader: a window says that a record lies outside of it");
  }
  return bytes_.subspan(at.offset, at.bytes);
}

}  // namespace stoker
