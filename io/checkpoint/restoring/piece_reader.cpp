#include "io/checkpoint/restoring/piece_reader.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "io/core/bounded_queue.h"
#include "io/core/system/usable_cores.h"
#include "io/core/threads.h"
#include "io/storage/uring_queue.h"

// 1. Threads take pieces by one counter. There are more than a tier needs requests: one that waits
//    for its turn, or faults in memory, asks for nothing meanwhile, and the others keep the device
//    busy.
// 2. What stays where it was read is left to others, who sum it while the next pieces come: so each
//    request is followed by the next one at once, and a device that tells several ends at a time
//    does not wait for sums.
// 3. What a thread's buffer holds has to be done with before the next read.

namespace stoker {
namespace {

constexpr uint64_t kRequestBytes = 1ull << 20;
constexpr uint64_t kMostInFlight = 8;

class PieceReader {
 public:
  PieceReader(std::span<const std::optional<SetFile>> files, std::span<const FilePiece> pieces,
              const PieceReading& reading)
      : files_(files), pieces_(pieces), reading_(reading), there_(pieces.size() + 1) {
    for (const FilePiece& piece : pieces) most_ = std::max(most_, piece.end - piece.begin);
    report_.direct = std::ranges::any_of(
        files, [](const auto& file) { return file.has_value() && file->direct(); });
  }

  PieceReport run() {
    const auto most = std::max<int64_t>(1, static_cast<int64_t>(pieces_.size()));
    report_.threads = std::clamp<int64_t>(reading_.threads, 1, most);
    reading_threads_ = report_.threads;
    const int64_t beside = reading_.beside ? std::min(usable_cores(), most) : 0;
    const std::stop_callback with_the_caller(interruption(), [this] { over_.request_stop(); });
    // Those that read come first: where threads are short, they are finished before the others.
    parallel_for(report_.threads + beside, report_.threads + beside,
                 [this](int64_t i) { i < report_.threads ? read_all() : finish_all(); });
    if (failure_) std::rethrow_exception(failure_);
    return report_;
  }

 private:
  struct Finished {
    size_t number = 0;
    Bytes bytes;
  };
  // What a thread reads with. The queue last: it ends before the memory that it knows does.
  struct Lane {
    HostMemory buffer;
    std::unique_ptr<Uring> queue;
  };

  Lane make_lane() {
    Lane lane;
    if (!reading_.place) lane.buffer = allocate_huge(rounded_up(most_, kDirectAlignment), false);
    if (!report_.direct) return lane;
    const uint64_t requests = rounded_up(most_, kRequestBytes) / kRequestBytes;
    std::string why;
    lane.queue = Uring::open(
        why,
        {static_cast<unsigned>(std::clamp<uint64_t>(requests, 1, kMostInFlight)), kRequestBytes});
    if (!lane.queue) return lane;
    const std::span<uint8_t> own(lane.buffer.data.get(), lane.buffer.bytes);
    if (!own.empty()) lane.queue->register_memory(own);  // where the kernel pins no more: without
    const std::lock_guard lock(mutex_);
    report_.uring = true;
    return lane;
  }

  void read_all() {
    size_t taken = pieces_.size();
    try {
      const Lane lane = make_lane();
      while ((taken = next_++) < pieces_.size()) {
        throw_if_interrupted();
        read(taken, lane);
      }
    } catch (const Interrupted&) {
      fail(pieces_.size());  // any piece that failed counts before it
    } catch (...) {
      fail(taken);
    }
    if (--reading_threads_ == 0) there_.close();
  }

  // Beside the reading. After a failure as well: a piece that comes first by order may fail later.
  void finish_all() {
    try {
      while (const std::optional<Finished> piece = there_.pop()) finish(*piece);
    } catch (...) {
      fail(pieces_.size());
    }
  }

  void finish(const Finished& piece) {
    try {
      reading_.done(piece.number, piece.bytes);
    } catch (...) {
      fail(piece.number);
    }
  }

  void fail(size_t piece) {
    next_ = pieces_.size();
    {
      const std::lock_guard lock(mutex_);
      if (!failure_ || piece < failed_) failure_ = std::current_exception();
      failed_ = std::min(failed_, piece);
    }
    over_.request_stop();
  }

  // Whoever makes room may wait for a piece that has failed.
  uint8_t* place(size_t number, const Lane& lane) const {
    if (!reading_.place) return lane.buffer.data.get();
    const Interruptible scope(over_.get_token());
    return reading_.place(number);
  }

  void read(size_t number, const Lane& lane) {
    const FilePiece& piece = pieces_[number];
    const std::span bytes(place(number, lane), piece.end - piece.begin);
    const SetFile& file = *files_[piece.file];
    file.read_at(piece.begin, bytes, file.direct() ? lane.queue.get() : nullptr);
    if (reading_.beside) {
      there_.push({number, bytes});
    } else if (reading_.done) {
      reading_.done(number, bytes);
    }
  }

  const std::span<const std::optional<SetFile>> files_;
  const std::span<const FilePiece> pieces_;
  const PieceReading& reading_;
  uint64_t most_ = 0;
  std::atomic<size_t> next_ = 0;
  BoundedQueue<Finished> there_;
  std::atomic<int64_t> reading_threads_ = 0;
  std::stop_source over_;  // asked to stop by a failure, and with the caller
  std::mutex mutex_;
  PieceReport report_;
  std::exception_ptr failure_;
  size_t failed_ = SIZE_MAX;
};

}  // namespace

PieceReport read_pieces(std::span<const std::optional<SetFile>> files,
                        std::span<const FilePiece> pieces, const PieceReading& reading) {
  return PieceReader(files, pieces, reading).run();
}

}  // namespace stoker
