#include "app/base/process_use.h"

#include <dlfcn.h>
#include <sys/resource.h>

#include <ctime>
#include <filesystem>

#include "io/metrics/machine/process_stats.h"

namespace stoker {
namespace {

std::optional<uint64_t> kilobytes(const std::string& file, const char* field) {
  const auto text = proc::read(file);
  const auto value = text ? proc::number_of(*text, field) : std::nullopt;
  return value ? std::optional(*value * 1024) : std::nullopt;
}

std::optional<CallCounts> call_counts() {
  void* const found = ::dlsym(RTLD_DEFAULT, "stoker_counted_calls");
  if (found == nullptr) return std::nullopt;
  CallCounts counts{};
  reinterpret_cast<decltype(&stoker_counted_calls)>(found)(&counts);
  return counts;
}

}  // namespace

ProcessUse process_use() {
  ProcessUse use;
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  use.cpu_s = static_cast<double>(cpu.tv_sec) + 1e-9 * static_cast<double>(cpu.tv_nsec);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  use.voluntary_switches = usage.ru_nvcsw;
  use.involuntary_switches = usage.ru_nivcsw;
  if (const auto text = proc::read("/proc/self/io")) {
    if (const auto io = parse_process_io(*text)) use.read_bytes = io->rchar;
  }
  use.calls = call_counts();
  return use;
}

ProcessMemory process_memory() {
  return {kilobytes("/proc/self/status", "VmHWM:\t"), kilobytes("/proc/self/smaps_rollup", "Pss:")};
}

std::optional<std::string> call_counter() {
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&call_counter), &own) == 0) return std::nullopt;
  std::error_code error;
  const auto library = std::filesystem::canonical(own.dli_fname, error).parent_path();
  const std::string path = library / "stoker" / "counted_calls.so";
  if (error || !std::filesystem::exists(path)) return std::nullopt;
  return path;
}

}  // namespace stoker
