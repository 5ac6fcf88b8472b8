#include "io/profiler/wrap/uring_watch.h"

#include <atomic>
#include <utility>

#include "io/profiler/wrap/counting.h"
#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {
namespace {

// The kernel and other threads write these.
unsigned shared_index(const unsigned* place) { return __atomic_load_n(place, __ATOMIC_ACQUIRE); }

bool is_watched(uint8_t operation) {
  switch (operation) {
    case IORING_OP_READ:
    case IORING_OP_READV:
    case IORING_OP_READ_FIXED:
    case IORING_OP_WRITE:
    case IORING_OP_WRITEV:
    case IORING_OP_WRITE_FIXED:
    case IORING_OP_FSYNC:
    case IORING_OP_OPENAT:
    case IORING_OP_CLOSE:
      return true;
    default:
      return false;
  }
}

bool has_pieces(uint8_t operation) {
  return operation == IORING_OP_READV || operation == IORING_OP_WRITEV;
}

}  // namespace

UringWatch::UringWatch(const io_uring& ring, uint32_t number)
    : number_(number), seen_(shared_index(ring.cq.khead)) {}

void UringWatch::submits(const io_uring& ring) {
  const unsigned shift = (ring.flags & IORING_SETUP_SQE128) != 0 ? 1 : 0;
  for (unsigned i = ring.sq.sqe_head; i != ring.sq.sqe_tail; ++i) {
    const io_uring_sqe& entry = ring.sq.sqes[(i & ring.sq.ring_mask) << shift];
    if (auto request = request_of(entry)) in_flight_.emplace(entry.user_data, *std::move(request));
  }
}

void UringWatch::completes(const io_uring& ring) {
  const unsigned entries = ring.cq.ring_entries;
  const unsigned shift = (ring.flags & IORING_SETUP_CQE32) != 0 ? 1 : 0;
  const unsigned tail = shared_index(ring.cq.ktail);
  if (tail - seen_ > entries) seen_ = tail - entries;  // the others were overwritten
  for (; seen_ != tail; ++seen_) {
    const io_uring_cqe& shared = ring.cq.cqes[(seen_ & ring.cq.ring_mask) << shift];
    const uint64_t user_data = __atomic_load_n(&shared.user_data, __ATOMIC_RELAXED);
    const int32_t result = __atomic_load_n(&shared.res, __ATOMIC_RELAXED);
    if (shared_index(ring.cq.ktail) - seen_ > entries) continue;  // meanwhile
    const auto found = in_flight_.find(user_data);
    if (found == in_flight_.end()) continue;
    if (result >= 0) tell(found->second, result);
    in_flight_.erase(found);
  }
}

int UringWatch::table_file(uint32_t place) const {
  constexpr uint32_t kRings = 1 << 4, kPlaces = 1 << 12;
  return kFirstOfRings + static_cast<int>(number_ % kRings * kPlaces + place % kPlaces);
}

std::optional<UringWatch::Request> UringWatch::request_of(const io_uring_sqe& entry) const {
  // Nobody knows when a request ends that completes in silence.
  if (!is_watched(entry.opcode) || (entry.flags & IOSQE_CQE_SKIP_SUCCESS) != 0) {
    return std::nullopt;
  }
  Request request{};
  request.operation = entry.opcode;
  request.fd = entry.fd;
  request.offset = static_cast<int64_t>(entry.off);
  request.begin_ns = call_clock_ns();
  if ((entry.flags & IOSQE_FIXED_FILE) != 0) {
    request.fd = table_file(static_cast<uint32_t>(entry.fd));
  }
  if (entry.opcode == IORING_OP_OPENAT) {
    request.path = at_address<const char>(entry.addr);
    request.table_place = entry.file_index;
  } else if (entry.opcode == IORING_OP_CLOSE) {
    if (entry.file_index != 0) request.fd = table_file(entry.file_index - 1);
  } else if (entry.opcode == IORING_OP_FSYNC) {
    request.data_only = (entry.fsync_flags & IORING_FSYNC_DATASYNC) != 0;
  } else if (!has_pieces(entry.opcode)) {
    request.memory = at_address<const void>(entry.addr);
  }
  return request;
}

void UringWatch::tell(const Request& request, int32_t result) const {
  const CallTime time{request.begin_ns, call_clock_ns()};
  switch (request.operation) {
    case IORING_OP_OPENAT: {
      // A place that the kernel chose is the result; else that is 0.
      const bool chosen = request.table_place == IORING_FILE_INDEX_ALLOC;
      const int fd = request.table_place == 0 ? result
                                              : table_file(chosen ? static_cast<uint32_t>(result)
                                                                  : request.table_place - 1);
      recorder().opened(fd, request.fd, request.path.c_str(), time);
      break;
    }
    case IORING_OP_CLOSE:
      recorder().closed(request.fd, time);
      break;
    case IORING_OP_FSYNC:
      recorder().synced(request.fd, request.data_only, time);
      break;
    case IORING_OP_WRITE:
    case IORING_OP_WRITEV:
    case IORING_OP_WRITE_FIXED:
      recorder().wrote(request.fd, result, request.offset, request.memory, time);
      break;
    default:
      recorder().read(request.fd, result, request.offset, request.memory, time);
  }
}

}  // namespace stoker
