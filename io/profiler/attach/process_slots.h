#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "io/profiler/attach/attachment.h"
#include "io/profiler/attach/function_slots.h"
#include "io/profiler/attach/loaded_objects.h"
#include "io/profiler/attach/slot_writer.h"

namespace stoker {

// The slots of the process, and passes over them. Any thread: a pass runs under the loader's lock,
// and takes its own below that.
class ProcessSlots {
 public:
  // Puts the wrappers of these functions into all slots that should have them. library: as
  // Attachment::attach() has it.
  void put_in(std::span<const WrappedFunction> functions, const std::string& library);
  // Puts the originals back into all slots that hold a wrapper.
  void put_back();
  // As put_in(), once more, for the same functions: slots that were bound over, new objects.
  void look_again();
  // The same for objects that were loaded since the last pass. It is cheap if no objects were.
  void cover_new();
  AttachFigures figures() const;

 private:
  // An object's slots, so that its relocations are read once.
  struct Known {
    FunctionSlots found;
    std::vector<bool> replaced;  // slots that hold a wrapper, unless a first call bound them over
  };
  // Not only where it lies, for another one may lie there later: what its dynamic section holds.
  using Key = std::tuple<uint64_t, std::string, size_t>;
  struct Pass {
    std::vector<LoadedObject> objects;
    std::vector<void*> resolved;  // by function: what an unbound slot would be bound to
    std::map<Key, Known> known;
  };

  template <class Each>
  void pass(const Each& each);
  void replace(Pass& pass, const LoadedObject& object, Known& known, size_t index,
               SlotWriter& writer);
  void restore(const LoadedObject& object, Known& known, size_t index, SlotWriter& writer);
  static bool is_unbound(const LoadedObject& object, const FunctionSlot& slot, const void* value);
  void* resolve(Pass& pass, uint32_t function) const;
  // The instance that calls `original`. Null: no instance can be had, and the reason is counted.
  WrapperInstance* instance_for(const Pass& pass, const WrappedFunction& function, void* original);
  // What the wrapper of that original calls.
  void* callee_of(size_t function, void* original) const;
  Known& slots_of(Pass& pass, const LoadedObject& object);

  mutable std::mutex mutex_;
  std::vector<WrappedFunction> functions_;
  FunctionNames names_;
  std::vector<void*> of_library_;                 // by function; null: it has none
  std::set<std::string, std::less<>> preloaded_;  // and the library, which is left out like them
  std::map<Key, Known> known_;
  std::atomic<bool> attached_{false};
  std::atomic<uint64_t> loads_{0};  // at the last pass
  AttachFigures figures_;
};

}  // namespace stoker
