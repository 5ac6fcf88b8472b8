#include "io/dataset/shards/tier_reads.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "io/core/threads.h"

namespace stoker {

struct ReadAhead::Stretch {
  enum class State { waiting, reading, read };
  const std::string& key;
  const Range range;
  const int64_t number;
  // Guarded by the lock, but for the bytes of one that is read.
  int64_t parts;
  State state = State::waiting;
  Buffer bytes = {};  // fewer than the range if the object ends before, empty if reading failed
};

ReadAhead::ReadAhead(const Storage& tier, int64_t threads, uint64_t limit)
    : tier_(tier), count_(threads), limit_(limit) {}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  for (std::jthread& thread : threads_) thread.request_stop();
}

ReadAhead::Handle ReadAhead::announce(const std::string& key, Range range, int64_t parts) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::make_shared<Stretch>(Stretch{key, range, announced_++, parts}));
  while (std::ssize(threads_) < count_) {
    threads_.emplace_back([this](const std::stop_token& stop) {
      const Interruptible scope(stop);
      read_on();
    });
  }
  changed_.notify_all();
  return waiting_.back();
}

bool ReadAhead::take(Stretch& stretch, Range part, Buffer& out) {
  std::unique_lock lock(mutex_);
  if (stretch.number > urgent_ && stretch.state == Stretch::State::waiting) {
    urgent_ = stretch.number;
    changed_.notify_all();
  }
  try {
    wait_interruptibly(changed_, lock, [&] { return stretch.state == Stretch::State::read; });
  } catch (const Interrupted&) {
    part_is_done(stretch);
    throw;
  }
  lock.unlock();
  const uint64_t begin = part.offset - stretch.range.offset;
  const bool there = begin <= stretch.bytes.size() && part.length <= stretch.bytes.size() - begin;
  if (there && part.length > 0) {
    std::memcpy(out.resize(part.length), stretch.bytes.data() + begin, part.length);
  }
  lock.lock();
  part_is_done(stretch);
  return there && part.length > 0;
}

void ReadAhead::drop(Stretch& stretch) {
  const std::lock_guard lock(mutex_);
  part_is_done(stretch);
}

void ReadAhead::part_is_done(Stretch& stretch) {
  if (--stretch.parts > 0 || stretch.state != Stretch::State::read) return;
  stretch.bytes = {};
  held_ -= stretch.range.length;
  changed_.notify_all();
}

bool ReadAhead::may_read() const {
  if (waiting_.empty()) return false;
  const Stretch& next = *waiting_.front();
  return next.parts == 0 || next.number <= urgent_ || held_ == 0 ||
         held_ + next.range.length <= limit_;
}

void ReadAhead::read_on() {
  pthread_setname_np(pthread_self(), "read-ahead");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ended_ || may_read(); });
    if (ended_) return;
    const Handle stretch = std::move(waiting_.front());
    waiting_.pop_front();
    if (stretch->parts == 0) continue;
    stretch->state = Stretch::State::reading;
    held_ += stretch->range.length;
    lock.unlock();
    try {
      tier_.read(stretch->key, stretch->bytes, stretch->range);
    } catch (const std::exception&) {  // whoever reads a part alone learns why
      stretch->bytes = {};
    }
    lock.lock();
    stretch->state = Stretch::State::read;
    if (stretch->parts == 0) {
      stretch->bytes = {};
      held_ -= stretch->range.length;
    }
    changed_.notify_all();
  }
}

std::shared_ptr<const Buffer> WholeFiles::get(const std::string& key) {
  const std::shared_ptr<File> file = newest(key);
  const std::lock_guard lock(file->reading);
  if (!file->there) tier_.read(key, file->bytes);
  file->there = true;
  return {file, &file->bytes};
}

std::shared_ptr<WholeFiles::File> WholeFiles::newest(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(files_, key, [](const auto& file) { return file->key; });
  if (known != files_.end()) {
    files_.splice(files_.begin(), files_, known);
  } else {
    files_.push_front(std::make_shared<File>());
    files_.front()->key = key;
    if (files_.size() > keep_) files_.pop_back();
  }
  return files_.front();
}

namespace {

constexpr uint64_t kStreamBlock = uint64_t{4} << 20;

}  // namespace

Bytes ObjectStream::peek(uint64_t count) {
  count = std::min(count, left());
  if (offset_ < begin_ || offset_ - begin_ > block_.size() ||
      block_.size() - (offset_ - begin_) < count) {
    tier_.read(object_.key, block_, {offset_, std::min(std::max(count, kStreamBlock), left())});
    begin_ = offset_;
  }
  const Bytes rest = block_.bytes().subspan(offset_ - begin_);
  return rest.first(std::min<uint64_t>(count, rest.size()));
}

}  // namespace stoker
