#include "io/storage/uring_files.h"

#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "io/core/system/file.h"
#include "io/core/threads.h"

namespace stoker {

class UringFiles::File {
 public:
  File(std::string path, Range range) : path(std::move(path)), range(range) {}
  const std::string path;
  const Range range;
  Buffer bytes;
  int64_t result = -ECANCELED;  // bytes that were read, or -errno
  bool done = false;            // with the lock of its loop
};

// The ring and its thread, which alone uses it. Files are handed over through a queue, and an
// eventfd wakes the thread: handing in requests may already do the work of cached files, and is
// nothing for who only hints at them.
class UringFiles::Loop {
 public:
  Loop(unsigned in_flight, int& error) : slots_(in_flight), wake_(::eventfd(0, EFD_CLOEXEC)) {
    error = io_uring_queue_init(4 * in_flight + 2, &ring_, 0);
    if (error < 0) return;
    ring_is_there_ = true;
    const std::vector<int> none(in_flight, -1);
    error = io_uring_register_files(&ring_, none.data(), in_flight);
    for (unsigned slot = in_flight; slot > 0; --slot) free_.push_back(slot - 1);
  }
  ~Loop() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake();
    if (thread_.joinable()) thread_.join();
    if (ring_is_there_) io_uring_queue_exit(&ring_);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void start() {
    thread_ = std::thread([this] { run(); });
  }

  Handle begin(std::string path, Range range) {
    auto file = std::make_shared<File>(std::move(path), range);
    {
      const std::lock_guard lock(mutex_);
      if (broken_) file->done = true;
      if (!broken_) waiting_.push_back(file);
    }
    wake();
    return file;
  }

  void wait(const File& file) {
    std::unique_lock lock(mutex_);
    wait_interruptibly(changed_, lock, [&] { return file.done; });
  }

 private:
  static constexpr uint64_t kWoken = UINT64_MAX;
  struct Slot {
    Handle file;
    int left = 0;  // of its requests
  };

  void wake() {
    const uint64_t one = 1;
    // An eventfd takes this but for its counter's end.
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }

  void run() {
    pthread_setname_np(pthread_self(), "uring-files");
    listen();
    while (begin_waiting()) {
      io_uring_cqe* done = nullptr;
      const int waited = io_uring_submit_and_wait(&ring_, 1);
      if (waited < 0 && waited != -EINTR && waited != -EAGAIN && waited != -EBUSY) return give_up();
      while (io_uring_peek_cqe(&ring_, &done) == 0) {
        const uint64_t what = done->user_data;
        const int64_t result = done->res;
        io_uring_cqe_seen(&ring_, done);
        what == kWoken ? listen() : reaped(what, result);
      }
    }
  }

  void listen() {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    io_uring_prep_read(entry, wake_.get(), &woken_, sizeof woken_, 0);
    entry->user_data = kWoken;
  }

  // False: the end, and nothing is in flight.
  bool begin_waiting() {
    std::unique_lock lock(mutex_);
    if (ended_) {
      for (const Handle& file : waiting_) file->done = true;
      waiting_.clear();
      changed_.notify_all();
      return free_.size() < slots_.size();
    }
    while (!waiting_.empty() && !free_.empty()) {
      const unsigned slot = free_.back();
      free_.pop_back();
      slots_[slot] = {std::move(waiting_.front()), 3};
      waiting_.pop_front();
      request(slot);
    }
    return true;
  }

  void request(unsigned slot) {
    File& file = *slots_[slot].file;
    uint8_t* const data = file.bytes.resize(file.range.length);
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    io_uring_prep_openat_direct(entry, AT_FDCWD, file.path.c_str(), O_RDONLY | O_NONBLOCK, 0, slot);
    entry->flags |= IOSQE_IO_LINK;
    entry->user_data = slot * 3;
    entry = io_uring_get_sqe(&ring_);
    io_uring_prep_read(entry, static_cast<int>(slot), data,
                       static_cast<unsigned>(file.range.length), file.range.offset);
    // Fewer bytes than asked for, as at a file's end, would break an ordinary link.
    entry->flags |= IOSQE_FIXED_FILE | IOSQE_IO_HARDLINK;
    entry->user_data = slot * 3 + 1;
    entry = io_uring_get_sqe(&ring_);
    io_uring_prep_close_direct(entry, slot);
    entry->user_data = slot * 3 + 2;
  }

  void reaped(uint64_t what, int64_t result) {
    Slot& slot = slots_[what / 3];
    if (what % 3 == 1) slot.file->result = result;
    if (--slot.left > 0) return;
    const std::lock_guard lock(mutex_);
    std::exchange(slot.file, nullptr)->done = true;
    free_.push_back(static_cast<unsigned>(what / 3));
    changed_.notify_all();
  }

  // The kernel takes no more requests. What it has got may still write to its memory, so the files
  // in flight stay with their slots, until the ring has ended.
  void give_up() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    for (Slot& slot : slots_) {
      if (slot.file) slot.file->done = true;
    }
    for (const Handle& file : waiting_) file->done = true;
    waiting_.clear();
    changed_.notify_all();
  }

  io_uring ring_{};
  bool ring_is_there_ = false;
  std::vector<Slot> slots_;
  std::vector<unsigned> free_;
  const FileDescriptor wake_;
  uint64_t woken_ = 0;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Handle> waiting_;
  bool ended_ = false;
  bool broken_ = false;
  std::thread thread_;
};

UringFiles::UringFiles(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
UringFiles::~UringFiles() = default;

std::unique_ptr<UringFiles> UringFiles::open(unsigned in_flight) {
  int error = 0;
  auto loop = std::make_unique<Loop>(in_flight, error);
  if (error < 0) return nullptr;
  loop->start();
  return std::make_unique<UringFiles>(std::move(loop));
}

UringFiles::Handle UringFiles::begin(std::string path, Range range) {
  return loop_->begin(std::move(path), range);
}

bool UringFiles::take(File& file, Buffer& out) {
  loop_->wait(file);
  if (file.result <= 0) return false;
  const auto count = static_cast<size_t>(file.result);
  std::memcpy(out.resize(count), file.bytes.data(), count);
  return true;
}

}  // namespace stoker
