#include "io/checkpoint/saver.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/core/digest.h"
#include "io/core/parallel.h"
#include "io/storage/uring_queue.h"

namespace stoker {
namespace {

constexpr int kAttempts = 2;

std::string utc_now() {
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:}{:%S}Z", fmt::gmtime(now), now.time_since_epoch());
}

}  // namespace

Saver::Saver(SetStore& store, const SetLayout& layout, const CheckpointOptions& options,
             const std::function<HostMemory(size_t)>& allocate, Hooks hooks)
    : store_(store),
      layout_(layout),
      options_(options),
      threads_(options.resolve_threads()),
      hooks_(std::move(hooks)),
      writer_id_(unique_name("") + unique_name("")),
      watch_(options.hang_seconds, hooks_.deadline) {
  for (int64_t i = 0; i < options_.slots; ++i) {
    free_.push_back(std::make_unique<Snapshot>(layout_, allocate));
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
  watch_.set_busy(false);
}

bool Saver::wait_for_slot(std::unique_lock<std::mutex>& lock, Backlog backlog, Begun& begun) {
  begun = Begun::yes;
  if (!free_.empty()) return true;
  if (backlog == Backlog::block) {
    const bool moving = watch_.wait_while_moving(lock, [&] { return !free_.empty(); });
    if (!moving) begun = Begun::hung;
    return moving;
  }
  if (backlog == Backlog::replace && !to_write_.empty()) {
    // The oldest that waits: the one being written is not in the queue any more.
    free_.push_back(std::move(to_write_.front()->slot));
    to_write_.pop_front();
    --unwritten_;
    begun = Begun::replaced_another;
    return true;
  }
  begun = Begun::skipped;
  return false;
}

Saver::Begun Saver::begin(const std::function<TrainingState()>& state, Backlog backlog) {
  auto job = std::make_unique<Job>();
  job->offered = Clock::now();
  std::unique_lock lock(watch_.mutex());
  Begun begun{};
  if (!wait_for_slot(lock, backlog, begun)) return begun;
  job->slot = std::move(free_.back());
  free_.pop_back();
  lock.unlock();
  job->state = state();
  job->slot->start(job->state);
  on_device_ = job->state.device;
  lock.lock();
  ++copying_;
  ++unwritten_;
  to_copy_.push_back(std::move(job));
  watch_.notify();
  return begun;
}

void Saver::finish_copy() {
  if (on_device_) {
    std::exchange(on_device_, nullptr)->fence();
    return;
  }
  std::unique_lock lock(watch_.mutex());
  // Copying touches memory only: it ends.
  watch_.wait(lock, [&] { return copying_ == 0; });
}

bool Saver::finish_write() {
  std::unique_lock lock(watch_.mutex());
  return watch_.wait_while_moving(lock, [&] { return unwritten_ == 0; });
}

bool Saver::hung() {
  const std::lock_guard lock(watch_.mutex());
  return watch_.hung();
}

std::unique_ptr<Saver::Job> Saver::take(Queue& queue) {
  std::unique_lock lock(watch_.mutex());
  watch_.wait(lock, [&] { return stop_ || !queue.empty(); });
  if (stop_) return nullptr;
  std::unique_ptr<Job> job = std::move(queue.front());
  queue.pop_front();
  return job;
}

void Saver::copy_loop() {
  pthread_setname_np(pthread_self(), "ckpt-copy");
  while (std::unique_ptr<Job> job = take(to_copy_)) {
    std::string error;
    const TimePoint begin = Clock::now();
    const CheckpointMeter::UnderWay under_way(hooks_.meter, CheckpointPart::snapshot);
    try {
      job->slot->finish(job->state, threads_);
      measured(CheckpointPart::snapshot, begin, *job);
    } catch (const std::exception& failure) {
      error = failure.what();  // of the device
    }
    job->state.keep.reset();
    if (!error.empty()) {
      hooks_.done({job->state.step,
                   {},
                   job->offered,
                   seconds(Clock::now() - job->offered),
                   "copy to snapshot memory: " + error});
    }
    {
      const std::lock_guard lock(watch_.mutex());
      --copying_;
      if (error.empty()) {
        to_write_.push_back(std::move(job));
      } else {
        free_.push_back(std::move(job->slot));
        --unwritten_;
      }
    }
    watch_.notify();
  }
}

void Saver::write_loop() {
  pthread_setname_np(pthread_self(), "ckpt-write");
  while (std::unique_ptr<Job> job = take(to_write_)) {
    {
      const std::lock_guard lock(watch_.mutex());
      watch_.set_busy(true);
    }
    const TimePoint begin = Clock::now();
    const SaveResult result = [&] {
      const CheckpointMeter::UnderWay under_way(hooks_.meter, CheckpointPart::write);
      return write(*job);
    }();
    if (result.error.empty()) measured(CheckpointPart::write, begin, *job);
    hooks_.done(result);
    const std::lock_guard lock(watch_.mutex());
    free_.push_back(std::move(job->slot));
    --unwritten_;
    watch_.set_busy(false);
  }
}

void Saver::measured(CheckpointPart part, TimePoint begin, const Job& job) const {
  if (hooks_.meter == nullptr) return;
  hooks_.meter->finished(part, begin, Clock::now(), job.state.step, layout_.bytes());
}

// After a failed sync the kernel may have dropped the pages and marked them clean, so that a second
// sync of the same file succeeds without writing them ("Can applications recover from fsync
// failures?", ATC 2020). Every attempt therefore writes a new set from the snapshot memory.
SaveResult Saver::write(const Job& job) {
  SaveResult result{job.state.step, job.state.score, job.offered, 0,
                    "the process ended before it was written"};
  for (int attempt = 1; attempt <= kAttempts && !stop_; ++attempt) {
    bool full = false;
    try {
      write_once(job);
      result.error.clear();
      break;
    } catch (const IoError& error) {
      result.error = error.what();
      full = error.errno_value() == ENOSPC || error.errno_value() == EDQUOT;
    } catch (const std::exception& error) {
      result.error = error.what();
    }
    if (full && !hooks_.make_room()) break;
  }
  result.seconds = seconds(Clock::now() - job.offered);
  return result;
}

void Saver::write_once(const Job& job) {
  Manifest manifest;
  manifest.step = job.state.step;
  manifest.created = utc_now();
  manifest.writer = writer_id_;
  manifest.durability = options_.durability == Durability::fsync ? "fsync" : "none";
  manifest.training = job.state.training;
  job.slot->describe(manifest);
  const std::vector<TextFile> texts = tf_saver_texts(manifest);
  SetWriter writer(store_.tree(), store_.directory(), manifest.step, options_.durability);
  std::vector<Bytes> files;
  for (size_t i = 0; i < layout_.files.size(); ++i) {
    files.push_back(job.slot->image(i));
    writer.add_file(layout_.files[i].name, files.back().size(), data_access(options_.write));
  }
  for (const TextFile& text : texts) {
    files.emplace_back(reinterpret_cast<const uint8_t*>(text.text.data()), text.text.size());
    writer.add_file(text.name, files.back().size(), FileAccess::buffered);
    manifest.files.push_back(sums_of(text.name, files.back()));
  }
  write_files(files, writer);
  writer.commit(manifest);
  watch_.step();
  if (options_.verify != Verify::all) return;
  try {
    store_.verify(manifest, threads_, [this](size_t, uint64_t, Bytes) { watch_.step(); });
  } catch (const Error&) {
    store_.remove(manifest.step);
    throw;
  }
}

void Saver::write_files(const std::vector<Bytes>& files, SetWriter& writer) {
  std::vector<std::pair<size_t, uint64_t>> pieces;  // file and offset
  for (size_t i = 0; i < files.size(); ++i) {
    for (uint64_t at = 0; at < files[i].size(); at += kChunkBytes) pieces.emplace_back(i, at);
  }
  std::atomic<size_t> next{0};
  parallel_for(threads_, threads_, [&](int64_t) {
    std::string why;
    const std::unique_ptr<Uring> queue =
        options_.write == WriteMode::uring ? Uring::open(why) : nullptr;
    for (size_t i = next++; i < pieces.size(); i = next++) {
      if (stop_) throw Error(ExitCode::sigterm, "the process ended before it was written");
      const auto [file, offset] = pieces[i];
      const uint64_t size = std::min(kChunkBytes, files[file].size() - offset);
      writer.write(file, offset, files[file].subspan(offset, size), queue.get());
      watch_.step();
    }
  });
}

}  // namespace stoker
