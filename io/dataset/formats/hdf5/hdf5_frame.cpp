#include "io/dataset/formats/hdf5/hdf5_frame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/core/error.h"
#include "io/dataset/formats/hdf5/process.h"

namespace stoker {
namespace {

constexpr size_t kBlock = size_t{1} << 20;

}  // namespace

uint64_t Hdf5Set::bytes() const {
  uint64_t all = std::stoull(type.substr(1));
  for (const uint64_t size : shape) all *= size;
  return all;
}

Hdf5Frame::Hdf5Frame(std::string key, const std::vector<Hdf5Set>& sets)
    : key_(std::move(key)), file_(::memfd_create("stoker-hdf5", MFD_CLOEXEC)) {
  if (!file_) throw_errno("write", key_, errno);
  std::vector<std::string> words{"write"};
  for (const Hdf5Set& set : sets) {
    words.insert(words.end(), {set.path, set.type, fmt::format("{}", fmt::join(set.shape, "x")),
                               set.one_chunk ? "chunk" : "contiguous"});
  }
  const Buffer answer = run_hdf5({"shard " + key_, std::move(words), {}, 0, file_.get()});
  if (answer.size() != sets.size() * sizeof(uint64_t)) {
    throw Error(ExitCode::bug, key_ + ": libhdf5 made a file of other data sets");
  }
  for (size_t i = 0; i < sets.size(); ++i) {
    Place place{0, sets[i].bytes(), i};
    std::memcpy(&place.offset, answer.data() + i * sizeof place.offset, sizeof place.offset);
    if (place.bytes > 0) places_.push_back(place);
  }
  std::ranges::sort(places_, {}, &Place::offset);
}

void Hdf5Frame::write(const std::function<void(Bytes)>& append,
                      const std::function<void(size_t)>& fill) const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw_errno("write", key_, errno);
  const auto end = static_cast<uint64_t>(status.st_size);
  uint64_t at = 0;
  for (const Place& place : places_) {
    if (place.offset < at || place.offset > end || place.bytes > end - place.offset) {
      throw Error(ExitCode::bug, key_ + ": the file that libhdf5 made has no place for its values");
    }
    copy(at, place.offset, append);
    fill(place.set);
    at = place.offset + place.bytes;
  }
  copy(at, end, append);
}

void Hdf5Frame::copy(uint64_t begin, uint64_t end, const std::function<void(Bytes)>& append) const {
  Buffer block;
  while (begin < end) {
    uint8_t* const bytes = block.resize(std::min<uint64_t>(end - begin, kBlock));
    const ssize_t count = uninterrupted(
        [&] { return ::pread(file_.get(), bytes, block.size(), static_cast<off_t>(begin)); });
    if (count <= 0) throw_errno("write", key_, count < 0 ? errno : EIO);
    append(block.bytes().first(static_cast<size_t>(count)));
    begin += static_cast<uint64_t>(count);
  }
}

}  // namespace stoker
