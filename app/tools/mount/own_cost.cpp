#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "app/tools/mount/mount_server.h"
#include "app/tools/mount/mount_threads.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/system/memory.h"

namespace stoker {
namespace {

constexpr uint64_t kSmallBytes = 4096;
constexpr uint64_t kLargeBytes = 1 << 20;

Clock::duration quantile(std::vector<Clock::duration> values, double share) {
  const auto at =
      values.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(values.size()));
  std::ranges::nth_element(values, at);
  return *at;
}

// What exceeds this is not our cost. Subtracting it would make the device faster than it is.
OwnCost plausible(const OwnCost& cost) {
  using std::chrono::microseconds;
  constexpr double kMostPerByte = 400e-6 / (1 << 20);
  return {std::clamp<Clock::duration>(cost.before, microseconds(0), microseconds(50)),
          std::clamp<Clock::duration>(cost.after, microseconds(0), microseconds(100)),
          std::clamp(cost.after_per_byte_s, 0.0, kMostPerByte),
          std::clamp<Clock::duration>(cost.tail, microseconds(-50), microseconds(50))};
}

// Durations of some reads, without what set_cost() subtracts.
struct Samples {
  std::vector<Clock::duration> before, after, tail;

  // If the cost is too large, ReplySchedule notices it. Without real-time priority our threads wait
  // for processors like all others, so most of the times are those of other work.
  OwnCost cost(bool realtime) const {
    const double share = realtime ? 0.5 : 0.1;
    return {quantile(before, share), quantile(after, share), 0, quantile(tail, share)};
  }
};

void measure(MountServer& server, const FileDescriptor& file, const std::string& path,
             uint64_t bytes, int reads, Samples& to) {
  // At the begin of a page: else the last page of 1 MiB is a request of its own.
  const HostMemory data = allocate_huge(bytes, true);
  for (int i = 0; i < reads; ++i) {
    const TimePoint begin = Clock::now();
    const ssize_t got =
        uninterrupted([&] { return ::pread(file.get(), data.data.get(), bytes, 0); });
    const TimePoint end = Clock::now();
    if (got != static_cast<ssize_t>(bytes)) throw_errno("read", path, got < 0 ? errno : EIO);
    const MountServer::ProbeTimes times = server.probe_times();
    to.before.push_back(times.received - begin);
    to.after.push_back(end - times.modelled);
    to.tail.push_back(end - times.sent);
  }
}

}  // namespace

OwnCost measure_own_cost(MountServer& server) {
  const RealtimePriorityScope realtime;  // the other work of a busy machine is no cost of ours
  const std::string path = server.begin_probe();
  Samples small, large;
  {
    const FileDescriptor file = open_file("read", path, O_RDONLY);
    Samples none;
    measure(server, file, path, kLargeBytes, 5, none);  // memory is touched for the first time
    // Both kinds in turn, because something else may disturb some of them.
    for (int i = 0; i < 3; ++i) {
      measure(server, file, path, kSmallBytes, 25, small);
      measure(server, file, path, kLargeBytes, 11, large);
    }
  }
  server.end_probe();
  OwnCost cost = small.cost(server.realtime());
  cost.after_per_byte_s = seconds(large.cost(server.realtime()).after - cost.after) /
                          static_cast<double>(kLargeBytes - kSmallBytes);
  return plausible(cost);
}

}  // namespace stoker
