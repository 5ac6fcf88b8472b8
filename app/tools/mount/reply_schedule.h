#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "io/metrics/clock.h"
#include "io/storage/emulated/tier_model.h"

namespace stoker {

struct MountRequest;

// What a request through a file system in user space takes beside the device. A value.
struct OwnCost {
  Clock::duration before{};     // from the reader's call until the request is here
  Clock::duration after{};      // from the time to reply until the reader goes on
  double after_per_byte_s = 0;  // on top, of what is copied to the reader
  Clock::duration tail{};       // the part of `after` behind our last line; may be below 0

  Clock::duration after_bytes(uint64_t bytes) const {
    return after + from_seconds(after_per_byte_s * static_cast<double>(bytes));
  }
};

// When requests are to be answered, so that their readers go on when a device would have been done.
// Virtual time, as TierModel's: what a reader was answered too late, or too early, is taken off its
// next request, which begins no earlier than the device is through with the last. It waits for
// nothing and reads no clock; the models do. One thread at a time.
class ReplySchedule {
 public:
  // A request that is to be answered now. A value.
  struct Due {
    MountRequest* request = nullptr;
    pid_t reader = 0;
    TierModel* model = nullptr;
    TimePoint arrival;   // when the device got it
    TimePoint modelled;  // when the device is through with it
  };

  // For all requests that arrive from now on.
  void set_cost(const OwnCost& cost) { cost_ = cost; }

  // A request is here now. It is the caller's, and not looked at. reader: the thread that waits for
  // it; 0: unknown. The model must live until the request is due. IoError as the model's.
  void arrive(MountRequest* request, pid_t reader, TierModel& model, const TierOperation& operation,
              TimePoint now);
  // When something has to be done; empty: nothing waits.
  std::optional<TimePoint> next() const;
  // Takes out a request that is due now. Empty: no request is due yet; ask again at next(). Throws
  // the IoErrors of the models.
  std::optional<Due> pop(TimePoint now);
  // The answer will be on its way now: its reader may be back before answered() is called. overrun:
  // by how much the data are later than the device.
  void answering(const Due& due, Clock::duration overrun);
  // The answer was on its way at `sent`.
  void answered(const Due& due, TimePoint sent);

 private:
  struct Waiting {
    TimePoint at;     // when something has to be done
    uint64_t number;  // those of one time in their order
    Due due;
    TierPassage passage;
    Clock::duration after;
    bool operator>(const Waiting& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  // A thread that reads, and its last answer.
  struct Reader {
    bool answered = false;  // and no request has come since
    const MountRequest* to = nullptr;
    TimePoint through;                    // it goes on no earlier
    std::optional<Clock::duration> late;  // empty: not known yet
    Clock::duration too_much{};           // that was taken off; at most 0
  };
  void push(Waiting waiting);
  TimePoint arrival(pid_t reader, TimePoint now);

  OwnCost cost_;
  uint64_t arrived_ = 0;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  std::unordered_map<pid_t, Reader> readers_;
};

}  // namespace stoker
