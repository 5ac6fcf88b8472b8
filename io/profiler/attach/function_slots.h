#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/profiler/attach/elf_object.h"

namespace stoker {

// Names of functions, and the number of each.
using FunctionNames = std::unordered_map<std::string_view, uint32_t>;

// A place in an object where the loader writes a function's address.
struct FunctionSlot {
  uint64_t address;     // 8 writable bytes of the object, by its own addresses
  uint32_t function;    // its number
  bool may_be_unbound;  // until the first call, it may hold the address of code of the object
  // Where the object itself defines the function, by its own addresses; 0: it does not.
  uint64_t definition;
};

struct FunctionSlots {
  std::vector<FunctionSlot> slots;
  uint64_t relocations = 0;  // looked at
  uint64_t damaged = 0;      // relocations and tables that lead out of the object: left out
};

// Where the relocations of the object name one of the functions: JUMP_SLOT, GLOB_DAT, and addresses
// in data (64, ABS64). Pure; each name is looked at once, whatever the number of its relocations.
FunctionSlots find_function_slots(const ElfObject& object, const FunctionNames& names);

}  // namespace stoker
