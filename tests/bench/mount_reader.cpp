// mount_reader FILE pread|map|map_random BYTES THREADS SECONDS: random reads of a file by threads,
// each at a multiple of BYTES (of a page where it is mapped). Prints reads, their seconds, and the
// median of one in us. map_random: with MADV_RANDOM. Each round reads other places; pages are
// touched once.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// One thread's times, in seconds.
void read(int file, const std::string& mode, size_t bytes, size_t places, uint64_t seed,
          double limit, std::vector<double>& times) {
  void* const buffer = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  std::memset(buffer, 0, bytes);
  const char* mapped = nullptr;
  if (mode != "pread") {
    void* const begin = ::mmap(nullptr, bytes * places, PROT_READ, MAP_SHARED, file, 0);
    if (begin == MAP_FAILED) std::exit(1);
    if (mode == "map_random") ::madvise(begin, bytes * places, MADV_RANDOM);
    mapped = static_cast<const char*>(begin);
  }
  const Clock::time_point begin = Clock::now();
  // An odd step through a power of two visits each place once.
  for (uint64_t i = 0, at = seed; i < places && since(begin) < limit; ++i, at += 40503) {
    const size_t offset = at % places * bytes;
    const Clock::time_point one = Clock::now();
    if (mapped != nullptr) {
      static_cast<void>(*static_cast<const volatile char*>(mapped + offset));
    } else if (::pread(file, buffer, bytes, static_cast<off_t>(offset)) !=
               static_cast<ssize_t>(bytes)) {
      std::exit(1);
    }
    times.push_back(since(one));
  }
  std::free(buffer);
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 2;
  // So that other work of the machine is not measured.
  sched_param priority{};
  priority.sched_priority = 1;
  ::sched_setscheduler(0, SCHED_RR, &priority);
  const int file = ::open(words[1], O_RDONLY);
  const size_t bytes = std::stoul(words[3]), threads = std::stoul(words[4]);
  const size_t places = static_cast<size_t>(::lseek(file, 0, SEEK_END)) / bytes;
  const auto seed = static_cast<uint64_t>(Clock::now().time_since_epoch().count());
  std::vector<std::vector<double>> times(threads);
  const Clock::time_point begin = Clock::now();
  {
    std::vector<std::jthread> running;
    for (size_t i = 0; i < threads; ++i) {
      running.emplace_back([&, i] {
        read(file, words[2], bytes, places, seed + i * places / threads, std::stod(words[5]),
             times[i]);
      });
    }
  }
  const double took = since(begin);
  std::vector<double> all;
  for (const std::vector<double>& one : times) all.insert(all.end(), one.begin(), one.end());
  std::ranges::sort(all);
  std::printf("{\"reads\": %zu, \"seconds\": %.6f, \"median_us\": %.2f}\n", all.size(), took,
              all.empty() ? 0 : 1e6 * all[all.size() / 2]);
}
