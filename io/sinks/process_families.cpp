#include "io/sinks/families.h"

namespace stoker {
namespace {

template <class T>
void add_if(Families& out, const std::optional<T>& value, const Families::Labels& labels = {}) {
  if (value) out.add(static_cast<double>(*value), labels);
}

void add_pressure(Families& out, const char* resource, const PressureSeconds& pressure) {
  add_if(out, pressure.some, {{"resource", resource}, {"kind", "some"}});
  add_if(out, pressure.full, {{"resource", resource}, {"kind", "full"}});
}

}  // namespace

void add_process(Families& out, const ProcessStats& process) {
  out.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.");
  add_if(out, process.cpu_seconds);
  out.gauge("process_resident_memory_bytes", "Resident memory size in bytes.");
  add_if(out, process.resident_bytes);
  out.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.");
  add_if(out, process.virtual_bytes);
  out.gauge("process_open_fds", "Number of open file descriptors.");
  add_if(out, process.open_fds);
  out.gauge("process_max_fds", "Maximum number of open file descriptors.");
  add_if(out, process.max_fds);
  out.gauge("process_threads", "Number of OS threads in the process.");
  add_if(out, process.threads);
  out.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.");
  add_if(out, process.start_time_s);
  const auto io = [&](const char* name, const char* help, uint64_t ProcessIo::*field) {
    out.counter(name, help);
    if (process.io) out.add(static_cast<double>(*process.io.*field));
  };
  io("process_read_chars_bytes_total",
     "Bytes that read calls returned (/proc/self/io rchar), from the page cache or not; not mmap.",
     &ProcessIo::rchar);
  io("process_read_storage_bytes_total",
     "Bytes that block devices delivered to this process (read_bytes).", &ProcessIo::read_bytes);
  io("process_written_chars_bytes_total", "Bytes given to write calls (wchar).", &ProcessIo::wchar);
  io("process_written_storage_bytes_total",
     "Bytes this process sent towards block devices (write_bytes).", &ProcessIo::write_bytes);
}

void add_system(Families& out, const SystemStats& system) {
  out.counter("system_cpu_seconds_total", "CPU time of the machine by mode, of all processes.");
  if (system.cpu) {
    for (size_t i = 0; i < kCpuModes.size(); ++i)
      out.add((*system.cpu)[i], {{"mode", kCpuModes[i]}});
  }
  out.counter("system_disk_bytes_total",
              "Traffic of the block devices below the run directory and the tiers.");
  for (const DiskStats& disk : system.disks) {
    out.add(static_cast<double>(disk.read_bytes), {{"device", disk.device}, {"direction", "read"}});
    out.add(static_cast<double>(disk.written_bytes),
            {{"device", disk.device}, {"direction", "written"}});
  }
  out.counter("system_disk_io_time_seconds_total", "Time with a request under way on them.");
  for (const DiskStats& disk : system.disks) out.add(disk.io_seconds, {{"device", disk.device}});
  out.counter("system_network_bytes_total", "Traffic by interface, without the loopback.");
  for (const NetworkBytes& net : system.networks) {
    out.add(static_cast<double>(net.received), {{"device", net.device}, {"direction", "received"}});
    out.add(static_cast<double>(net.sent), {{"device", net.device}, {"direction", "sent"}});
  }
  out.gauge("system_memory_bytes", "Memory of the machine (/proc/meminfo).");
  add_if(out, system.memory.available, {{"kind", "available"}});
  add_if(out, system.memory.cached, {{"kind", "cached"}});
  add_if(out, system.memory.dirty, {{"kind", "dirty"}});
  add_if(out, system.memory.writeback, {{"kind", "writeback"}});
  out.counter("system_pressure_seconds_total",
              "Time in which some or all tasks waited for a resource (/proc/pressure).");
  add_pressure(out, "cpu", system.cpu_pressure);
  add_pressure(out, "io", system.io_pressure);
  add_pressure(out, "memory", system.memory_pressure);
}

void add_overhead(Families& out, const Hub& hub) {
  const auto overhead = hub.overhead_s();
  out.counter("observability_overhead_seconds_total",
              "Thread time this process spent on measuring itself. spans (reads, decodes, ...) are "
              "counted and multiplied by what one cost at the start; step, sinks and scrape are "
              "timed.");
  for (size_t i = 0; i < kOverheads; ++i) {
    out.add(overhead[i], {{"part", to_string(static_cast<Overhead>(i))}});
  }
  out.counter("trace_events_total", "Events kept for trace sinks.")
      .add(static_cast<double>(hub.tracer().recorded()));
  out.counter("trace_dropped_events_total", "Events dropped as they came faster than they left.")
      .add(static_cast<double>(hub.tracer().dropped()));
}

}  // namespace stoker
