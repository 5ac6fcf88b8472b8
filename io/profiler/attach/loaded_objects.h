#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/profiler/attach/elf_object.h"

namespace stoker {

// What an object of the process is to the profiler.
enum class ObjectRole {
  program,    // the program or a library of it: its calls are seen
  libc,       // libc and what belongs to it
  loader,     // and the kernel's vdso
  preloaded,  // by LD_PRELOAD or /etc/ld.so.preload, or by nobody but what was preloaded so
  sanitizer,  // the run time of one
};

// An object as it is mapped; valid under the loader's lock.
struct LoadedObject {
  std::string name;  // its path; the program's is empty
  uint64_t base;
  ElfObject elf;
  ObjectRole role;

  std::string_view file_name() const;
};

// File names of the libraries that were preloaded into this process when it began.
std::set<std::string, std::less<>> preloaded_names();

// All objects of the process. Under the loader's lock (below).
std::vector<LoadedObject> loaded_objects(const std::set<std::string, std::less<>>& preloaded);

// The object that has code at the address. Null: no object has.
const LoadedObject* object_at(const std::vector<LoadedObject>& objects, const void* address);

// How many objects the loader has ever loaded. Any thread.
uint64_t loads_so_far();

// Runs `work` while no other thread can load, relocate or unload an object. Passes on what it
// throws. Any thread, nested too; a library's constructor as well, which runs under that lock
// already. What `work` calls must not wait for a thread that loads a library.
void under_loader_lock(const std::function<void()>& work);

}  // namespace stoker
