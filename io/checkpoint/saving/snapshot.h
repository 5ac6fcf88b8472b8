#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
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

// One snapshot buffer, which takes one state of the run: the images of a set's data files, and
// their checksums. The constructor allocates the memory and faults it in; it is used again and
// again. `layout` must outlive it.
//
// Staged, it has memory for a part of the images, and the state goes through it in pieces of
// kChunkBytes: a piece is copied where an earlier one was released. So the state must not change
// until whoever takes the pieces has come near the end, and what was released is gone.
//
// start() and feed() are the trainer's thread's, finish() is the copier's; the rest is any
// thread's.
class Snapshot {
 public:
  // What is in it: copies of tensors, or the tensors themselves (places()).
  enum class Holds { copies, tensors };
  // `allocate`: gives memory that the device copies to at full speed, aligned to at least 64 bytes.
  // own: the files that this process writes. staging: bytes of memory, at least kChunkBytes; where
  // the images need no more, or with Holds::tensors, it is not staged.
  Snapshot(const SetLayout& layout, const HostAllocator& allocate, FileRange own,
           Holds holds = Holds::copies, uint64_t staging = UINT64_MAX);

  bool staged() const { return window_ > 0; }
  // The memory of the images, for other use between two states.
  const HostMemory& memory() const { return memory_; }

  // From here on this state is to be copied; starts the copies of tensors that are on a device. The
  // trainer's thread. What `state` points to must live and stay as it is until wait() returns.
  void start(const TrainingState& state);
  // Waits for the device, copies the rest with `threads` threads, and sums everything; what lies in
  // its place in an image already is only summed. Once after each start(). Staged: as pieces are
  // released, and a state on a device as feed() brings it; does not throw.
  void finish(int64_t threads);
  // Takes part in that, beside finish() on another thread or before it, as long as something is
  // left to begin. Of a state without a device. Any thread, until the next start().
  void help();
  // Until all is copied and summed, or given up; then the memory of the state is no longer needed,
  // but for what lies in its place.
  void wait();
  // Would wait() return at once?
  bool ended();

  // Staged, a state on a device: brings it, piece after piece, while there is room. The trainer's
  // thread, once after start(). `until` waits until its argument is true; where it says false, so
  // does feed(): the rest has not been brought. Where the device fails, the state is given up, and
  // feed() says false.
  using Until = std::function<bool(const std::function<bool()>&)>;
  bool feed(const Until& until);
  // Staged: nothing is copied or taken any more, for this reason. Does nothing where all of the
  // state is copied.
  void give_up(const std::string& why);

  // For Holds::tensors. A tensor that is whole in one of the own files and aligned there has its
  // place in the image, and any other beside it.
  const StatePlaces& places() const { return places_; }

  // The layout of every state that this buffer takes.
  const SetLayout& layout() const { return layout_; }
  // Up to kChunkBytes of one of its own data files, from a multiple of that; aligned to
  // kDirectAlignment. After finish(); the pieces of a file lie behind each other. Staged: beside
  // finish(); waits until they are copied, and they are valid until release(). Of one file in
  // order, and of a file before those behind it. NoRetry: the state was given up.
  Bytes take(size_t file, uint64_t offset);
  // The piece is not needed any more; staged, another one gets its memory. Once after take().
  void release(size_t file, uint64_t offset);
  // Whether all pieces may be taken from the begin on, again.
  bool intact();
  // The reason of give_up().
  std::string why_given_up();
  // The checksums of its own files. After finish(), or after all pieces were taken.
  PartSums sums() const;

 private:
  // A part of a file within one chunk and one piece; tensor kHeader: it belongs to the header.
  struct Unit : TensorPiece {
    size_t file;
    uint32_t sum = 0;
  };
  // Staged: a chunk of a file. Its memory is that of every window_-th one.
  struct Piece {
    size_t units = 0;  // of it; they are neighbours in units_
    size_t left = 0;   // of them, not copied
    bool released = false;
  };
  static constexpr size_t kHeader = SIZE_MAX;
  void split(Unit unit);
  void copy(Unit& unit) const;
  void find_places(const HostAllocator& allocate);
  uint8_t* at(size_t file, uint64_t offset) const;
  size_t piece_of(size_t file, uint64_t offset) const;
  // Staged:
  bool has_room(size_t piece) const;  // with the mutex held, as the next
  bool all_copied() const;
  bool may_copy(const Unit& unit);
  void copied(const Unit& unit);
  size_t next_group() const;
  void start_group(DeviceCopies& device);

  const SetLayout& layout_;
  const FileRange own_;
  HostMemory memory_;
  size_t window_ = 0;             // pieces in the memory; 0: not staged
  std::vector<uint8_t*> images_;  // of own files; staged: the memory's begin alone
  std::vector<Unit> units_;
  std::vector<size_t> first_piece_;  // staged: of each own file
  StatePlaces places_;
  // The state since start():
  std::vector<const uint8_t*> tensors_;
  std::shared_ptr<DeviceCopies> device_;
  std::atomic<size_t> next_{0};  // of units_, not begun
  std::atomic<size_t> left_{0};  // units not done
  size_t brought_ = 0;           // staged: pieces that the device was told to copy
  size_t next_brought_ = 0;      // of units_, the first one behind these
  // Staged, under the mutex:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Piece> pieces_;
  size_t arrived_ = 0;   // pieces whose part of the device's tensors is there
  size_t copying_ = 0;   // units that are being copied
  size_t uncopied_ = 0;  // units
  bool released_ = false;
  bool given_up_ = false;
  std::string why_;
};

}  // namespace stoker
