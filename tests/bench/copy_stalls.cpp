#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "io/core/error.h"
#include "io/core/system/memory.h"
#include "io/core/threads.h"
#include "io/metrics/clock.h"

// Does this machine stand still where memory is copied, without a checkpointer? Copies as much as a
// save of AlexNet with Adam, by two threads, again and again; in between it writes the copy as
// saves are written, or only waits. Prints the times, and of each slow round what the kernel knows
// of it: a round that took processor time, but neither faults nor switches, was slow below it.
//
// bin/copy_stalls DIRECTORY [ROUNDS [write|wait]]

namespace stoker {
namespace {

constexpr size_t kBytes = size_t{328} << 21;
constexpr size_t kPiece = size_t{8} << 20;
constexpr double kSlow = 2;  // times the median

struct Round {
  double wall_s = 0, cpu_s = 0;
  int64_t faults = 0, switches = 0;
};

double in_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// By two threads.
template <class Work>
void by_halves(const Work& work) {
  parallel_for(2, 2, [&](int64_t half) { work(static_cast<size_t>(half) * (kBytes / 2)); });
}

Round copy(const HostMemory& from, const HostMemory& to) {
  rusage before{}, after{};
  const TimePoint begin = Clock::now();
  ::getrusage(RUSAGE_SELF, &before);
  by_halves([&](size_t at) { std::memcpy(to.data.get() + at, from.data.get() + at, kBytes / 2); });
  ::getrusage(RUSAGE_SELF, &after);
  return {seconds(Clock::now() - begin),
          in_seconds(after.ru_utime) + in_seconds(after.ru_stime) - in_seconds(before.ru_utime) -
              in_seconds(before.ru_stime),
          after.ru_minflt - before.ru_minflt, after.ru_nivcsw - before.ru_nivcsw};
}

void write_file(const std::string& path, const HostMemory& from) {
  const int fd = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_DIRECT | O_CLOEXEC, 0600);
  if (fd < 0) throw_errno("open", path, errno);
  by_halves([&](size_t begin) {
    for (size_t at = begin; at < begin + kBytes / 2; at += kPiece) {
      const size_t size = std::min(kPiece, begin + kBytes / 2 - at);
      const ssize_t written = ::pwrite(fd, from.data.get() + at, size, static_cast<off_t>(at));
      if (written != static_cast<ssize_t>(size)) throw_errno("write", path, errno);
    }
  });
  ::fsync(fd);
  ::close(fd);
}

void run(const std::string& directory, int rounds, bool writes) {
  const HostMemory from = allocate_huge(kBytes, true), to = allocate_huge(kBytes, true);
  std::memset(from.data.get(), 1, kBytes);
  const auto path = [&](int round) { return fmt::format("{}/stalls-{}", directory, round % 2); };
  std::vector<Round> done;
  for (int round = 0; round < rounds; ++round) {
    done.push_back(copy(from, to));
    if (writes) write_file(path(round), to);
    ::unlink(path(round + 1).c_str());
    ::usleep(writes ? 20'000 : 300'000);
  }
  ::unlink(path(rounds - 1).c_str());
  std::vector<double> times;
  for (const Round& round : done) times.push_back(1e3 * round.wall_s);
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  for (const Round& round : done) {
    if (1e3 * round.wall_s < kSlow * median) continue;
    fmt::print("slow: {:.0f} ms, {:.0f} ms of the processors, {} faults, {} switches\n",
               1e3 * round.wall_s, 1e3 * round.cpu_s, round.faults, round.switches);
  }
  fmt::print("{} copies of {} MB, {}: min {:.1f} ms, median {:.1f}, p99 {:.1f}, max {:.1f}\n",
             rounds, kBytes / 1'000'000, writes ? "each written then" : "nothing written",
             times.front(), median, times[times.size() * 99 / 100], times.back());
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: copy_stalls DIRECTORY [ROUNDS [write|wait]]\n");
    return 2;
  }
  stoker::run(argv[1], argc > 2 ? std::stoi(argv[2]) : 150,
              argc < 4 || std::string(argv[3]) != "wait");
}
