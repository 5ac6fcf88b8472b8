#include <unistd.h>

#include <numeric>
#include <string_view>

#include "io/core/system/usable_cores.h"
#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

using enum FigureKind;
using R = const RunRecord&;

constexpr const char* kStat = "/proc/stat, which counts all processes.";
constexpr const char* kIo = "/proc/self/io.";
constexpr const char* kDisks =
    "/proc/diskstats for the block devices below the run directory and the tiers. It counts all "
    "processes.";

Value cpu_s(const Machine& machine, bool busy) {
  if (!machine.system.cpu) return std::nullopt;
  double sum = 0;
  for (size_t i = 0; i < kCpuModes.size(); ++i) {
    const std::string_view mode = kCpuModes[i];
    if (busy && (mode == "idle" || mode == "iowait" || mode == "steal")) continue;
    sum += (*machine.system.cpu)[i];
  }
  return sum;
}

Value io_bytes(const Machine& machine, uint64_t ProcessIo::*field) {
  if (!machine.process.io) return std::nullopt;
  return (*machine.process.io).*field;
}

Value disk_bytes(const Machine& machine, uint64_t DiskStats::*field) {
  if (machine.system.disks.empty()) return std::nullopt;
  double sum = 0;
  for (const DiskStats& disk : machine.system.disks) sum += static_cast<double>(disk.*field);
  return sum;
}

// What grew during the loop or window / its time, in the unit of `scale`.
template <class F>
Read rate(double scale, F counted) {
  return one([scale, counted](R record) -> Value {
    const Value from = counted(record.use.from), to = counted(record.use.to);
    if (!from || !to) return std::nullopt;
    return ratio(scale * std::max(0.0, *to - *from), record.use.seconds);
  });
}

Read rate(uint64_t ProcessIo::*field) {
  return rate(1e-6, [field](const Machine& machine) { return io_bytes(machine, field); });
}

Read rate(uint64_t DiskStats::*field) {
  return rate(1e-6, [field](const Machine& machine) { return disk_bytes(machine, field); });
}

Value busy_share(R record) {
  const auto grew = [&](bool busy) {
    return cpu_s(record.use.to, busy).value_or(0) - cpu_s(record.use.from, busy).value_or(0);
  };
  return ratio(grew(true), grew(false));
}

std::vector<Figure> rates() {
  return {
      {"process.cores", quotient, Unit::none, "How many cores this process kept busy on average.",
       "The CPU time of all its threads, from /proc/self.",
       rate(1, [](const Machine& machine) { return machine.process.cpu_seconds; })},
      {"process.waiting_threads", quotient, Unit::none,
       "How many threads of this process were ready to run and waited for a core, on average.",
       "/proc/self/task/*/schedstat; threads that have ended do not count.",
       rate(1, [](const Machine& machine) { return machine.process.cpu_wait_seconds; })},
      {"system.busy_cores", quotient, Unit::none,
       "How many cores all processes of the machine kept busy on average.", kStat,
       rate(1, [](const Machine& machine) { return cpu_s(machine, true); })},
      {"process.usable_cores", gauge, Unit::none, "How many cores this process may use at a time.",
       "Its affinity mask and the CPU quotas of its control groups.", one([](R) {
         const auto cores = static_cast<double>(usable_cores());
         return std::min(cores, cpu_quota().value_or(cores));
       })},
      {"system.cores", gauge, Unit::none, "How many cores the machine has.",
       "sysconf(_SC_NPROCESSORS_ONLN).", one([](R) { return ::sysconf(_SC_NPROCESSORS_ONLN); })},
      {"system.busy_share", quotient, Unit::share,
       "The share of the machine's CPU time that was used: all modes but idle, iowait and steal.",
       kStat, one(busy_share)},
      {"process.storage_read_mb_per_s", quotient, Unit::mb_per_s,
       "Bytes that block devices delivered to this process.", kIo, rate(&ProcessIo::read_bytes)},
      {"process.storage_written_mb_per_s", quotient, Unit::mb_per_s,
       "Bytes that this process sent towards block devices.", kIo, rate(&ProcessIo::write_bytes)},
      {"system.disk_read_mb_per_s", quotient, Unit::mb_per_s,
       "Bytes that were read from block devices.", kDisks, rate(&DiskStats::read_bytes)},
      {"system.disk_written_mb_per_s", quotient, Unit::mb_per_s,
       "Bytes that were written to block devices.", kDisks, rate(&DiskStats::written_bytes)},
      {"overhead_s.{part}", counter, Unit::seconds,
       "Thread time that this process spent on measuring itself.",
       "Spans (reads, decodes, ...) are counted and multiplied by the time that one took at the "
       "start. step, sinks and scrape are timed.",
       each<Overhead>(to_string, [](R r) { return r.overhead_s; })},
      {"overhead_share", quotient, Unit::share,
       "The share of the run that measuring took: sum of overhead_s / wall_s.",
       "Computed from the two figures.", one([](R r) {
         return ratio(std::accumulate(r.overhead_s.begin(), r.overhead_s.end(), 0.0),
                      r.run.totals.wall_s);
       })},
      {"trace.events", counter, Unit::none, "Events that were kept for trace sinks.",
       "Counted by the tracer.", one([](R r) { return r.trace_events; })},
      {"trace.dropped", counter, Unit::none,
       "Events that were dropped because they came faster than they could be written.",
       "Counted by the tracer.", one([](R r) { return r.trace_dropped; })},
  };
}

Read of_process(auto member) {
  return one([member](R record) { return Value(record.machine.process.*member); });
}

Read of_io(uint64_t ProcessIo::*field) {
  return one([field](R record) { return io_bytes(record.machine, field); });
}

std::vector<Figure> process() {
  using Stats = ProcessStats;
  return {
      {"process.cpu_s", counter, Unit::seconds, "User and system CPU time.", "/proc/self.",
       of_process(&Stats::cpu_seconds)},
      {"process.resident_memory_bytes", gauge, Unit::bytes, "Resident memory.", "/proc/self/stat.",
       of_process(&Stats::resident_bytes)},
      {"process.virtual_memory_bytes", gauge, Unit::bytes, "Virtual memory.", "/proc/self/stat.",
       of_process(&Stats::virtual_bytes)},
      {"process.open_fds", gauge, Unit::none, "Open file descriptors.", "/proc/self/fd.",
       of_process(&Stats::open_fds)},
      {"process.max_fds", gauge, Unit::none, "The most file descriptors that may be open.",
       "getrlimit().", of_process(&Stats::max_fds)},
      {"process.threads", gauge, Unit::none, "Threads of this process.", "/proc/self/stat.",
       of_process(&Stats::threads)},
      {"process.start_time_s", gauge, Unit::seconds, "Unix time at which the process began.",
       "/proc/self/stat.", of_process(&Stats::start_time_s)},
      {"process.read_call_bytes", counter, Unit::bytes,
       "Bytes that read calls returned, from the page cache or not. Mapped files do not count.",
       kIo, of_io(&ProcessIo::rchar)},
      {"process.write_call_bytes", counter, Unit::bytes, "Bytes that write calls were given.", kIo,
       of_io(&ProcessIo::wchar)},
      {"process.storage_read_bytes", counter, Unit::bytes,
       "Bytes that block devices delivered to this process.", kIo, of_io(&ProcessIo::read_bytes)},
      {"process.storage_written_bytes", counter, Unit::bytes,
       "Bytes that this process sent towards block devices.", kIo, of_io(&ProcessIo::write_bytes)},
  };
}

// Values of each disk, or each network. add_values: adds those of one.
template <class T, class F>
Read by_device(std::vector<T> SystemStats::*devices, F add_values) {
  return several([=](R record, const auto& add) {
    for (const T& device : record.machine.system.*devices) add_values(device, add);
  });
}

std::vector<Figure> machine() {
  return {
      {"system.cpu_s.{mode}", counter, Unit::seconds, "CPU time of the machine by mode.", kStat,
       several([](R r, const auto& add) {
         for (size_t i = 0; r.machine.system.cpu && i < kCpuModes.size(); ++i) {
           add({kCpuModes[i]}, (*r.machine.system.cpu)[i]);
         }
       })},
      {"system.disk_bytes.{device}.{direction}", counter, Unit::bytes,
       "Bytes that block devices moved.", kDisks,
       by_device(&SystemStats::disks,
                 [](const DiskStats& disk, const auto& add) {
                   add({disk.device, "read"}, disk.read_bytes);
                   add({disk.device, "written"}, disk.written_bytes);
                 })},
      {"system.disk_io_time_s.{device}", counter, Unit::seconds,
       "Time during which a request was under way on the block device.", kDisks,
       by_device(
           &SystemStats::disks,
           [](const DiskStats& disk, const auto& add) { add({disk.device}, disk.io_seconds); })},
      {"system.network_bytes.{device}.{direction}", counter, Unit::bytes,
       "Bytes that each interface moved; the loopback is left out.",
       "/proc/net/dev, which counts all processes.",
       by_device(&SystemStats::networks,
                 [](const NetworkBytes& network, const auto& add) {
                   add({network.device, "received"}, network.received);
                   add({network.device, "sent"}, network.sent);
                 })},
      {"system.memory_bytes.{kind}", gauge, Unit::bytes, "Memory of the machine.", "/proc/meminfo.",
       several([](R r, const auto& add) {
         const MemoryBytes& memory = r.machine.system.memory;
         add({"available"}, memory.available);
         add({"cached"}, memory.cached);
         add({"dirty"}, memory.dirty);
         add({"writeback"}, memory.writeback);
       })},
      {"system.pressure_s.{resource}.{kind}", counter, Unit::seconds,
       "Time in which some (some) or all (full) tasks waited for a resource.", "/proc/pressure.",
       several([](R r, const auto& add) {
         for (size_t i = 0; i < kPressures.size(); ++i) {
           add({kPressures[i], "some"}, r.machine.system.pressures[i].some);
           add({kPressures[i], "full"}, r.machine.system.pressures[i].full);
         }
       })},
  };
}

}  // namespace

std::vector<Figure> machine_figures() {
  std::vector<Figure> scraped = joined({process(), machine()});
  for (Figure& figure : scraped) figure.in_summary = false;
  return joined({rates(), scraped});
}

}  // namespace stoker
