#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/storage/file_tree.h"

// Layers for FileTree::behind(): one lets calls fail, one writes down what was done. Any thread.

namespace stoker {

// Which calls fail, and how.
struct Fault {
  std::optional<FileCall::Op> op = {};  // absent: any
  std::string path = {};                // a part of the path (or of `to`); empty: any
  size_t skip = 0;                      // matching calls that pass before the first failure
  size_t times = 1;                     // failures; SIZE_MAX: for ever
  int error = 0;                        // errno; 0: reads and writes only are done by half
  bool after = false;                   // the call is done all the same, then reported as failed
  // Runs when the fault strikes: damages, kills, blocks. With EINTR it is all that happens.
  std::function<void(const FileCall&)> hook = {};
};

class FaultLayer final : public FileLayer {
 public:
  explicit FaultLayer(Fault fault) : fault_(std::move(fault)) {}
  FaultLayer() : FaultLayer(Fault{.times = 0, .error = EIO}) {}  // only counts

  int64_t call(const FileCall& call, const Next& next) override {
    if (!strikes(call)) return next(call);
    if (fault_.hook) fault_.hook(call);
    if (fault_.error == 0) return next(half_of(call));
    if (fault_.after) next(call);
    return -int64_t{fault_.error};
  }

  size_t calls() const { return count(calls_); }
  size_t matching() const { return count(matching_); }
  size_t struck() const { return count(struck_); }

 private:
  bool strikes(const FileCall& call) {
    std::lock_guard lock(mutex_);
    ++calls_;
    if (fault_.op && *fault_.op != call.op) return false;
    const bool named = call.path.find(fault_.path) != std::string::npos ||
                       call.to.find(fault_.path) != std::string::npos;
    if (!named || (fault_.error == 0 && !can_be_halved(call))) return false;
    const size_t index = matching_++;
    if (index < fault_.skip || index - fault_.skip >= fault_.times) return false;
    ++struck_;
    return true;
  }

  static bool can_be_halved(const FileCall& call) {
    return (call.op == FileCall::Op::read || call.op == FileCall::Op::write) && call.bytes > 1;
  }

  static FileCall half_of(FileCall call) {
    const uint64_t half = call.bytes / 2;
    call.bytes = half < kDirectAlignment ? half : half / kDirectAlignment * kDirectAlignment;
    return call;
  }

  size_t count(const size_t& counter) const {
    std::lock_guard lock(mutex_);
    return counter;
  }

  const Fault fault_;
  mutable std::mutex mutex_;
  size_t calls_ = 0;
  size_t matching_ = 0;
  size_t struck_ = 0;
};

// A call that succeeded, or a mark between two calls.
struct RecordedCall {
  std::optional<FileCall::Op> op;  // absent: a mark, and `path` is its text
  std::string path;
  std::string to = {};
  uint64_t offset = 0;
  uint64_t bytes = 0;     // as far as the call came
  std::string data = {};  // write
};

// What several trees did, in one order.
class CallLog {
 public:
  // Says that something was promised here ("saved 5"): from now on a crash must respect it.
  void mark(const std::string& text) { add({.op = {}, .path = text}); }
  void add(RecordedCall call) {
    std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }
  std::vector<RecordedCall> calls() const {
    std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  friend class RecordingLayer;
  mutable std::mutex mutex_;
  std::vector<RecordedCall> calls_;
  std::mutex order_;  // held while a call is performed, so that the log has the kernel's order
};

// Writes down every call that succeeded and changes something, and open, which says what a later
// sync of that path means. `name` stands before the paths: the tree among several.
class RecordingLayer final : public FileLayer {
 public:
  explicit RecordingLayer(std::shared_ptr<CallLog> log, std::string name = "")
      : log_(std::move(log)), name_(std::move(name)) {}

  int64_t call(const FileCall& call, const Next& next) override {
    using Op = FileCall::Op;
    for (Op op : {Op::read, Op::list, Op::stat}) {
      if (call.op == op) return next(call);
    }
    std::lock_guard lock(log_->order_);
    const int64_t result = next(call);
    if (result >= 0) record(call, static_cast<uint64_t>(result));
    return result;
  }

 private:
  void record(const FileCall& call, uint64_t result) {
    RecordedCall entry{.op = call.op, .path = below(call.path)};
    using Op = FileCall::Op;
    for (const Op op : {Op::rename, Op::replace, Op::exchange}) {
      if (call.op == op) entry.to = below(call.to);
    }
    entry.offset = call.offset;
    entry.bytes = call.op == FileCall::Op::write ? result : call.bytes;
    if (call.op == FileCall::Op::write) {
      entry.data.assign(reinterpret_cast<const char*>(call.data), result);
    }
    const bool made_root = call.op == FileCall::Op::make_directory && call.path.empty();
    if (made_root && name_.empty()) return;
    log_->add(std::move(entry));
    // The root is made durable in the same call.
    if (made_root) {
      const size_t slash = name_.rfind('/');
      log_->add({.op = FileCall::Op::sync_directory,
                 .path = slash == std::string::npos ? "" : name_.substr(0, slash)});
    }
  }

  std::string below(const std::string& path) const {
    return name_.empty() || path.empty() ? name_ + path : name_ + "/" + path;
  }

  std::shared_ptr<CallLog> log_;
  std::string name_;
};

}  // namespace stoker
