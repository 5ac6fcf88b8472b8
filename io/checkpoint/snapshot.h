#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/checkpoint/manifest.h"
#include "io/core/memory.h"

namespace stoker {

// A part of a tensor and where to copy it: bytes [begin, begin + bytes) go to `to`, which is host
// memory that the caller owns until the copies have ended. A value.
struct CopyTarget {
  size_t tensor = 0;  // index into TrainingState::tensors
  uint64_t begin = 0;
  uint64_t bytes = 0;
  uint8_t* to = nullptr;
};

// Copies tensors from a device's memory to the host's, beside the device's other work. The
// trainer's thread, but for wait(). One set of copies at a time: start(), then fence() before the
// tensors change, then wait() before the host reads. Error(ExitCode::device) where the device
// fails.
class DeviceCopies {
 public:
  virtual ~DeviceCopies() = default;
  // Starts the copies behind all work queued so far, and returns at once.
  virtual void start(std::span<const CopyTarget> targets) = 0;
  // Makes all work that the device is given from now on begin after the copies. Does not block the
  // host.
  virtual void fence() = 0;
  // Blocks until the copies have ended. Any thread.
  virtual void wait() = 0;
};

// The state of a training run at a step, as it is handed to a Checkpointer. Tensors are in the
// order of Checkpointer::Inputs::tensors. A value that shares what it points to: those who copy the
// tensors read them until Saver::finish_copy(), and the device's until its copies have ended.
struct TrainingState {  // NOLINT(bugprone-exception-escape): as Manifest
  int64_t step = 0;
  std::optional<double> score;           // of an evaluation of this state; higher is better
  nlohmann::json training;               // everything that is no tensor
  std::vector<const uint8_t*> tensors;   // host addresses; null: on the device
  std::shared_ptr<DeviceCopies> device;  // null where all are on the host
  std::shared_ptr<void> keep;            // owns what `tensors` points to
};

// One snapshot buffer, which holds one state of the run: the images of a set's data files, and
// their checksums. The constructor allocates the memory and faults it in; it is used again and
// again. One thread at a time. `layout` must outlive it.
class Snapshot {
 public:
  // `allocate`: gives memory that the device copies to at full speed, aligned to at least 64 bytes.
  // own: the files that this process writes.
  Snapshot(const SetLayout& layout, const std::function<HostMemory(size_t)>& allocate,
           FileRange own);

  // Starts the copies of tensors that are on a device. The trainer's thread.
  void start(const TrainingState& state);
  // Copies the rest with `threads` threads, waits for the device, and sums everything. When it
  // returns, the memory of `state` is no longer needed.
  void finish(const TrainingState& state, int64_t threads);

  // That of every state which this buffer takes.
  const SetLayout& layout() const { return layout_; }
  // The image of one of its own data files; aligned to kDirectAlignment.
  Bytes image(size_t file) const { return {images_[file - own_.begin], layout_.files[file].bytes}; }
  // The checksums of its own files. After finish().
  PartSums sums() const;

 private:
  // A part of a file within one chunk and one piece; tensor kHeader: of the header.
  struct Unit : TensorPiece {
    size_t file;
    uint32_t sum = 0;
  };
  static constexpr size_t kHeader = SIZE_MAX;
  void split(Unit unit);

  const SetLayout& layout_;
  const FileRange own_;
  HostMemory memory_;
  std::vector<uint8_t*> images_;  // of own files
  std::vector<Unit> units_;
};

}  // namespace stoker
