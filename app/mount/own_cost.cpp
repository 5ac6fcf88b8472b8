#include "app/mount/own_cost.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "app/mount/prompt_thread.h"
#include "io/core/error.h"
#include "io/core/file.h"
#include "io/core/memory.h"

namespace stoker {
namespace {

constexpr uint64_t kSmallBytes = 4096;
constexpr uint64_t kLargeBytes = 1 << 20;
constexpr int kBlocks = 3;

Clock::duration median(std::vector<Clock::duration> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Medians of so many reads; `after` without what set_cost() takes off.
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
  return {median(before), median(after), 0, median(tail)};
}

// The better one of two blocks: something else may have disturbed a whole one.
OwnCost lower(int block, const OwnCost& a, const OwnCost& b) {
  if (block == 0) return b;
  return {std::min(a.before, b.before), std::min(a.after, b.after), 0, std::min(a.tail, b.tail)};
}

}  // namespace

OwnCost measure_own_cost(MountServer& server) {
  const FirstScope first;  // the other work of a busy machine is no cost of ours
  const std::string path = server.begin_probe();
  OwnCost cost;
  {
    const FileDescriptor file = open_file("read", path, O_RDONLY);
    measure(server, file, path, kLargeBytes, 5);  // memory is touched for the first time
    OwnCost large;
    for (int block = 0; block < kBlocks; ++block) {
      cost = lower(block, cost, measure(server, file, path, kSmallBytes, 25));
      large = lower(block, large, measure(server, file, path, kLargeBytes, 11));
    }
    cost.after_per_byte_s = std::max(
        0.0, seconds(large.after - cost.after) / static_cast<double>(kLargeBytes - kSmallBytes));
  }
  server.end_probe();
  return cost;
}

}  // namespace stoker
