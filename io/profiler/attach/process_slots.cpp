#include "io/profiler/attach/process_slots.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "io/core/error.h"
#include "io/profiler/attach/loaded_objects.h"

namespace stoker {
namespace {

// This thread is in a pass: what it asks dlsym starts no other one.
[[gnu::tls_model("initial-exec")]] thread_local bool in_a_pass = false;

class InAPass {
 public:
  InAPass() { in_a_pass = true; }
  ~InAPass() { in_a_pass = false; }
  InAPass(const InAPass&) = delete;
  InAPass& operator=(const InAPass&) = delete;
};

int64_t pass_clock_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

size_t digest(const std::vector<Elf64_Dyn>& entries) {
  return std::hash<std::string_view>()(
      {reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(Elf64_Dyn)});
}

WrapperInstance* instance_that_is(const WrappedFunction& function, const void* wrapper) {
  for (WrapperInstance& instance : function.instances) {
    if (instance.wrapper == wrapper) return &instance;
  }
  return nullptr;
}

// clang links its sanitizers into the program.
bool is_interceptor(const WrappedFunction& function, const void* original) {
  const std::string name = std::string("__interceptor_") + function.name;
  return dlsym(RTLD_DEFAULT, name.c_str()) == original;
}

// What libc keeps for old programs alone (__xstat) has no default version.
void* address_of_name(const char* name) {
  void* address = dlsym(RTLD_DEFAULT, name);
  for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.4", "GLIBC_2.17"}) {
    if (address == nullptr) address = dlvsym(RTLD_DEFAULT, name, version);
  }
  return address;
}

// The library's functions of those names, by their number; its file's name is put to the others'.
std::vector<void*> functions_of(const std::string& library,
                                std::span<const WrappedFunction> functions,
                                std::set<std::string, std::less<>>& names) {
  std::vector<void*> found(functions.size());
  if (library.empty()) return found;
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    throw Error(
        ExitCode::environment,
        fmt::format("the I/O profiler's library cannot be loaded ({}): name a libdarshan.so "
                    "that was configured --without-mpi",
                    dlerror()));
  }
  link_map* map = nullptr;
  dlinfo(handle, RTLD_DI_LINKMAP, &map);
  for (size_t i = 0; i < functions.size(); ++i) {
    // It is asked for what it was linked with, too.
    void* const function = dlsym(handle, functions[i].name);
    Dl_info object{};
    if (function != nullptr && dladdr(function, &object) != 0 &&
        object.dli_fname == std::string_view(map->l_name)) {
      found[i] = function;
    }
  }
  if (std::ranges::all_of(found, [](const void* function) { return function == nullptr; })) {
    throw Error(
        ExitCode::environment,
        library + ": has none of the functions that it should count: is it a libdarshan.so?");
  }
  const std::string path = map->l_name;
  names.insert(path.substr(path.rfind('/') + 1));
  return found;
}

bool may_be_wrapped(const std::vector<LoadedObject>& objects, const WrappedFunction& function,
                    const void* original) {
  const LoadedObject* const owner = object_at(objects, original);
  if (owner == nullptr) return false;
  if (owner->role == ObjectRole::preloaded || owner->role == ObjectRole::sanitizer) return true;
  if (function.library != nullptr) return owner->file_name().starts_with(function.library);
  return owner->role == ObjectRole::libc || is_interceptor(function, original);
}

}  // namespace

template <class Each>
void ProcessSlots::pass(const Each& each) {
  const int64_t begin_ns = pass_clock_ns();
  const InAPass here;
  under_loader_lock([&] {
    const std::lock_guard lock(mutex_);
    Pass pass{loaded_objects(preloaded_), std::vector<void*>(functions_.size()), {}};
    figures_.objects = figures_.left_out = figures_.relocations = figures_.slots = 0;
    figures_.skipped = {};
    WritableMemory memory;
    for (const LoadedObject& object : pass.objects) {
      if (object.role != ObjectRole::program) {
        ++figures_.left_out;
        continue;
      }
      Known& known = slots_of(pass, object);
      ++figures_.objects;
      figures_.relocations += static_cast<int64_t>(known.found.relocations);
      figures_.skipped.damaged += static_cast<int64_t>(known.found.damaged);
      SlotWriter writer(object, memory);
      for (size_t i = 0; i < known.found.slots.size(); ++i) each(pass, object, known, i, writer);
    }
    known_ = std::move(pass.known);
    loads_ = loads_so_far();
    ++figures_.passes;
    figures_.last_pass_ns = pass_clock_ns() - begin_ns;
  });
}

void ProcessSlots::put_in(std::span<const WrappedFunction> functions, const std::string& library) {
  std::set<std::string, std::less<>> preloaded = preloaded_names();
  std::vector<void*> of_library = functions_of(library, functions, preloaded);
  {
    const std::lock_guard lock(mutex_);
    preloaded_ = std::move(preloaded);
    of_library_ = std::move(of_library);
    for (size_t i = 0; i < functions.size(); ++i) {
      for (WrapperInstance& instance : functions[i].instances) {
        if (instance.original != nullptr) instance.callee = callee_of(i, instance.original);
      }
    }
    if (!std::ranges::equal(functions, functions_, {}, &WrappedFunction::name,
                            &WrappedFunction::name)) {
      known_.clear();
      names_.clear();
      for (uint32_t i = 0; i < functions.size(); ++i) names_.emplace(functions[i].name, i);
    }
    functions_.assign(functions.begin(), functions.end());
    figures_ = {};
    attached_ = true;
  }
  look_again();
}

void ProcessSlots::look_again() {
  pass([this](Pass& pass, const LoadedObject& object, Known& known, size_t i, SlotWriter& writer) {
    if (attached_) replace(pass, object, known, i, writer);
  });
}

void ProcessSlots::cover_new() {
  if (!in_a_pass && attached_ && loads_so_far() != loads_) look_again();
}

void ProcessSlots::put_back() {
  attached_ = false;
  pass([this](Pass&, const LoadedObject& object, Known& known, size_t i, SlotWriter& writer) {
    restore(object, known, i, writer);
  });
}

AttachFigures ProcessSlots::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

ProcessSlots::Known& ProcessSlots::slots_of(Pass& pass, const LoadedObject& object) {
  Key key(object.base, object.name, digest(object.elf.dynamic()));
  const auto found = known_.find(key);
  if (found != known_.end()) {
    return pass.known.emplace(std::move(key), std::move(found->second)).first->second;
  }
  Known known{find_function_slots(object.elf, names_), {}};
  known.replaced.resize(known.found.slots.size());
  return pass.known.emplace(std::move(key), std::move(known)).first->second;
}

void ProcessSlots::replace(Pass& pass, const LoadedObject& object, Known& known, size_t index,
                           SlotWriter& writer) {
  const FunctionSlot& slot = known.found.slots[index];
  const WrappedFunction& function = functions_[slot.function];
  const uint64_t address = object.base + slot.address;
  void* const value = read_slot(address);
  if (instance_that_is(function, value) != nullptr) {
    ++figures_.slots;
    return;
  }
  const bool unbound = is_unbound(object, slot, value);
  if (unbound && slot.definition != 0) {
    // Its own or the process's: the first call will say.
    ++figures_.skipped.other_library;
    return;
  }
  void* const original = unbound ? resolve(pass, slot.function) : value;
  WrapperInstance* const instance = instance_for(pass, function, original);
  if (instance == nullptr) return;
  if (!writer.write(address, instance->wrapper)) {
    ++figures_.skipped.refused;
    return;
  }
  ++figures_.slots;
  if (unbound) ++figures_.unbound;
  if (known.replaced[index]) ++figures_.bound_over;
  if (writer.read_only(address)) ++figures_.read_only;
  known.replaced[index] = true;
}

void ProcessSlots::restore(const LoadedObject& object, Known& known, size_t index,
                           SlotWriter& writer) {
  const FunctionSlot& slot = known.found.slots[index];
  const uint64_t address = object.base + slot.address;
  WrapperInstance* const instance = instance_that_is(functions_[slot.function], read_slot(address));
  if (instance != nullptr && !writer.write(address, instance->original)) {
    ++figures_.slots;
    ++figures_.skipped.refused;
  }
  known.replaced[index] = false;
}

// The slot holds the address of its entry in the object's own PLT, which would bind it. A function
// of the object's own is no such entry.
bool ProcessSlots::is_unbound(const LoadedObject& object, const FunctionSlot& slot,
                              const void* value) {
  const uint64_t address = reinterpret_cast<uint64_t>(value);
  if (!slot.may_be_unbound || address < object.base) return false;
  const uint64_t own = address - object.base;
  return object.elf.executable(own) && (slot.definition == 0 || own != slot.definition);
}

// The loader would look in the scope of the whole process first, where libc always is.
void* ProcessSlots::resolve(Pass& pass, uint32_t function) const {
  void*& resolved = pass.resolved[function];
  if (resolved == nullptr) resolved = address_of_name(functions_[function].name);
  return resolved;
}

// A sanitizer's or a preload's function stays the one that is called.
void* ProcessSlots::callee_of(size_t function, void* original) const {
  void* const of_library = function < of_library_.size() ? of_library_[function] : nullptr;
  Dl_info object{};
  const bool of_libc = of_library != nullptr && dladdr(original, &object) != 0 &&
                       std::string_view(object.dli_fname).find("/libc.so.") != std::string::npos;
  return of_libc ? of_library : original;
}

WrapperInstance* ProcessSlots::instance_for(const Pass& pass, const WrappedFunction& function,
                                            void* original) {
  if (original == nullptr) {
    ++figures_.skipped.undefined;
    return nullptr;
  }
  WrapperInstance* free = nullptr;
  for (WrapperInstance& instance : function.instances) {
    void* const known = instance.original;
    if (known == original) return &instance;
    if (known == nullptr && free == nullptr) free = &instance;
  }
  if (!may_be_wrapped(pass.objects, function, original)) {
    ++figures_.skipped.other_library;
    return nullptr;
  }
  if (free == nullptr) {
    ++figures_.skipped.no_wrapper;
    return nullptr;
  }
  free->callee = callee_of(static_cast<size_t>(&function - functions_.data()), original);
  free->original = original;
  return free;
}

}  // namespace stoker
