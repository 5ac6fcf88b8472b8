#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "io/core/config/config.h"
#include "io/metrics/clock.h"
#include "io/storage/emulated/tier_state.h"

namespace stoker {

// What the operations of one device cost. A value. Rates are in bytes/s of all threads and
// processes together; they and the queue depth must be above 0. Latencies and the seek may be 0.
struct TierCosts {
  double read_bytes_per_s = 0;
  double write_bytes_per_s = 0;
  Clock::duration read_latency{};  // means
  Clock::duration write_latency{};
  Clock::duration metadata_latency{};  // of everything that moves no bytes
  Clock::duration seek{};              // on top, where a read or write goes on nowhere
  double queue_depth = 1;              // latencies that may pass at the same time
  double latency_sigma = 0;            // of a latency's logarithm; 0: it is constant
  double stream_bytes_per_s = 0;       // the most that one operation gets; 0: all there is
  double slow_fraction = 0;            // of reads that take slow_factor times as long
  double slow_factor = 1;
  uint64_t seed = 0;  // of the latencies that are drawn, and of which reads are slow
};

// One operation on a tier, as far as its time goes. A value. For metadata only its kind counts.
struct TierOperation {
  enum class Kind { read, write, metadata };
  Kind kind;
  uint64_t bytes = 0;
  uint64_t object = 0;  // tier_object() of the object that is read or written
  uint64_t offset = 0;  // where in it
};

// A hash of an object's path: the same in every process. Two paths with one hash would at worst be
// spared a seek. Pure; any thread.
uint64_t tier_object(std::string_view path);

// A storage device in virtual time: it says when operations end, and waits for nothing. Two servers
// one after the other, each of them one number, so that it needs no memory of single operations:
//
//   slots  in which latencies and seeks pass, up to queue_depth at the same time;
//   pipe   through which the bytes of all go one after the other. A seek keeps it empty for
//          seek / queue_depth: there is one arm, and the queue is sorted for it.
//
// A read of slow_fraction takes from the two what any other does, and then waits on: what is slow
// is that one answer, and not the device.
//
// n threads that do nothing else therefore get
// min(n / (L + t), queue_depth / L, 1 / (seek / queue_depth + t)) operations/s,
// L being the mean latency with the seek and t = bytes / bandwidth. Drawn latencies cost some of it
// where two of the three are close. Any thread; any process that shares the state.
class TierDevice {
 public:
  // Begins with what the state says; several devices on one state are one device to their callers,
  // and should have the same costs.
  TierDevice(TierCosts costs, std::shared_ptr<TierShare> share);

  // When an operation that arrives then has got through its latency, and for how long that kept
  // the pipe empty. late: how long ago it arrived, as its thread may have been late to ask; others
  // who asked meanwhile are not before it.
  // arm: to be passed on to the first piece of the transfer.
  struct Admission {
    TimePoint ready;
    Clock::duration arm;
    int64_t processes = 1;  // that have a share in the device
  };
  Admission admit(TimePoint arrival, const TierOperation& operation, Clock::duration late = {});

  // The next piece of a transfer: how many of its bytes, and when they have got through. To be
  // asked for the next one not before that time, so that others get between.
  struct Transfer {
    TimePoint ready;  // when it may begin
    TierOperation::Kind kind;
    uint64_t bytes;
    Clock::duration arm{};   // of its admission, for the first piece
    Clock::duration late{};  // as above
  };
  // A piece of a transfer: its bytes, and when the last of them is through.
  struct Piece {
    uint64_t bytes;
    TimePoint end;
  };
  Piece transfer(const Transfer& transfer);

 private:
  const TierCosts costs_;
  const double longest_;  // mean latency of any operation, ns
  const std::shared_ptr<TierShare> share_;
};

// The devices of a tier, and how objects lie on them: on Lustre, object storage targets and the
// striping of files. A value.
struct TierLayout {
  int64_t stripes = 1;
  int64_t stripe_count = 1;
  ByteSize stripe_bytes{1 << 20};

  template <class V>
  void visit(V& v) {
    v("stripes", stripes,
      "Number of devices, each with these figures. Objects are dealt out to them by their names.",
      Limits{1, 100000});
    v("stripe_count", stripe_count, "Number of devices over which one object is spread.",
      Limits{1, 100000});
    v("stripe_bytes", stripe_bytes,
      "How many bytes of an object lie on one device before the next one follows.");
  }
  void check(const Section& section) const;
};

// What an operation is to the single devices of a tier: as many parts of it at once as it has
// stripes, and as the object has devices. A value; refers to nothing.
class TierParts {
 public:
  TierParts(const TierLayout& layout, const TierOperation& operation);

  // At least 1.
  uint64_t size() const { return count_; }
  // The number of the part's device, from 0 to layout.stripes - 1.
  size_t device(uint64_t part) const;
  TierOperation operator[](uint64_t part) const;

 private:
  const TierOperation operation_;
  const uint64_t devices_;
  const uint64_t width_;  // devices of the object
  uint64_t count_;
  uint64_t first_;  // of its devices
  uint64_t at_;     // the first that the operation is on, behind that
};

}  // namespace stoker
