#pragma once

#include <liburing.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace stoker {

// Follows the reads, writes, opens, closes and syncs of one ring of io_uring from its submission to
// its completion, and tells the recorder there. A completion is met when the program next calls
// liburing for this ring: its end is at most that late. One thread at a time.
//
// Files that the ring opens into its own table have no descriptor: they are told by numbers from
// kFirstOfRings on, which few processes' descriptors reach.
class UringWatch {
 public:
  static constexpr int kFirstOfRings = 1 << 17;

  // number: the ring's, from which its files get theirs.
  UringWatch(const io_uring& ring, uint32_t number);

  // Remembers what the ring is about to submit.
  void submits(const io_uring& ring);
  // Tells what has completed since the last call, also what the program has taken already.
  void completes(const io_uring& ring);

 private:
  struct Request {
    uint8_t operation;
    int fd;
    int64_t offset;
    const void* memory;
    bool data_only;    // a sync
    std::string path;  // of an open; fd is its directory
    // For an open: the place in the ring's own table, plus one. 0: it has no such place.
    uint32_t table_place;
    int64_t begin_ns;
  };

  std::optional<Request> request_of(const io_uring_sqe& entry) const;
  void tell(const Request& request, int32_t result) const;
  int table_file(uint32_t place) const;

  uint32_t number_;
  unsigned seen_;  // completions before this place
  std::unordered_multimap<uint64_t, Request> in_flight_;
};

}  // namespace stoker
