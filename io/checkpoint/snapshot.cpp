#include "io/checkpoint/snapshot.h"

#include <algorithm>
#include <cstring>

#include "io/core/crc32c.h"
#include "io/core/parallel.h"
#include "io/storage/file_tree.h"

namespace stoker {

Snapshot::Snapshot(const SetLayout& layout, const std::function<HostMemory(size_t)>& allocate,
                   FileRange own)
    : layout_(layout), own_(own) {
  uint64_t total = 0;
  for (size_t i = own_.begin; i < own_.end; ++i) {
    total += rounded_up(layout_.files[i].bytes, kDirectAlignment);
  }
  memory_ = allocate(total + kDirectAlignment);
  // Every page is touched now: the first checkpoint must not pay for page faults.
  for (uint64_t i = 0; i < memory_.bytes; i += kDirectAlignment) memory_.data.get()[i] = 0;
  const auto address = reinterpret_cast<uintptr_t>(memory_.data.get());
  uint8_t* image = memory_.data.get() + (rounded_up(address, kDirectAlignment) - address);
  for (size_t i = own_.begin; i < own_.end; ++i) {
    const DataFile& file = layout_.files[i];
    images_.push_back(image);
    std::memcpy(image, file.header.data(), file.header.size());
    split({{kHeader, 0, file.header.size(), 0}, i});
    for (const TensorPiece& piece : file.pieces) split({piece, i});
    image += rounded_up(file.bytes, kDirectAlignment);
  }
}

void Snapshot::split(Unit unit) {
  while (unit.bytes > 0) {
    Unit part = unit;
    part.bytes = std::min(unit.bytes, kChunkBytes - unit.offset % kChunkBytes);
    units_.push_back(part);
    unit.offset += part.bytes;
    unit.begin += part.bytes;
    unit.bytes -= part.bytes;
  }
}

void Snapshot::start(const TrainingState& state) {
  if (!state.device) return;
  std::vector<CopyTarget> targets;
  for (size_t file = own_.begin; file < own_.end; ++file) {
    for (const TensorPiece& piece : layout_.files[file].pieces) {
      const size_t source = layout_.sources[piece.tensor];
      if (state.tensors[source] != nullptr) continue;
      targets.push_back(
          {source, piece.begin, piece.bytes, images_[file - own_.begin] + piece.offset});
    }
  }
  state.device->start(targets);
}

void Snapshot::finish(const TrainingState& state, int64_t threads) {
  if (state.device) state.device->wait();
  parallel_for(threads, static_cast<int64_t>(units_.size()), [&](int64_t i) {
    Unit& unit = units_[static_cast<size_t>(i)];
    uint8_t* to = images_[unit.file - own_.begin] + unit.offset;
    const uint8_t* from =
        unit.tensor == kHeader ? nullptr : state.tensors[layout_.sources[unit.tensor]];
    unit.sum = from == nullptr ? crc32c({to, unit.bytes})
                               : copy_crc32c(to, {from + unit.begin, unit.bytes});
  });
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
