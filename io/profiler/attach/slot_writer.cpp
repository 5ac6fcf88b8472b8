#include "io/profiler/attach/slot_writer.h"

#include <sys/mman.h>
#include <unistd.h>

#include "io/profiler/attach/address.h"

namespace stoker {

// As the loader rounds it: both ends down.
SlotWriter::SlotWriter(const LoadedObject& object) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto [address, bytes] = object.elf.relro();
  begin_ = (object.base + address) / page * page;
  end_ = (object.base + address + bytes) / page * page;
}

SlotWriter::~SlotWriter() {
  if (opened_) make(PROT_READ);
}

bool SlotWriter::make(int protection) const {
  return mprotect(at_address<void>(begin_), end_ - begin_, protection) == 0;
}

bool SlotWriter::write(uint64_t address, void* value) {
  if (read_only(address) && !opened_) {
    opened_ = make(PROT_READ | PROT_WRITE);
    if (!opened_) return false;
  }
  __atomic_store_n(at_address<void*>(address), value, __ATOMIC_RELEASE);
  return true;
}

void* read_slot(uint64_t address) {
  return __atomic_load_n(at_address<void*>(address), __ATOMIC_ACQUIRE);
}

}  // namespace stoker
