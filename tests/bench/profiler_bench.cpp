#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/metrics/io_sessions.h"
#include "io/profiler/attach/attachment.h"
#include "io/profiler/io_profiler.h"
#include "tests/support/temporary_directory.h"

// What a call costs that the profiler sees, against the same call when it is detached, and when its
// slots are replaced but no session is open. The three are interleaved, round by round.
//
//   profiler_bench [ROUNDS] [CALLS]
//
// The file has 12 kB, below TMPDIR, and lies in the page cache.
//
// Prints nanoseconds a call of a thread, the least and the median of the rounds: of the clock, and
// of the processor, which another process on the machine spoils less, but where waiting is no time.

namespace stoker {
namespace {

enum State { detached, paused, counted, kStates };
constexpr std::array<const char*, kStates> kNames{"detached", "attached, off", "attached, counts"};

struct Case {
  const char* name;
  size_t threads;
  std::function<void(int fd, FILE* stream)> call;
};

using Profiler = std::optional<IoProfiler>;

void enter(State state, Profiler& profiler) {
  if (state == detached) {
    profiler.reset();
  } else if (state == paused) {
    profiler.emplace();
  } else {
    profiler->begin({});
  }
}

double now_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

constexpr std::array<clockid_t, 2> kClocks{CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID};
using Times = std::array<double, kClocks.size()>;

// Of the slowest thread.
Times once(const Case& what, const std::string& path, int64_t calls) {
  std::vector<Times> took(what.threads);
  std::vector<std::thread> threads;
  for (Times& mine : took) {
    threads.emplace_back([&what, &path, &mine, calls] {
      const int fd = open(path.c_str(), O_RDONLY);
      FILE* const stream = std::fopen(path.c_str(), "r");
      what.call(fd, stream);
      for (size_t i = 0; i < mine.size(); ++i) mine[i] = -now_ns(kClocks[i]);
      for (int64_t i = 0; i < calls; ++i) what.call(fd, stream);
      for (size_t i = 0; i < mine.size(); ++i) {
        mine[i] = (mine[i] + now_ns(kClocks[i])) / static_cast<double>(calls);
      }
      std::fclose(stream);
      close(fd);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Times slowest{};
  for (const Times& mine : took) {
    for (size_t i = 0; i < mine.size(); ++i) slowest[i] = std::max(slowest[i], mine[i]);
  }
  return slowest;
}

void measure(const Case& what, const std::string& path, int rounds, int64_t calls) {
  Profiler profiler;
  std::array<std::array<std::vector<double>, kStates>, kClocks.size()> all;
  for (int round = 0; round < rounds; ++round) {
    for (const State state : {detached, paused, counted}) {
      enter(state, profiler);
      const Times took = once(what, path, calls);
      for (size_t i = 0; i < took.size(); ++i) all[i][state].push_back(took[i]);
    }
  }
  profiler.reset();
  std::printf("%s, %zu thread%s\n", what.name, what.threads, what.threads == 1 ? "" : "s");
  for (size_t i = 0; i < all.size(); ++i) {
    std::array<double, 2> base{};
    for (const State state : {detached, paused, counted}) {
      std::vector<double>& times = all[i][state];
      std::sort(times.begin(), times.end());
      const std::array<double, 2> now{times.front(), times[times.size() / 2]};
      if (state == detached) base = now;
      std::printf("  %-5s %-16s  min %8.1f (%+7.1f)   median %8.1f (%+7.1f)\n",
                  i == 0 ? "clock" : "cpu", kNames[state], now[0], now[0] - base[0], now[1],
                  now[1] - base[1]);
    }
  }
}

// What reading one small file takes.
void read_file(const std::string& path) {
  std::array<char, 16384> data;
  const int fd = open(path.c_str(), O_RDONLY);
  const ssize_t bytes = pread(fd, data.data(), data.size(), 0);
  if (bytes < 0 || pread(fd, data.data(), data.size(), bytes) < 0) std::abort();
  close(fd);
}

int run(int count, char** words) {
  const TemporaryDirectory directory;
  directory.write("file", std::string(12000, 'x'));
  const std::string path = directory / "file";
  const int rounds = count > 1 ? std::atoi(words[1]) : 15;
  const int64_t calls = count > 2 ? std::atoll(words[2]) : 200000;
  const auto pread_byte = [](int fd, FILE*) {
    char byte;
    if (pread(fd, &byte, 1, 0) != 1) std::abort();
  };
  const auto seek = [](int fd, FILE*) { lseek(fd, 0, SEEK_SET); };
  const auto get = [](int, FILE* stream) {
    if (std::getc(stream) == EOF) std::rewind(stream);
  };
  const auto whole = [&path](int, FILE*) { read_file(path); };
  Profiler profiler(std::in_place);
  const AttachFigures figures = Attachment::instance().figures();
  std::printf("attached: %.2f ms, %lld objects, %lld relocations, %lld slots (%lld unbound)\n",
              static_cast<double>(figures.last_pass_ns) / 1e6,
              static_cast<long long>(figures.objects), static_cast<long long>(figures.relocations),
              static_cast<long long>(figures.slots), static_cast<long long>(figures.unbound));
  profiler.reset();
  measure({"pread of 1 byte", 1, pread_byte}, path, rounds, calls);
  measure({"pread of 1 byte", 2, pread_byte}, path, rounds, calls);
  measure({"lseek", 1, seek}, path, rounds, calls);
  measure({"getc", 1, get}, path, rounds, calls);
  measure({"open, 2 preads, close", 1, whole}, path, rounds, calls / 10);
  return 0;
}

}  // namespace
}  // namespace stoker

int main(int count, char** words) { return stoker::run(count, words); }
