#include "app/mount/own_cost.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "app/mount/prompt_thread.h"
#include "io/core/error.h"
#include "io/core/file.h"
#include "io/core/memory.h"

namespace stoker {
namespace {

constexpr uint64_t kSmallBytes = 4096;
constexpr uint64_t kLargeBytes = 1 << 20;

// Where our threads wait for processors like all others, most times are those of other work.
double quantile_of(const MountServer& server) { return server.prompt() ? 0.5 : 0.1; }

Clock::duration quantile(std::vector<Clock::duration> values, double share) {
  const auto at =
      values.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(values.size()));
  std::ranges::nth_element(values, at);
  return *at;
}

// More than this is not ours: taken off, it would make the device quicker than it is.
OwnCost plausible(const OwnCost& cost) {
  using std::chrono::microseconds;
  constexpr double kMostPerByte = 400e-6 / (1 << 20);
  return {std::clamp<Clock::duration>(cost.before, microseconds(0), microseconds(50)),
          std::clamp<Clock::duration>(cost.after, microseconds(0), microseconds(100)),
          std::clamp(cost.after_per_byte_s, 0.0, kMostPerByte),
          std::clamp<Clock::duration>(cost.tail, microseconds(-50), microseconds(50))};
}

// Of so many reads; `after` without what set_cost() takes off.
OwnCost measure(MountServer& server, const FileDescriptor& file, const std::string& path,
                uint64_t bytes, int reads) {
  std::vector<Clock::duration> before, after, tail;
  // At the begin of a page: else the last page of 1 MiB is a request of its own.
  const HostMemory data = allocate_huge(bytes, true);
  for (int i = 0; i < reads; ++i) {
    const TimePoint begin = Clock::now();
    const ssize_t got =
        uninterrupted([&] { return ::pread(file.get(), data.data.get(), bytes, 0); });
    const TimePoint end = Clock::now();
    if (got != static_cast<ssize_t>(bytes)) throw_errno("read", path, got < 0 ? errno : EIO);
    const MountServer::ProbeTimes times = server.probe_times();
    before.push_back(times.received - begin);
    after.push_back(end - times.modelled);
    tail.push_back(end - times.sent);
  }
  const double share = quantile_of(server);
  return {quantile(before, share), quantile(after, share), 0, quantile(tail, share)};
}

// The middle one of three blocks in each figure: something else may have disturbed a whole one.
OwnCost middle(const std::array<OwnCost, 3>& blocks) {
  const auto of = [&](Clock::duration OwnCost::*figure) {
    const auto [a, b, c] = std::tuple(blocks[0].*figure, blocks[1].*figure, blocks[2].*figure);
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
  };
  return {of(&OwnCost::before), of(&OwnCost::after), 0, of(&OwnCost::tail)};
}

}  // namespace

OwnCost measure_own_cost(MountServer& server) {
  const FirstScope first;  // the other work of a busy machine is no cost of ours
  const std::string path = server.begin_probe();
  OwnCost cost;
  {
    const FileDescriptor file = open_file("read", path, O_RDONLY);
    measure(server, file, path, kLargeBytes, 5);  // memory is touched for the first time
    std::array<OwnCost, 3> small, large;
    for (size_t block = 0; block < small.size(); ++block) {
      small[block] = measure(server, file, path, kSmallBytes, 25);
      large[block] = measure(server, file, path, kLargeBytes, 11);
    }
    cost = middle(small);
    cost.after_per_byte_s =
        seconds(middle(large).after - cost.after) / static_cast<double>(kLargeBytes - kSmallBytes);
  }
  server.end_probe();
  return plausible(cost);
}

}  // namespace stoker
