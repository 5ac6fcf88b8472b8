#include "io/checkpoint/saving/snapshot.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/core/crc32c.h"
#include "io/core/parallel.h"
#include "io/storage/file_tree.h"

namespace stoker {
namespace {

// A thread that is taken off its core keeps the others waiting for no more than this.
constexpr uint64_t kUnitBytes = 1 << 20;
static_assert(kChunkBytes % kUnitBytes == 0);

// Every page is touched now: the first checkpoint must not pay for page faults.
HostMemory touched(HostMemory memory) {
  for (uint64_t i = 0; i < memory.bytes; i += kDirectAlignment) memory.data.get()[i] = 0;
  return memory;
}

}  // namespace

Snapshot::Snapshot(const SetLayout& layout, const HostAllocator& allocate, FileRange own,
                   Holds holds)
    : layout_(layout), own_(own) {
  uint64_t total = 0;
  for (size_t i = own_.begin; i < own_.end; ++i) {
    total += rounded_up(layout_.files[i].bytes, kDirectAlignment);
  }
  memory_ = touched(allocate(total + kDirectAlignment));
  const auto address = reinterpret_cast<uintptr_t>(memory_.data.get());
  uint8_t* image = memory_.data.get() + (rounded_up(address, kDirectAlignment) - address);
  for (size_t i = own_.begin; i < own_.end; ++i) {
    const DataFile& file = layout_.files[i];
    images_.push_back(image);
    split({{kHeader, 0, file.header.size(), 0}, i});
    for (const TensorPiece& piece : file.pieces) split({piece, i});
    image += rounded_up(file.bytes, kDirectAlignment);
  }
  if (holds == Holds::tensors) find_places(allocate);
}

void Snapshot::find_places(const HostAllocator& allocate) {
  places_.tensors.resize(layout_.tensors.size());
  for (size_t i = own_.begin; i < own_.end; ++i) {
    for (const TensorPiece& piece : layout_.files[i].pieces) {
      const bool whole = piece.bytes == layout_.tensors[piece.tensor].bytes;
      if (!whole || piece.offset % kTensorAlignment != 0) continue;
      places_.tensors[layout_.sources[piece.tensor]] = images_[i - own_.begin] + piece.offset;
    }
  }
  uint64_t total = kTensorAlignment;
  const auto others = [&](const auto& use) {
    for (size_t i = 0; i < layout_.tensors.size(); ++i) {
      uint8_t*& place = places_.tensors[layout_.sources[i]];
      if (place == nullptr) use(place, rounded_up(layout_.tensors[i].bytes, kTensorAlignment));
    }
  };
  others([&](uint8_t*&, uint64_t bytes) { total += bytes; });
  const HostMemory beside = touched(allocate(total));
  uint8_t* next = beside.data.get();
  next += rounded_up(reinterpret_cast<uintptr_t>(next), kTensorAlignment) -
          reinterpret_cast<uintptr_t>(next);
  others([&](uint8_t*& place, uint64_t bytes) { place = std::exchange(next, next + bytes); });
  places_.memory = std::make_shared<std::pair<HostMemory, HostMemory>>(memory_, beside);
}

void Snapshot::split(Unit unit) {
  while (unit.bytes > 0) {
    Unit part = unit;
    part.bytes = std::min(unit.bytes, kUnitBytes - unit.offset % kUnitBytes);
    units_.push_back(part);
    unit.offset += part.bytes;
    unit.begin += part.bytes;
    unit.bytes -= part.bytes;
  }
}

void Snapshot::start(const TrainingState& state) {
  tensors_ = state.tensors;
  device_ = state.device;
  next_ = 0;
  left_ = units_.size();
  if (!device_) return;
  std::vector<CopyTarget> targets;
  for (size_t file = own_.begin; file < own_.end; ++file) {
    for (const TensorPiece& piece : layout_.files[file].pieces) {
      const size_t source = layout_.sources[piece.tensor];
      if (tensors_[source] != nullptr) continue;
      targets.push_back(
          {source, piece.begin, piece.bytes, images_[file - own_.begin] + piece.offset});
    }
  }
  device_->start(targets);
}

void Snapshot::finish(int64_t threads) {
  if (const auto device = std::exchange(device_, nullptr)) device->wait();
  parallel_for(threads, threads, [this](int64_t) { help(); });
  wait();
}

void Snapshot::help() {
  for (size_t i = next_++; i < units_.size(); i = next_++) {
    copy(units_[i]);
    if (--left_ == 0) left_.notify_all();
  }
}

void Snapshot::wait() const {
  for (size_t left = left_; left != 0; left = left_) left_.wait(left);
}

void Snapshot::copy(Unit& unit) const {
  uint8_t* to = images_[unit.file - own_.begin] + unit.offset;
  const uint8_t* from =
      unit.tensor == kHeader
          ? reinterpret_cast<const uint8_t*>(layout_.files[unit.file].header.data())
          : tensors_[layout_.sources[unit.tensor]];
  const bool there = from == nullptr || from + unit.begin == to;
  unit.sum = there ? crc32c({to, unit.bytes}) : copy_crc32c(to, {from + unit.begin, unit.bytes});
}

PartSums Snapshot::sums() const {
  PartSums part;
  for (size_t i = own_.begin; i < own_.end; ++i) {
    part.files.push_back({layout_.files[i].name, layout_.files[i].bytes, {}});
  }
  for (const Unit& unit : units_) {
    // Units are in the order of the files, and the pieces of a tensor are in order.
    std::vector<uint32_t>& chunks = part.files[unit.file - own_.begin].chunks;
    if (unit.offset % kChunkBytes == 0) chunks.push_back(0);
    chunks.back() = crc32c_combine(chunks.back(), unit.sum, unit.bytes);
    if (unit.tensor == kHeader) continue;
    if (part.tensors.empty() || part.tensors.back().tensor != unit.tensor) {
      part.tensors.push_back({unit.tensor, 0, 0});
    }
    PartSums::Tensor& tensor = part.tensors.back();
    tensor.sum = crc32c_combine(tensor.sum, unit.sum, unit.bytes);
    tensor.bytes += unit.bytes;
  }
  return part;
}

}  // namespace stoker
