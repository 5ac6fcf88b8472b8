#include "io/checkpoint/drain.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "io/core/error.h"
#include "io/core/parallel.h"

namespace stoker {
namespace {

constexpr int kAttemptsWhileFlushing = 3;
constexpr int kDoublings = 6;
constexpr int64_t kThreads = 2;  // one reads while the other writes; or each a file of its own

// Threads that this one starts inherit both.
void yield_to_all_others() {
  constexpr int kWhoThread = 1, kClassIdle = 3, kClassShift = 13;
  ::syscall(SYS_ioprio_set, kWhoThread, 0, kClassIdle << kClassShift);
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);
}

}  // namespace

Drain::Drain(SetStore& from, SetStore& to, const CheckpointOptions& options, Hooks hooks,
             SetGroup& group)
    : from_(from),
      to_(to),
      options_(options),
      bytes_per_s_(options.drain_limit ? static_cast<double>(options.drain_limit->bytes)
                                       : std::numeric_limits<double>::infinity()),
      hooks_(std::move(hooks)),
      watch_(options.hang_seconds, hooks_.deadline),
      together_(group, "drain", [this] { return !stop_; }),
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
      std::erase(queue_, step);
      if (!finished) queue_.push_back(step);
      failures = failures_ = finished ? 0 : failures_ + 1;
      watch_.set_busy(false);
    }
    if (failures > 0) pause(failures);
  }
}

// The first process's front: what failed goes to the end of a queue, sooner or later than the next
// set comes.
void Drain::agree(int64_t& step) {
  if (together_.group().size() == 1) return;
  step = std::stoll(together_.first_only("drain", [&] { return std::to_string(step); }));
  std::unique_lock lock(watch_.mutex());
  watch_.wait(lock, [&] { return stop_ || std::ranges::find(queue_, step) != queue_.end(); });
}

bool Drain::attempt(int64_t& step) {
  const TimePoint begin = Clock::now();
  const CheckpointMeter::UnderWay under_way(hooks_.meter, CheckpointPart::drain);
  try {
    agree(step);
    copy(step);
    hooks_.done(step, begin);
    return true;
  } catch (const NoRetry& error) {
    // The only copy is bad: no attempt will mend it. Or other processes are gone.
    if (!stop_) hooks_.failed(step, error.what(), false);
    return true;
  } catch (const OtherFailed& error) {
    if (!stop_) hooks_.failed(step, error.what(), error.again());
    return !error.again();
  } catch (const std::exception& error) {
    if (!stop_) hooks_.failed(step, error.what(), true);
    return false;
  }
}

void Drain::copy(int64_t step) {
  const std::string what = fmt::format("drain of step {}: ", step);
  together_.all(what + "the tier", [this] {
    absent_ = absent_ || !to_.is_open();
    to_.open_for_writing();
    if (absent_) hooks_.appeared();
    absent_ = false;
    return "";
  });
  // Of a set that was copied before, parts may be gone from the fast tier.
  const std::optional<LocatedSet> set = locate(
      together_, {&from_, &to_}, step, [](size_t) { return true; },
      [](size_t store, const Error& error) {
        const bool damaged = dynamic_cast<const DamagedSet*>(&error) != nullptr;
        if (store == 0 || !damaged) throw;  // a damaged copy is set aside below
      });
  if (!set) throw DamagedSet(from_.full_path(step) + ": gone before it was drained");
  // Else a process was killed between the commit and its acknowledgement.
  const bool there = together_.first_only(what + "whether it is there",
                                          [&] { return to_.has(step) ? "yes" : ""; }) == "yes";
  if (!there) copy_files(*set);
  if (!there && options_.verify == Verify::none) return;
  try {
    together_.all(what + "read back", [&] {
      verify(*set);
      return "";
    });
  } catch (const DamagedSet& error) {
    damaged(step, there, error);
  } catch (const OtherFailed& error) {
    if (error.again()) throw;
    damaged(step, there, error);
  }
}

// What is on the slow tier is no copy: it makes way for another attempt.
void Drain::damaged(int64_t step, bool was_there, const Error& error) {
  if (!was_there) {
    to_.remove(step);
    throw Error(ExitCode::storage, std::string("read back after the drain: ") + error.what());
  }
  const std::string aside = to_.set_aside(step, "damaged");
  throw Error(ExitCode::storage, std::string(error.what()) + "; set aside as " + aside);
}

// Its own files of the copy.
void Drain::verify(const LocatedSet& set) {
  to_.verify(set.manifest, set.files_of(together_.group().rank()), kThreads,
             [this](size_t, uint64_t, Bytes) { watch_.step(); });
}

void Drain::copy_files(const LocatedSet& set) {
  const Manifest& manifest = set.manifest;
  const std::string what = fmt::format("drain of step {}: ", manifest.step);
  std::unique_ptr<SetWriter> writer;
  const std::string place = together_.first_only(what + "begun", [&] {
    writer = to_.begin(manifest.step);
    return writer->place();
  });
  together_.all(what + "copied", [&] {
    if (!writer) writer = to_.begin(manifest.step, place);
    copy_own(manifest, set.files_of(together_.group().rank()), *writer);
    return "";
  });
  together_.first_only(what + "committed", [&] {
    writer->commit(manifest);
    return "";
  });
}

void Drain::copy_own(const Manifest& manifest, const std::vector<size_t>& files,
                     SetWriter& writer) {
  std::map<size_t, size_t> numbers;
  for (const size_t file : files) {
    const auto& [name, bytes, sums] = manifest.files[file];
    numbers[file] = writer.add_file(name, bytes, data_access(options_.write));
  }
  const TimePoint begin = Clock::now();
  std::atomic<uint64_t> copied{0};
  const ChunkSink sink = [&](size_t file, uint64_t offset, Bytes bytes) {
    if (stop_) throw Error(ExitCode::sigterm, "the process ended");
    writer.write(numbers.at(file), offset, bytes, nullptr);
    copied += bytes.size();
    watch_.step();
    const double due = static_cast<double>(copied) / bytes_per_s_;
    while (!stop_ && seconds(Clock::now() - begin) < due) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      watch_.step();
    }
  };
  const auto read = [&](const std::vector<size_t>& some, int64_t threads) {
    read_files(from_.files(), from_.path(manifest.step), manifest, some, threads, sink);
  };
  if (writer.in_order()) {
    parallel_for(kThreads, static_cast<int64_t>(files.size()),
                 [&](int64_t i) { read({files[static_cast<size_t>(i)]}, 1); });
  } else {
    read(files, kThreads);
  }
  writer.finish();
}

void Drain::pause(int failures) {
  const double wait = options_.retry_seconds * (1 << std::min(failures - 1, kDoublings));
  std::unique_lock lock(watch_.mutex());
  watch_.wait_until(lock, Clock::now() + from_seconds(wait), [&] { return stop_ || flushing_; });
}

}  // namespace stoker
