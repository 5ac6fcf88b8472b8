#include "io/checkpoint/drain.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "io/core/error.h"

namespace stoker {
namespace {

constexpr int kAttemptsWhileFlushing = 3;
constexpr int kDoublings = 6;
constexpr int64_t kThreads = 2;  // one reads while the other writes

// Threads that this one starts inherit both.
void yield_to_all_others() {
  constexpr int kWhoThread = 1, kClassIdle = 3, kClassShift = 13;
  ::syscall(SYS_ioprio_set, kWhoThread, 0, kClassIdle << kClassShift);
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);
}

}  // namespace

Drain::Drain(SetStore& from, SetStore& to, const CheckpointOptions& options, Hooks hooks)
    : from_(from),
      to_(to),
      options_(options),
      bytes_per_s_(options.drain_limit ? static_cast<double>(options.drain_limit->bytes)
                                       : std::numeric_limits<double>::infinity()),
      hooks_(std::move(hooks)),
      watch_(options.hang_seconds, hooks_.deadline),
      thread_([this] { run(); }) {}

Drain::~Drain() {
  const std::lock_guard lock(watch_.mutex());
  stop_ = true;
  watch_.set_busy(false);
}

void Drain::add(int64_t step) {
  {
    const std::lock_guard lock(watch_.mutex());
    queue_.push_back(step);
  }
  watch_.notify();
}

int64_t Drain::left() {
  const std::lock_guard lock(watch_.mutex());
  return static_cast<int64_t>(queue_.size());
}

bool Drain::flush() {
  std::unique_lock lock(watch_.mutex());
  flushing_ = true;
  failures_ = 0;
  watch_.notify();
  watch_.wait_while_moving(lock,
                           [&] { return queue_.empty() || failures_ >= kAttemptsWhileFlushing; });
  flushing_ = false;
  return queue_.empty();
}

bool Drain::hung() {
  const std::lock_guard lock(watch_.mutex());
  return watch_.hung();
}

void Drain::run() {
  pthread_setname_np(pthread_self(), "ckpt-drain");
  yield_to_all_others();
  for (;;) {
    int64_t step = 0;
    {
      std::unique_lock lock(watch_.mutex());
      watch_.set_busy(false);
      watch_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      step = queue_.front();
      watch_.set_busy(true);
    }
    const bool finished = attempt(step);
    int failures = 0;
    {
      const std::lock_guard lock(watch_.mutex());
      queue_.pop_front();
      if (!finished) queue_.push_back(step);
      failures = failures_ = finished ? 0 : failures_ + 1;
      watch_.set_busy(false);
    }
    if (failures > 0) pause(failures);
  }
}

bool Drain::attempt(int64_t step) {
  const TimePoint begin = Clock::now();
  const CheckpointMeter::UnderWay under_way(hooks_.meter, CheckpointPart::drain);
  try {
    copy(step);
    hooks_.done(step, begin);
    return true;
  } catch (const DamagedSet& error) {
    // The only copy is bad: no attempt will mend it.
    hooks_.failed(step, error.what(), false);
    return true;
  } catch (const std::exception& error) {
    if (!stop_) hooks_.failed(step, error.what(), true);
    return false;
  }
}

void Drain::copy(int64_t step) {
  absent_ = absent_ || !to_.is_open();
  to_.open_for_writing();
  if (absent_) hooks_.appeared();
  absent_ = false;
  if (!from_.has(step)) throw DamagedSet(from_.full_path(step) + ": gone before it was drained");
  const Manifest manifest = from_.manifest(step);
  const auto progress = [this](size_t, uint64_t, Bytes) { watch_.step(); };
  if (to_.has(step)) {
    // A process was killed between the commit and its acknowledgement.
    try {
      to_.verify(manifest, kThreads, progress);
      return;
    } catch (const DamagedSet& error) {
      const std::string aside = to_.set_aside(step, "damaged");
      throw Error(ExitCode::storage, std::string(error.what()) + "; set aside as " + aside);
    }
  }
  copy_files(step, manifest);
  if (options_.verify == Verify::none) return;
  try {
    to_.verify(manifest, kThreads, progress);
  } catch (const DamagedSet& error) {
    to_.remove(step);
    throw Error(ExitCode::storage, std::string("read back after the drain: ") + error.what());
  }
}

void Drain::copy_files(int64_t step, const Manifest& manifest) {
  SetWriter writer(to_.tree(), to_.directory(), step, options_.durability);
  for (const FileSums& file : manifest.files) {
    writer.add_file(file.name, file.bytes, data_access(options_.write));
  }
  const TimePoint begin = Clock::now();
  std::atomic<uint64_t> copied{0};
  read_set(from_.tree(), from_.path(step), manifest, kThreads,
           [&](size_t file, uint64_t offset, Bytes bytes) {
             if (stop_) throw Error(ExitCode::sigterm, "the process ended");
             writer.write(file, offset, bytes);
             copied += bytes.size();
             watch_.step();
             const double due = static_cast<double>(copied) / bytes_per_s_;
             while (!stop_ && seconds(Clock::now() - begin) < due) {
               std::this_thread::sleep_for(std::chrono::milliseconds(5));
               watch_.step();
             }
           });
  writer.commit(manifest);
}

void Drain::pause(int failures) {
  const double wait = options_.retry_seconds * (1 << std::min(failures - 1, kDoublings));
  std::unique_lock lock(watch_.mutex());
  watch_.wait_until(lock, Clock::now() + from_seconds(wait), [&] { return stop_ || flushing_; });
}

}  // namespace stoker
