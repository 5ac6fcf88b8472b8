#include "io/checkpoint/drain/drain.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "io/core/error.h"
#include "io/core/threads.h"

namespace stoker {
namespace {

constexpr int kAttemptsWhileFlushing = 3;
constexpr int kDoublings = 6;
constexpr size_t kPiece = size_t{1} << 20;
constexpr int64_t kThreads = 2;  // one reads while the other writes; or each a file of its own

}  // namespace

Drain::Drain(SetStore& from, SetStore& to, const CheckpointOptions& options, Hooks hooks,
             RankGroup& group)
    : from_(from),
      to_(to),
      options_(options),
      hooks_(std::move(hooks)),
      pace_(options.drain_limit, hooks_.pace),
      watch_(options.hang_seconds, hooks_.deadline),
      collective_(group, "drain", [this] { return !stop_; }),
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
  pace_.free(true);
  std::unique_lock lock(watch_.mutex());
  flushing_ = true;
  failures_ = 0;
  watch_.notify();
  watch_.wait_while_moving(lock,
                           [&] { return queue_.empty() || failures_ >= kAttemptsWhileFlushing; });
  flushing_ = false;
  pace_.free(false);
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
      wait_for_sets(lock);
      if (stop_) return;
      step = queue_.front();
      watch_.set_busy(true);
    }
    const bool finished = attempt(step);
    int failures = 0;
    {
      const std::lock_guard lock(watch_.mutex());
      queue_.erase(std::ranges::find(queue_, step));
      if (!finished) queue_.push_back(step);
      failures = failures_ = finished ? 0 : failures_ + 1;
      watch_.set_busy(false);
    }
    if (failures > 0) pause(failures);
  }
}

void Drain::wait_for_sets(std::unique_lock<std::mutex>& lock) {
  const auto something = [&] { return stop_ || !queue_.empty(); };
  if (!pace_.follows()) return watch_.wait(lock, something);
  constexpr auto kLook = std::chrono::milliseconds(250);
  while (!something()) {
    watch_.wait_until(lock, Clock::now() + kLook, something);
    lock.unlock();
    pace_.rested();
    lock.lock();
  }
}

// All processes drain the set at the front of the first one's queue. Their queues may differ in
// order, for a set that failed goes to the end, and the next set may come before or after that.
void Drain::agree(int64_t& step) {
  if (collective_.group().size() == 1) return;
  step = std::stoll(collective_.first_only("drain", [&] { return std::to_string(step); }));
  std::unique_lock lock(watch_.mutex());
  watch_.wait(lock, [&] { return stop_ || std::ranges::find(queue_, step) != queue_.end(); });
}

bool Drain::attempt(int64_t& step) {
  const TimePoint begin = Clock::now();
  const CheckpointMeter::UnderWay under_way(hooks_.pace.meter, CheckpointPart::drain);
  try {
    agree(step);
    copy(step);
    const std::string remark = pace_.end();
    if (!replaced(step)) hooks_.done(step, begin, remark);
    return true;
  } catch (const NoRetry& error) {
    // The only copy is bad, and no attempt will mend it; or other processes are gone.
    if (!stop_ && !replaced(step)) hooks_.failed(step, error.what(), false);
    return true;
  } catch (const OtherFailed& error) {
    if (!stop_) hooks_.failed(step, error.what(), error.again());
    return !error.again();
  } catch (const std::exception& error) {
    if (!stop_) hooks_.failed(step, error.what(), true);
    return false;
  }
}

// Whether the set was saved again meanwhile. The new one waits in the queue, too.
bool Drain::replaced(int64_t step) {
  const std::lock_guard lock(watch_.mutex());
  return std::ranges::count(queue_, step) > 1;
}

void Drain::copy(int64_t step) {
  const std::string what = fmt::format("drain of step {}: ", step);
  collective_.all(what + "the tier", [this] {
    absent_ = absent_ || !to_.is_open();
    to_.open_for_writing();
    if (absent_) hooks_.appeared();
    absent_ = false;
    return "";
  });
  // If the set was copied before, parts of it may be gone from the fast tier.
  const std::optional<LocatedSet> set = locate(
      collective_, {&from_, &to_}, step, [](size_t) { return true; },
      [](size_t store, const Error& error) {
        const bool damaged = dynamic_cast<const DamagedSet*>(&error) != nullptr;
        if (store == 0 || !damaged) throw;  // a damaged copy is set aside below
      });
  if (!set) throw DamagedSet(from_.full_path(step) + ": gone before it was drained");
  pace_.begin(bytes_to_move(*set));
  const bool there = collective_.first_only(what + "whether it is there", [&] {
    return is_there(set->manifest) ? "yes" : "";
  }) == "yes";
  if (!there) copy_files(*set);
  if (!there && options_.verify == Verify::none) return;
  try {
    collective_.all(what + "read back", [&] {
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

// Whether this set is on the slow tier: a process was killed between its commit and the
// acknowledgement. A damaged set of the step counts, and reading it back will say so. One that was
// saved before does not, and is replaced.
bool Drain::is_there(const Manifest& manifest) const {
  if (!to_.has(manifest.step)) return false;
  try {
    return manifest_text(to_.manifest(manifest.step)) == manifest_text(manifest);
  } catch (const DamagedSet&) {
    return true;
  }
}

// How many bytes this process moves, also for the sets that wait, which are as large.
double Drain::bytes_to_move(const LocatedSet& set) {
  uint64_t bytes = 0;
  for (const size_t file : set.files_of(collective_.group().rank())) {
    bytes += set.manifest.files[file].bytes;
  }
  return static_cast<double>(bytes) * static_cast<double>(left()) *
         (options_.verify == Verify::none ? 1 : 2);
}

// What is on the slow tier is not a copy of the set: it makes way for another attempt.
void Drain::damaged(int64_t step, bool was_there, const Error& error) {
  if (!was_there) {
    to_.remove(step);
    throw Error(ExitCode::storage, std::string("read back after the drain: ") + error.what());
  }
  const std::string aside = to_.set_aside(step, "damaged");
  throw Error(ExitCode::storage, std::string(error.what()) + "; set aside as " + aside);
}

// This process's own files of the copy.
void Drain::verify(const LocatedSet& set) {
  to_.verify(set.manifest, set.files_of(collective_.group().rank()), kThreads,
             [this](size_t, uint64_t, Bytes bytes) { passed(bytes.size()); });
}

void Drain::copy_files(const LocatedSet& set) {
  const Manifest& manifest = set.manifest;
  const std::string what = fmt::format("drain of step {}: ", manifest.step);
  std::unique_ptr<SetWriter> writer;
  const std::string place = collective_.first_only(what + "begun", [&] {
    writer = to_.begin(manifest.step);
    return writer->place();
  });
  collective_.all(what + "copied", [&] {
    if (!writer) writer = to_.begin(manifest.step, place);
    copy_own(manifest, set.files_of(collective_.group().rank()), *writer);
    return "";
  });
  collective_.first_only(what + "committed", [&] {
    writer->commit(manifest, true);
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
  const ChunkSink sink = [&](size_t file, uint64_t offset, Bytes bytes) {
    write(writer, numbers.at(file), offset, bytes);
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

// With a limit in smaller pieces, so that others wait for a short time only.
void Drain::write(SetWriter& writer, size_t file, uint64_t offset, Bytes bytes) {
  const bool whole = !pace_.limited() || writer.in_order() || options_.write == WriteMode::stdio;
  const size_t most = whole ? bytes.size() : kPiece;
  for (size_t at = 0; at < bytes.size(); at += most) {
    if (stop_) throw Error(ExitCode::sigterm, "the process ended");
    const Bytes piece = bytes.subspan(at, std::min(most, bytes.size() - at));
    writer.write(file, offset + at, piece, nullptr);
    passed(piece.size());
  }
}

void Drain::passed(uint64_t bytes) {
  watch_.step();
  pace_.passed(bytes, [this] {
    watch_.step();
    return !stop_;
  });
}

void Drain::pause(int failures) {
  const double wait = options_.retry_seconds * (1 << std::min(failures - 1, kDoublings));
  std::unique_lock lock(watch_.mutex());
  watch_.wait_until(lock, Clock::now() + from_seconds(wait), [&] { return stop_ || flushing_; });
}

}  // namespace stoker
