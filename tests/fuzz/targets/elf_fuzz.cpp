#include "io/profiler/attach/function_slots.h"
#include "tests/fuzz/target.h"

// Each slot is writable memory of the object; there are no more of them than the file has room for.
STOKER_FUZZ_TARGET(elf) {
  using namespace stoker;
  const auto object =
      ElfObject::of_file({reinterpret_cast<const std::byte*>(input.data()), input.size()});
  if (!object) return;
  const FunctionNames names{{"read", 0}, {"pread64", 1}, {"close", 2}};
  const FunctionSlots found = find_function_slots(*object, names);
  fuzz::require(found.slots.size() <= found.relocations, "more slots than relocations");
  fuzz::require(found.relocations <= 2 * input.size() / sizeof(Elf64_Rela), "too many relocations");
  for (const FunctionSlot& slot : found.slots) {
    fuzz::require(slot.address % 8 == 0 && object->writable(slot.address) &&
                      object->writable(slot.address + 7),
                  "a slot outside of the object");
    fuzz::require(slot.function < names.size(), "a function that there is not");
  }
}
