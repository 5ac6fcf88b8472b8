#include "io/storage/uring.h"

#include <liburing.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace stoker {
namespace {

constexpr uint64_t kPieceBytes = 1ull << 20;
constexpr size_t kInFlight = 8;

}  // namespace

struct Uring::Ring {
  Ring() : error(io_uring_queue_init(kInFlight, &ring, 0)) {}
  ~Ring() {
    if (error == 0) io_uring_queue_exit(&ring);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  io_uring ring{};
  int error;
};

Uring::Uring(std::unique_ptr<Ring> ring) : ring_(std::move(ring)) {}
Uring::~Uring() = default;

std::unique_ptr<Uring> Uring::open(std::string& why) {
  auto ring = std::make_unique<Ring>();
  if (ring->error != 0) {
    why = "io_uring is refused here: " + std::generic_category().message(-ring->error);
    return nullptr;
  }
  const std::unique_ptr<io_uring_probe, decltype(&io_uring_free_probe)> probe(
      io_uring_get_probe_ring(&ring->ring), io_uring_free_probe);
  if (!probe || io_uring_opcode_supported(probe.get(), IORING_OP_WRITE) == 0) {
    why = "this kernel's io_uring cannot write";
    return nullptr;
  }
  return std::make_unique<Uring>(std::move(ring));
}

int64_t Uring::write(int file, const uint8_t* data, uint64_t bytes, uint64_t offset) {
  std::array<int64_t, kInFlight> results{};
  const uint64_t taken = std::min(bytes, kPieceBytes * kInFlight);
  const auto pieces = static_cast<size_t>((taken + kPieceBytes - 1) / kPieceBytes);
  const auto size_of = [&](size_t i) { return std::min(kPieceBytes, taken - i * kPieceBytes); };
  for (size_t i = 0; i < pieces; ++i) {
    io_uring_sqe* request = io_uring_get_sqe(&ring_->ring);
    io_uring_prep_write(request, file, data + i * kPieceBytes, static_cast<unsigned>(size_of(i)),
                        offset + i * kPieceBytes);
    request->user_data = i;
  }
  int submitted = 0;
  do {
    submitted = io_uring_submit_and_wait(&ring_->ring, static_cast<unsigned>(pieces));
  } while (submitted == -EINTR);
  if (submitted < 0) return submitted;
  // All of them are reaped, whatever fails: the kernel reads the memory until then.
  for (size_t i = 0; i < pieces; ++i) {
    io_uring_cqe* done = nullptr;
    int waited = 0;
    do {
      waited = io_uring_wait_cqe(&ring_->ring, &done);
    } while (waited == -EINTR);
    if (waited < 0) return waited;
    results[done->user_data] = done->res;
    io_uring_cqe_seen(&ring_->ring, done);
  }
  int64_t written = 0;
  for (size_t i = 0; i < pieces; ++i) {
    if (results[i] < 0) return written > 0 ? written : results[i];
    written += results[i];
    if (static_cast<uint64_t>(results[i]) < size_of(i)) break;
  }
  return written;
}

}  // namespace stoker
