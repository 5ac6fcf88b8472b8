#pragma once

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "io/storage/file_tree.h"

// Layers for FileTree::behind() that make the order of threads certain, or a tier a liar. Any
// thread.

namespace stoker {

// Calls of some kinds wait while it is closed: a tier that hangs.
class GateLayer final : public FileLayer {
 public:
  explicit GateLayer(std::set<FileCall::Op> ops = {FileCall::Op::write}) : ops_(std::move(ops)) {}

  int64_t call(const FileCall& call, const Next& next) override {
    if (ops_.contains(call.op)) {
      std::unique_lock lock(mutex_);
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return open_; });
      --waiting_;
    }
    return next(call);
  }
  void close() { set(false); }
  void open() { set(true); }
  // Until a call stands before it: whoever made it is in the midst of its work.
  void wait_for_call() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ > 0; });
  }

 private:
  void set(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  const std::set<FileCall::Op> ops_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int waiting_ = 0;
};

// Flips one bit of what is written to paths that contain `part`, `times` times, and says nothing.
class FlipLayer final : public FileLayer {
 public:
  FlipLayer(std::string part, int times) : part_(std::move(part)), times_(times) {}

  int64_t call(const FileCall& call, const Next& next) override {
    const bool named = call.path.find(part_) != std::string::npos;
    if (call.op != FileCall::Op::write || !named || !take()) return next(call);
    struct Free {
      void operator()(uint8_t* memory) const { std::free(memory); }
    };
    const uint64_t room = (call.bytes / kDirectAlignment + 1) * kDirectAlignment;
    const std::unique_ptr<uint8_t, Free> copy(
        static_cast<uint8_t*>(std::aligned_alloc(kDirectAlignment, room)));
    std::memcpy(copy.get(), call.data, call.bytes);
    copy.get()[call.bytes / 2] ^= 4;
    FileCall changed = call;
    changed.data = copy.get();
    return next(changed);
  }

 private:
  bool take() {
    const std::lock_guard lock(mutex_);
    return times_-- > 0;
  }
  const std::string part_;
  std::mutex mutex_;
  int times_;
};

}  // namespace stoker
