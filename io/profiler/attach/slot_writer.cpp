#include "io/profiler/attach/slot_writer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "io/metrics/machine/process_stats.h"
#include "io/profiler/wrap/counting.h"
#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {

std::vector<MemoryRange> WritableMemory::others_in(MemoryRange range) {
  if (!writable_) {
    const OwnIo own;
    writable_.emplace();
    const std::string maps = proc::read("/proc/self/maps").value_or("");
    for (const std::string_view line : proc::split(maps, '\n')) {
      // 7f0123456000-7f0123457000 rw-p ...
      MemoryRange mapped;
      const char* const end = line.data() + line.size();
      const char* const dash = std::from_chars(line.data(), end, mapped.begin, 16).ptr;
      if (dash == end) continue;
      const char* const access = std::from_chars(dash + 1, end, mapped.end, 16).ptr;
      if (end - access > 2 && access[2] == 'w') writable_->push_back(mapped);
    }
  }
  std::vector<MemoryRange> others;
  uint64_t at = range.begin;
  for (const MemoryRange& mapped : *writable_) {
    if (mapped.end <= at || mapped.begin >= range.end) continue;
    if (mapped.begin > at) others.push_back({at, mapped.begin});
    at = mapped.end;
  }
  if (at < range.end) others.push_back({at, range.end});
  return others;
}

// As the loader rounds it: both ends down.
SlotWriter::SlotWriter(const LoadedObject& object, WritableMemory& memory) : memory_(memory) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto [address, bytes] = object.elf.relro();
  relro_ = {(object.base + address) / page * page, (object.base + address + bytes) / page * page};
}

SlotWriter::~SlotWriter() {
  if (opened_) make(PROT_READ);
}

bool SlotWriter::make(int protection) const {
  return std::ranges::all_of(*opened_, [&](const MemoryRange& pages) {
    return mprotect(at_address<void>(pages.begin), pages.end - pages.begin, protection) == 0;
  });
}

bool SlotWriter::write(uint64_t address, void* value) {
  if (read_only(address) && !opened_) {
    opened_ = memory_.others_in(relro_);
    if (!make(PROT_READ | PROT_WRITE)) {
      make(PROT_READ);
      opened_.reset();
      return false;
    }
  }
  __atomic_store_n(at_address<void*>(address), value, __ATOMIC_RELEASE);
  return true;
}

void* read_slot(uint64_t address) {
  return __atomic_load_n(at_address<void*>(address), __ATOMIC_ACQUIRE);
}

}  // namespace stoker
