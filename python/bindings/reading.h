#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "io/checkpoint/restoring/loaded_state.h"
#include "io/checkpoint/restoring/tensor_files.h"
#include "io/core/system/memory.h"

namespace stoker::python {

// Some tensors in one block of memory; each begins at `begin` of it. Without memory: they pass
// through the ring.
struct Image {
  std::string path;
  uint64_t bytes = 0;
  HostMemory memory;
  std::vector<StoredTensor> tensors;
};

// Safetensors files and sets on their way to memory, by a thread that opens them and leads the
// reading. Its methods are for one other thread, and need no GIL. The destructor gives it up, and
// waits for the calls of the system that are under way.
class Reading {
 public:
  struct Wanted {
    std::vector<std::string> paths;  // files, indexes of files, and directories of sets
    LoadAccess access = LoadAccess::automatic;
    int64_t threads = 0;      // 0: kReadingThreads
    bool own_memory = false;  // allocate is the caller's
    HostAllocator allocate;   // of images, or of the ring and all of a set; any thread calls it
    uint64_t ring_bytes = 0;  // 0: there is none, and each image has memory
  };

  explicit Reading(Wanted wanted);

  // Each waits for at most that long. Whether there is an image for each file; whether a piece is
  // in the ring; whether all is there. Also true where that will not come: check() says why.
  bool opened_within(std::chrono::milliseconds time);
  bool there_within(std::chrono::milliseconds time, size_t piece);
  bool over_within(std::chrono::milliseconds time);
  // Throws what it failed with; does nothing while it goes on.
  void check();
  void give_up() { thread_.request_stop(); }
  // Pieces before this one are not needed in the ring any more.
  void free(size_t piece);

  // Once it has opened. Images of sets come first: the files of pieces() are those from first() on.
  const std::vector<Image>& images() const { return images_; }
  size_t first() const { return first_; }
  const std::vector<FilePiece>& pieces() const { return files_->pieces(); }
  const HostMemory& ring() const { return ring_; }
  uint64_t slots() const { return files_ ? ring_.bytes / files_->piece_bytes() : 0; }
  // Where a piece begins in the ring.
  uint64_t slot(size_t piece) const { return piece % slots() * files_->piece_bytes(); }

 private:
  template <class Done>
  bool within(std::chrono::milliseconds time, const Done& done);
  void tell(bool& what);
  void run(const std::stop_token& stop);
  void open();
  void read();
  static void add_indexed(const LoadSource& index, std::vector<LoadSource>& sources);
  void read_one_set(const LoadSource& source);
  void add_images(const LoadedState& state);

  Wanted wanted_;
  std::deque<std::optional<FileTree>> trees_;
  std::optional<TensorFiles> files_;
  std::vector<Image> images_;
  size_t first_ = 0;  // of those that are no sets'
  HostMemory ring_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool opened_ = false;
  bool over_ = false;
  std::exception_ptr error_;
  std::vector<bool> there_;  // pieces that are in the ring, or were
  size_t freed_ = 0;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace stoker::python
