#include "io/checkpoint/saving/snapshot.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/core/crc32c.h"
#include "io/core/threads.h"
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
                   Holds holds, uint64_t staging)
    : layout_(layout), own_(own) {
  uint64_t total = 0;
  size_t pieces = 0;
  for (size_t i = own_.begin; i < own_.end; ++i) {
    total += rounded_up(layout_.files[i].bytes, kDirectAlignment);
    first_piece_.push_back(pieces);
    pieces += (layout_.files[i].bytes + kChunkBytes - 1) / kChunkBytes;
  }
  if (holds == Holds::copies && staging < total) {
    window_ = std::max<size_t>(1, staging / kChunkBytes);
    total = window_ * kChunkBytes;
    pieces_.resize(pieces);
  }
  memory_ = touched(allocate(total + kDirectAlignment));
  const auto address = reinterpret_cast<uintptr_t>(memory_.data.get());
  uint8_t* image = memory_.data.get() + (rounded_up(address, kDirectAlignment) - address);
  for (size_t i = own_.begin; i < own_.end; ++i) {
    const DataFile& file = layout_.files[i];
    images_.push_back(image);
    split({{kHeader, 0, file.header.size(), 0}, i});
    for (const TensorPiece& piece : file.pieces) split({piece, i});
    if (!staged()) image += rounded_up(file.bytes, kDirectAlignment);
  }
  if (staged()) {
    for (const Unit& unit : units_) ++pieces_[piece_of(unit.file, unit.offset)].units;
  }
  if (holds == Holds::tensors) find_places(allocate);
}

size_t Snapshot::piece_of(size_t file, uint64_t offset) const {
  return first_piece_[file - own_.begin] + offset / kChunkBytes;
}

uint8_t* Snapshot::at(size_t file, uint64_t offset) const {
  uint8_t* const image = images_[file - own_.begin];
  if (!staged()) return image + offset;
  return image + piece_of(file, offset) % window_ * kChunkBytes + offset % kChunkBytes;
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
  if (staged()) {
    const std::lock_guard lock(mutex_);
    for (Piece& piece : pieces_) {
      piece.left = piece.units;
      piece.released = false;
    }
    uncopied_ = units_.size();
    arrived_ = device_ ? 0 : pieces_.size();
    brought_ = 0;
    next_brought_ = 0;
    released_ = given_up_ = false;
  }
  if (!device_) return;
  if (staged()) return start_group(*device_);
  std::vector<CopyTarget> targets;
  for (size_t file = own_.begin; file < own_.end; ++file) {
    for (const TensorPiece& piece : layout_.files[file].pieces) {
      const size_t source = layout_.sources[piece.tensor];
      if (tensors_[source] != nullptr) continue;
      targets.push_back({source, piece.begin, piece.bytes, at(file, piece.offset)});
    }
  }
  device_->start(targets);
}

void Snapshot::finish(int64_t threads) {
  if (!staged()) {
    if (const auto device = std::exchange(device_, nullptr)) device->wait();
  }
  parallel_for(threads, threads, [this](int64_t) { help(); });
  wait();
}

void Snapshot::help() {
  for (size_t i = next_++; i < units_.size(); i = next_++) {
    if (staged() && !may_copy(units_[i])) return;
    copy(units_[i]);
    if (staged()) copied(units_[i]);
    if (--left_ == 0) left_.notify_all();
  }
}

void Snapshot::wait() {
  if (!staged()) {
    for (size_t left = left_; left != 0; left = left_) left_.wait(left);
    return;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return all_copied() || (given_up_ && copying_ == 0); });
}

bool Snapshot::ended() {
  if (!staged()) return left_ == 0;
  const std::lock_guard lock(mutex_);
  return all_copied() || (given_up_ && copying_ == 0);
}

bool Snapshot::all_copied() const { return uncopied_ == 0; }

bool Snapshot::has_room(size_t piece) const {
  return piece < window_ || pieces_[piece - window_].released;
}

// Waits for room, and for what the device brings. False: the state is given up.
bool Snapshot::may_copy(const Unit& unit) {
  const size_t piece = piece_of(unit.file, unit.offset);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return given_up_ || (piece < arrived_ && has_room(piece)); });
  if (given_up_) return false;
  ++copying_;
  return true;
}

void Snapshot::copied(const Unit& unit) {
  {
    const std::lock_guard lock(mutex_);
    --copying_;
    --uncopied_;
    if (--pieces_[piece_of(unit.file, unit.offset)].left > 0 && !given_up_) return;
  }
  changed_.notify_all();
}

// What the device copies at once: half of the window, so that a half is written meanwhile.
size_t Snapshot::next_group() const {
  return std::min(brought_ + std::max<size_t>(1, window_ / 2), pieces_.size());
}

void Snapshot::start_group(DeviceCopies& device) {
  const size_t end = next_group();
  std::vector<CopyTarget> targets;
  for (; next_brought_ < units_.size(); ++next_brought_) {
    const Unit& unit = units_[next_brought_];
    if (piece_of(unit.file, unit.offset) >= end) break;
    if (unit.tensor == kHeader) continue;
    const size_t source = layout_.sources[unit.tensor];
    if (tensors_[source] != nullptr) continue;
    targets.push_back({source, unit.begin, unit.bytes, at(unit.file, unit.offset)});
  }
  device.start(targets);
  brought_ = end;
}

bool Snapshot::feed(const Until& until) {
  const auto device = std::exchange(device_, nullptr);
  if (!device) return true;
  try {
    for (;;) {
      device->wait();
      {
        const std::lock_guard lock(mutex_);
        arrived_ = brought_;
      }
      changed_.notify_all();
      if (brought_ == pieces_.size()) return true;
      const bool room = until([this] {
        const std::lock_guard lock(mutex_);
        bool all = true;
        for (size_t piece = brought_; piece < next_group(); ++piece) all = all && has_room(piece);
        return given_up_ || all;
      });
      {
        const std::lock_guard lock(mutex_);
        if (!room || given_up_) return false;
      }
      start_group(*device);
    }
  } catch (const std::exception& failure) {
    give_up(std::string("copy to snapshot memory: ") + failure.what());
    return false;
  }
}

void Snapshot::give_up(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (given_up_ || all_copied()) return;
    given_up_ = true;
    why_ = why;
  }
  changed_.notify_all();
}

Bytes Snapshot::take(size_t file, uint64_t offset) {
  if (staged()) {
    const size_t piece = piece_of(file, offset);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return given_up_ || pieces_[piece].left == 0; });
    if (given_up_) throw NoRetry(ExitCode::storage, why_);
  }
  return {at(file, offset), std::min(kChunkBytes, layout_.files[file].bytes - offset)};
}

void Snapshot::release(size_t file, uint64_t offset) {
  if (!staged()) return;
  {
    const std::lock_guard lock(mutex_);
    pieces_[piece_of(file, offset)].released = true;
    released_ = true;
  }
  changed_.notify_all();
}

bool Snapshot::intact() {
  if (!staged()) return true;
  const std::lock_guard lock(mutex_);
  return !released_ && !given_up_;
}

std::string Snapshot::why_given_up() {
  const std::lock_guard lock(mutex_);
  return why_;
}

void Snapshot::copy(Unit& unit) const {
  uint8_t* to = at(unit.file, unit.offset);
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
