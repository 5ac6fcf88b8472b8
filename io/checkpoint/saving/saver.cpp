#include "io/checkpoint/saving/saver.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "io/core/threads.h"

// How a state gets out of the trainer's way. A save is a job, which goes through two queues:
//
// 1. begin(), on the trainer's thread: takes a free slot, or does what on_backlog says where there
//    is none. Asks for the state, starts the copies of what is on a device, and hands the job to
//    the copier.
// 2. The copier ("ckpt-copy") copies the state into the slot and sums it, in one pass.
// 3. finish_copy(), before the tensors change again: the trainer's thread takes part in that copy
//    and waits for its end. Of a state on a device it only makes later work there wait.
// 4. The writer ("ckpt-write") makes a committed set of the slot (set_committer.cpp), tells the
//    owner how it ended, and frees the slot. The state may change meanwhile, and a second attempt
//    still writes what was saved.
//
// SnapshotMode::swap: the state lives in a slot (home_). begin() makes that slot the job's and
// another one the home, to which the next update writes; the copier only sums, and finish_copy()
// waits for nothing.
//
// Staged snapshots (checkpoint.staging_memory): 2 and 4 are at work at once, for the copier has
// room only where the writer has released a piece, and 3 lasts until the last piece is copied. The
// writer frees the slot when the copier has done with it. A write that fails when pieces are gone
// cannot be tried again: that save is lost, and the trainer goes on at once.
//
// Failures. A copy that fails is the job's error, and the writer tells it to the other processes. A
// thread in a system call of a tier cannot be interrupted: ProgressWatch gives up waiting for it,
// and its job keeps the slot until the call returns. A process that leaves a checkpoint out still
// queues a job without a slot, so that the others learn it, and no process waits for ever.

namespace stoker {
namespace {

constexpr const char* kEnded = "the process ended before it was written";

}  // namespace

Saver::Saver(SetStore& store, const SetLayout& layout, const CheckpointOptions& options,
             const HostAllocator& allocate, Hooks hooks, RankGroup& group)
    : layout_(layout),
      options_(options),
      threads_(options.resolve_threads()),
      hooks_(std::move(hooks)),
      own_(files_of(layout_, group.rank(), group.size())),
      watch_(options.hang_seconds, hooks_.deadline),
      alone_(group.size() == 1),
      committer_({store, layout_, options_, group, own_, watch_, stop_, hooks_.make_room}) {
  const bool swap = options_.snapshot == SnapshotMode::swap;
  const auto holds = swap ? Snapshot::Holds::tensors : Snapshot::Holds::copies;
  const uint64_t staging = options_.staging_memory ? options_.staging_memory->bytes : UINT64_MAX;
  for (int64_t i = 0; i < options_.slots + swap; ++i) {
    free_.push_back(std::make_unique<Snapshot>(layout_, allocate, own_, holds, staging));
    if (free_.back()->staged()) break;
  }
  if (swap) {
    home_ = std::move(free_.back());
    free_.pop_back();
    moves_ = true;
  }
  try {
    copier_ = std::jthread([this] { copy_loop(); });
    writer_ = std::jthread([this] { write_loop(); });
  } catch (...) {  // no more threads
    stop();
    throw;
  }
}

Saver::~Saver() { stop(); }

void Saver::stop() {
  const std::lock_guard lock(watch_.mutex());
  stop_ = true;
  if (streamed_ != nullptr) streamed_->give_up(kEnded);
  watch_.set_busy(false);
}

Room Saver::room() {
  const std::lock_guard lock(watch_.mutex());
  Room room;
  for (const auto& slot : free_) room.push_back(slot->memory());
  return room;
}

bool Saver::wait_for_slot(std::unique_lock<std::mutex>& lock, Backlog backlog, Begun& begun) {
  begun = Begun::yes;
  if (free_.empty() && backlog == Backlog::replace && streamed_ == nullptr) {
    watch_.wait(lock, [&] { return uncopied_ == 0; });  // what is handed over can be replaced
  }
  if (!free_.empty()) return true;
  if (backlog == Backlog::block) {
    const bool moving = watch_.wait_while_moving(lock, [&] { return !free_.empty(); });
    if (!moving) begun = Begun::hung;
    return moving;
  }
  // The oldest that waits: the one being written is not in the queue any more.
  const auto waits = std::ranges::find_if(
      to_write_, [this](const auto& job) { return job->slot && job->slot.get() != streamed_; });
  if (backlog == Backlog::replace && waits != to_write_.end()) {
    free_.push_back(std::move((*waits)->slot));
    begun = Begun::replaced_another;
    return true;
  }
  begun = Begun::skipped;
  return false;
}

Saver::Begun Saver::begin(const std::function<TrainingState()>& state, Backlog backlog,
                          bool replaces) {
  auto job = std::make_unique<SaveJob>();
  job->replaces = replaces;
  job->offered = Clock::now();
  std::unique_lock lock(watch_.mutex());
  Begun begun{};
  if (!wait_for_slot(lock, backlog, begun)) return begun;
  job->slot = std::move(free_.back());
  free_.pop_back();
  lock.unlock();
  try {
    job->state = state();
  } catch (...) {
    lock.lock();
    free_.push_back(std::move(job->slot));
    throw;
  }
  if (home_) {  // it is the checkpoint, and the next update writes into the other one
    std::swap(home_, job->slot);
    moves_ = true;
  }
  job->slot->start(job->state);
  on_device_ = job->state.device;
  staged_ = job->slot->staged() ? job->slot.get() : nullptr;
  copying_ = on_device_ || staged_ != nullptr ? nullptr : job->slot.get();
  lock.lock();
  ++uncopied_;
  ++unwritten_;
  to_copy_.push_back(std::move(job));
  watch_.notify();
  return begun;
}

void Saver::skip(int64_t step) {
  if (alone_) return;
  auto job = std::make_unique<SaveJob>();
  job->offered = Clock::now();
  job->state.step = step;
  const std::lock_guard lock(watch_.mutex());
  ++uncopied_;
  ++unwritten_;
  to_copy_.push_back(std::move(job));  // behind those that are copied
  watch_.notify();
}

std::optional<StatePlaces> Saver::finish_copy() {
  if (home_) {
    if (!std::exchange(moves_, false)) return std::nullopt;
    return home_->places();
  }
  if (Snapshot* const staged = std::exchange(staged_, nullptr)) {
    on_device_ = nullptr;
    finish_staged(*staged);
    return std::nullopt;
  }
  if (on_device_) {
    std::exchange(on_device_, nullptr)->fence();
    return std::nullopt;
  }
  // Copying touches memory only: it ends. This thread has a core and nothing else to do, where the
  // copier may have to wait for one.
  if (Snapshot* const copy = std::exchange(copying_, nullptr)) {
    copy->help();
    copy->wait();
  }
  return std::nullopt;
}

void Saver::finish_staged(Snapshot& staged) {
  const auto until = [this](const std::function<bool()>& done) {
    std::unique_lock lock(watch_.mutex());
    return watch_.wait_while_moving(lock, done);
  };
  if (staged.feed(until) && until([&staged] { return staged.ended(); })) return;
  staged.give_up("the tier does not answer, or the process has to end");
  staged.wait();
}

bool Saver::finish_write() {
  std::unique_lock lock(watch_.mutex());
  return watch_.wait_while_moving(lock, [&] { return unwritten_ == 0; });
}

int64_t Saver::left() {
  const std::lock_guard lock(watch_.mutex());
  return unwritten_;
}

bool Saver::hung() {
  const std::lock_guard lock(watch_.mutex());
  return watch_.hung();
}

std::unique_ptr<SaveJob> Saver::take(Queue& queue) {
  std::unique_lock lock(watch_.mutex());
  watch_.wait(lock, [&] { return stop_ || !queue.empty(); });
  if (stop_) return nullptr;
  std::unique_ptr<SaveJob> job = std::move(queue.front());
  queue.pop_front();
  return job;
}

void Saver::copy(SaveJob& job) {
  if (!job.slot) return;
  const TimePoint begin = Clock::now();
  const CheckpointMeter::UnderWay under_way(hooks_.meter, CheckpointPart::snapshot);
  try {
    job.slot->finish(threads_);
    measured(CheckpointPart::snapshot, begin, job);
  } catch (const std::exception& failure) {  // of the device
    job.error = std::string("copy to snapshot memory: ") + failure.what();
  }
  job.state.keep.reset();
}

void Saver::copy_loop() {
  pthread_setname_np(pthread_self(), "ckpt-copy");
  // Nobody waits for it, and the update that comes next wants the cores.
  if (options_.snapshot == SnapshotMode::swap) yield_to_all_others();
  while (std::unique_ptr<SaveJob> job = take(to_copy_)) {
    SaveJob& here = *job;  // lives until the writer sees that streamed_ is another
    const auto hand_over = [&] {
      to_write_.push_back(std::move(job));
      watch_.notify();
    };
    const bool streams = here.slot && here.slot->staged();
    if (streams) {
      const std::lock_guard lock(watch_.mutex());
      streamed_ = here.slot.get();
      if (stop_) streamed_->give_up(kEnded);
      hand_over();
    }
    copy(here);
    const std::lock_guard lock(watch_.mutex());
    --uncopied_;
    streamed_ = nullptr;
    if (streams) {
      watch_.notify();
    } else {
      hand_over();
    }
  }
}

void Saver::write_loop() {
  pthread_setname_np(pthread_self(), "ckpt-write");
  while (std::unique_ptr<SaveJob> job = take(to_write_)) {
    {
      const std::lock_guard lock(watch_.mutex());
      watch_.set_busy(true);
    }
    const TimePoint begin = Clock::now();
    const SaveResult result = [&] {
      const CheckpointMeter::UnderWay under_way(job->slot ? hooks_.meter : nullptr,
                                                CheckpointPart::write);
      return committer_.commit(*job);
    }();
    if (job->slot) {
      if (job->slot->staged()) job->slot->give_up(result.error);
      if (result.error.empty()) measured(CheckpointPart::write, begin, *job);
      hooks_.done(result);
    }
    std::unique_lock lock(watch_.mutex());
    watch_.wait(lock, [&] { return streamed_ != job->slot.get() || !job->slot; });
    if (job->slot) free_.push_back(std::move(job->slot));
    --unwritten_;
    watch_.set_busy(false);
  }
}

void Saver::measured(CheckpointPart part, TimePoint begin, const SaveJob& job) const {
  if (hooks_.meter == nullptr) return;
  hooks_.meter->finished(part, begin, Clock::now(), job.state.step, layout_.bytes(own_));
}

}  // namespace stoker
