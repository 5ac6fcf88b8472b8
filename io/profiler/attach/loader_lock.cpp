#include "io/profiler/attach/loader_lock.h"

#include <dlfcn.h>

#include <exception>
#include <utility>

#include "io/core/error.h"

// Objects are listed before they are relocated, so that the lock of dl_iterate_phdr is not enough.
// The one that the loader holds from the first to the last step of dlopen and dlclose has no name,
// but dlsym takes it as well, and calls the resolver of a symbol of type IFUNC while it holds it:
//
// 1. stoker_under_loader_lock is such a symbol; no relocation names it, only dlsym does.
// 2. Its resolver does the work that the calling thread has left in `pending`.
// 3. No exception passes through the loader, which would keep its lock.

namespace stoker {
namespace {

struct Pending {
  const std::function<void()>* work;
  bool done = false;
  std::exception_ptr failure{};
};
thread_local Pending* pending = nullptr;

}  // namespace
}  // namespace stoker

extern "C" {
using StokerFunction = void();
StokerFunction* stoker_resolve_under_loader_lock() {
  if (stoker::Pending* const mine = std::exchange(stoker::pending, nullptr)) {
    mine->done = true;
    try {
      (*mine->work)();
    } catch (...) {
      mine->failure = std::current_exception();
    }
  }
  return [] {};
}
[[gnu::ifunc("stoker_resolve_under_loader_lock")]] void stoker_under_loader_lock();
}

namespace stoker {
namespace {

// The object that has the symbol, which is a plug-in: its names are not everybody's to find.
void* own_object() {
  Dl_info object{};
  void* handle = nullptr;
  if (dladdr(reinterpret_cast<const void*>(&stoker_resolve_under_loader_lock), &object) != 0) {
    handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  return handle != nullptr ? handle : RTLD_DEFAULT;  // null where it is the program itself
}

}  // namespace

void under_loader_lock(const std::function<void()>& work) {
  static void* const kObject = own_object();
  Pending mine{&work};
  pending = &mine;
  static_cast<void>(dlsym(kObject, "stoker_under_loader_lock"));
  pending = nullptr;
  if (!mine.done) {
    throw Error(ExitCode::environment,
                "the loader of this system does not resolve symbols of type IFUNC under its lock: "
                "the I/O profiler needs glibc");
  }
  if (mine.failure) std::rethrow_exception(mine.failure);
}

}  // namespace stoker
