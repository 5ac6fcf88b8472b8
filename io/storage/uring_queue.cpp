#include "io/storage/uring_queue.h"

#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

// How a transfer goes through the queue:
//
// 1. It is cut into pieces. As many as the ring has entries are in flight; each has a slot, whose
//    number comes back with the completion.
// 2. A piece that ends makes room for the next one, so that the device always has all of them.
// 3. A piece that came short is asked for again from where it ended, in whole units where direct
//    I/O needs them. One that got nothing has reached the end of the file.
// 4. After an error nothing new is begun, and the call waits for all that is in flight: the kernel
//    writes into the caller's memory until then.
// 5. If the kernel refuses to take requests, they stay in the ring, which is broken from then on.
//    Those that it took before are still waited for.

namespace stoker {

struct Uring::Ring {
  explicit Ring(UringShape wanted)
      : shape(wanted), error(io_uring_queue_init(shape.in_flight, &ring, 0)) {}
  ~Ring() {
    if (error == 0) io_uring_queue_exit(&ring);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  const UringShape shape;
  // Whether the kernel knows all of these pages.
  bool knows(const uint8_t* data, uint64_t bytes) const {
    return data >= registered.data() && data + bytes <= registered.data() + registered.size();
  }
  io_uring ring{};
  int error;
  bool broken = false;
  std::span<uint8_t> registered = {};
};

namespace {

// One read or write that is cut into pieces, several of which are in flight. The kernel uses the
// memory as long as any piece is in flight, so the call waits for all of them, whatever fails.
class Transfer {
 public:
  Transfer(Uring::Ring& ring, int operation, int file, uint8_t* data, uint64_t bytes,
           uint64_t offset, uint64_t unit)
      : ring_(ring),
        operation_(operation),
        file_(file),
        data_(data),
        bytes_(bytes),
        offset_(offset),
        unit_(unit),
        slots_(ring.shape.in_flight),
        end_(bytes) {}

  int64_t run() {
    for (size_t slot = 0; slot < slots_.size() && begun_ < end_; ++slot) begin_next(slot);
    while (flying_ > 0) {
      submit();
      if (flying_ == 0) break;
      advance();
    }
    return error_ != 0 ? error_ : static_cast<int64_t>(end_);
  }

 private:
  struct Piece {
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  void begin_next(size_t slot) {
    slots_[slot] = {begun_, std::min(begun_ + ring_.shape.piece_bytes, bytes_)};
    begun_ = slots_[slot].end;
    request(slot);
  }

  void request(size_t slot) {
    const Piece& piece = slots_[slot];
    uint8_t* const place = data_ + piece.begin;
    const uint64_t bytes = piece.end - piece.begin;
    const bool known = operation_ == IORING_OP_READ && ring_.knows(place, bytes);
    io_uring_sqe* entry = io_uring_get_sqe(&ring_.ring);
    io_uring_prep_rw(known ? IORING_OP_READ_FIXED : operation_, entry, file_, place,
                     static_cast<unsigned>(bytes), offset_ + piece.begin);
    io_uring_sqe_set_data64(entry, slot);
    ++flying_;
  }

  void submit() {
    while (!ring_.broken && io_uring_sq_ready(&ring_.ring) > 0) {
      const int submitted = io_uring_submit(&ring_.ring);
      if (submitted >= 0 || submitted == -EINTR) continue;
      error_ = submitted;
      flying_ -= io_uring_sq_ready(&ring_.ring);  // they stay in the ring, so that it ends here
      ring_.broken = true;
    }
  }

  // Waits until a request has ended: with its bytes, or -errno. After EINTR the kernel is asked
  // again.
  void advance() {
    io_uring_cqe* done = nullptr;
    int waited = 0;
    do {
      waited = io_uring_wait_cqe(&ring_.ring, &done);
    } while (waited == -EINTR);
    if (waited < 0) throw std::system_error(-waited, std::generic_category(), "io_uring_wait_cqe");
    const auto slot = static_cast<size_t>(done->user_data);
    const int64_t result = done->res;
    io_uring_cqe_seen(&ring_.ring, done);
    --flying_;
    Piece& piece = slots_[slot];
    if (ring_.broken) return;
    if (result == -EINTR || result == -EAGAIN) return request(slot);
    if (result < 0) {
      error_ = result;
      return;
    }
    const auto count = static_cast<uint64_t>(result);
    const uint64_t whole = count == piece.end - piece.begin ? count : count / unit_ * unit_;
    if (whole == 0) end_ = std::min(end_, piece.begin + count);  // the file's end
    piece.begin += whole;
    if (whole > 0 && piece.begin < piece.end) return request(slot);
    if (error_ == 0 && begun_ < end_) begin_next(slot);
  }

  Uring::Ring& ring_;
  const int operation_;
  const int file_;
  uint8_t* const data_;
  const uint64_t bytes_;
  const uint64_t offset_;
  const uint64_t unit_;
  std::vector<Piece> slots_;
  uint64_t begun_ = 0;  // all before was asked for
  uint64_t end_;        // where the file ends
  size_t flying_ = 0;
  int64_t error_ = 0;
};

}  // namespace

Uring::Uring(std::unique_ptr<Ring> ring) : ring_(std::move(ring)) {}
Uring::~Uring() = default;

std::unique_ptr<Uring> Uring::open(std::string& why, UringShape shape) {
  auto ring = std::make_unique<Ring>(shape);
  if (ring->error != 0) {
    why = "io_uring is refused here: " + std::generic_category().message(-ring->error);
    return nullptr;
  }
  const std::unique_ptr<io_uring_probe, decltype(&io_uring_free_probe)> probe(
      io_uring_get_probe_ring(&ring->ring), io_uring_free_probe);
  // Kernels before 5.6 have rings, but not these two operations.
  for (const int operation : {IORING_OP_READ, IORING_OP_WRITE}) {
    if (probe && io_uring_opcode_supported(probe.get(), operation) != 0) continue;
    why = "this kernel's io_uring cannot read and write";
    return nullptr;
  }
  return std::make_unique<Uring>(std::move(ring));
}

bool Uring::broken() const { return ring_->broken; }

bool Uring::register_memory(std::span<uint8_t> memory) {
  const iovec all{memory.data(), memory.size()};
  if (io_uring_register_buffers(&ring_->ring, &all, 1) != 0) return false;
  ring_->registered = memory;
  return true;
}

int64_t Uring::read(int file, uint8_t* data, uint64_t bytes, uint64_t offset, uint64_t unit) {
  return Transfer(*ring_, IORING_OP_READ, file, data, bytes, offset, unit).run();
}

int64_t Uring::write(int file, const uint8_t* data, uint64_t bytes, uint64_t offset,
                     uint64_t unit) {
  // One round only. The caller goes on from where the bytes end that were written; after a piece
  // that came short, further rounds would write behind it for nothing.
  const uint64_t taken = std::min(bytes, ring_->shape.piece_bytes * ring_->shape.in_flight);
  auto* const from = const_cast<uint8_t*>(data);
  return Transfer(*ring_, IORING_OP_WRITE, file, from, taken, offset, unit).run();
}

}  // namespace stoker
