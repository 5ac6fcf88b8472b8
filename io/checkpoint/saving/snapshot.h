#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/checkpoint/sets/manifest.h"
#include "io/core/device_copies.h"
#include "io/core/system/memory.h"

namespace stoker {

// The state of a training run at a step, as it is handed to a Checkpointer. Tensors are in the
// order of Checkpointer::Inputs::tensors. A value that shares what it points to: those who copy the
// tensors read them until Saver::finish_copy(), and the device's until its copies have ended.
struct TrainingState {  // NOLINT(bugprone-exception-escape): as Manifest
  int64_t step = 0;
  std::optional<double> score;           // of an evaluation of this state; higher is better
  nlohmann::json training;               // everything that is no tensor
  nlohmann::json part = {};              // likewise, of this process alone
  std::vector<const uint8_t*> tensors;   // host addresses; null: on the device
  std::shared_ptr<DeviceCopies> device;  // null where all are on the host
  std::shared_ptr<void> keep;            // owns what `tensors` points to
};

// Where the tensors of a state may live, so that a save copies nothing: for each of
// TrainingState::tensors an address with room for it, aligned to kTensorAlignment. A value;
// `memory` owns all of it.
struct StatePlaces {
  std::vector<uint8_t*> tensors;
  std::shared_ptr<void> memory;
};

// One snapshot buffer, which holds one state of the run: the images of a set's data files, and
// their checksums. The constructor allocates the memory and faults it in; it is used again and
// again. One thread at a time. `layout` must outlive it.
class Snapshot {
 public:
  // What is in it: copies of tensors, or the tensors themselves (places()).
  enum class Holds { copies, tensors };
  // `allocate`: gives memory that the device copies to at full speed, aligned to at least 64 bytes.
  // own: the files that this process writes.
  Snapshot(const SetLayout& layout, const HostAllocator& allocate, FileRange own,
           Holds holds = Holds::copies);

  // The memory of the images, for other use between two states.
  const HostMemory& memory() const { return memory_; }
  // From here on this state is to be copied; starts the copies of tensors that are on a device. The
  // trainer's thread. What `state` points to must live and stay as it is until wait() returns.
  void start(const TrainingState& state);
  // Waits for the device, copies the rest with `threads` threads, and sums everything; what lies in
  // its place in an image already is only summed. Once after each start().
  void finish(int64_t threads);
  // Takes part in that, beside finish() on another thread or before it, as long as something is
  // left to begin. Of a state without a device. Any thread, until the next start().
  void help();
  // Until all is copied and summed; then the memory of the state is no longer needed, but for what
  // lies in its place.
  void wait() const;

  // For Holds::tensors. A tensor that is whole in one of the own files and aligned there has its
  // place in the image, and any other beside it.
  const StatePlaces& places() const { return places_; }

  // The layout of every state that this buffer takes.
  const SetLayout& layout() const { return layout_; }
  // The image of one of its own data files; aligned to kDirectAlignment.
  Bytes image(size_t file) const { return {images_[file - own_.begin], layout_.files[file].bytes}; }
  // The checksums of its own files. After finish().
  PartSums sums() const;

 private:
  // A part of a file within one chunk and one piece; tensor kHeader: it belongs to the header.
  struct Unit : TensorPiece {
    size_t file;
    uint32_t sum = 0;
  };
  static constexpr size_t kHeader = SIZE_MAX;
  void split(Unit unit);
  void copy(Unit& unit) const;
  void find_places(const HostAllocator& allocate);

  const SetLayout& layout_;
  const FileRange own_;
  HostMemory memory_;
  std::vector<uint8_t*> images_;  // of own files
  std::vector<Unit> units_;
  StatePlaces places_;
  // The state since start():
  std::vector<const uint8_t*> tensors_;
  std::shared_ptr<DeviceCopies> device_;
  std::atomic<size_t> next_{0};  // of units_, not begun
  std::atomic<size_t> left_{0};  // units not done
};

}  // namespace stoker
