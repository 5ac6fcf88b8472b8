#include "io/profiler/attach/loaded_objects.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <exception>
#include <fstream>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "io/core/error.h"

namespace stoker {
namespace {

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool begins_with_one_of(std::string_view name, std::span<const std::string_view> beginnings) {
  for (const std::string_view beginning : beginnings) {
    if (name.starts_with(beginning)) return true;
  }
  return false;
}

ObjectRole role_of(std::string_view name, uint64_t base, const dl_phdr_info& info,
                   const std::set<std::string, std::less<>>& preloaded) {
  static constexpr std::array<std::string_view, 4> kLibc{"libc.so.", "libpthread.so.", "librt.so.",
                                                         "libdl.so."};
  static constexpr std::array<std::string_view, 6> kSanitizers{
      "libasan.so", "libtsan.so", "liblsan.so", "libubsan.so", "libhwasan.so", "libclang_rt."};
  if (base != 0 && base == getauxval(AT_BASE)) return ObjectRole::loader;
  const uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
  if (vdso != 0 && info.dlpi_phnum > 0) {
    const uint64_t headers = reinterpret_cast<uint64_t>(info.dlpi_phdr);
    if (headers - vdso < 4096) return ObjectRole::loader;
  }
  if (begins_with_one_of(name, kLibc)) return ObjectRole::libc;
  if (begins_with_one_of(name, kSanitizers)) return ObjectRole::sanitizer;
  return preloaded.contains(name) ? ObjectRole::preloaded : ObjectRole::program;
}

void add_names(const std::string& list, std::set<std::string, std::less<>>& names) {
  static constexpr const char* kSeparators = " :\t\n";
  for (size_t at = 0; (at = list.find_first_not_of(kSeparators, at)) != std::string::npos;) {
    const size_t end = std::min(list.find_first_of(kSeparators, at), list.size());
    names.emplace(last_part(std::string_view(list).substr(at, end - at)));
    at = end;
  }
}

// Walks what objects were linked with.
class NeededObjects {
 public:
  explicit NeededObjects(const std::vector<LoadedObject>& objects) : objects_(objects) {
    for (size_t i = 0; i < objects.size(); ++i) places_.emplace(objects[i].file_name(), i);
  }

  // `reached` grows by what the object at `from` leads to; it ends at objects of other roles.
  void follow(size_t from, std::vector<bool>& reached) const {
    std::vector<size_t> open{from};
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      for (const std::string_view name : objects_[at].elf.needed()) {
        const auto found = places_.find(name);
        if (found == places_.end() || reached[found->second]) continue;
        if (objects_[found->second].role != ObjectRole::program) continue;
        reached[found->second] = true;
        open.push_back(found->second);
      }
    }
  }

 private:
  const std::vector<LoadedObject>& objects_;
  std::unordered_map<std::string_view, size_t> places_;
};

// A tool that is preloaded may have its wrappers in libraries of its own (GOTCHA's users): what
// only preloaded libraries lead to belongs to them.
void follow_preloaded(std::vector<LoadedObject>& objects) {
  const auto is_preloaded = [](const LoadedObject& object) {
    return object.role == ObjectRole::preloaded;
  };
  if (std::ranges::none_of(objects, is_preloaded)) return;
  const NeededObjects needed(objects);
  std::vector<bool> theirs(objects.size()), others(objects.size());
  for (size_t i = 0; i < objects.size(); ++i) {
    if (is_preloaded(objects[i])) needed.follow(i, theirs);
  }
  for (size_t i = 0; i < objects.size(); ++i) {
    if (objects[i].role == ObjectRole::program && !theirs[i]) needed.follow(i, others);
  }
  for (size_t i = 0; i < objects.size(); ++i) {
    if (theirs[i] && !others[i]) objects[i].role = ObjectRole::preloaded;
  }
}

}  // namespace

std::string_view LoadedObject::file_name() const { return last_part(name); }

std::set<std::string, std::less<>> preloaded_names() {
  std::set<std::string, std::less<>> names;
  // Not getenv: the program may have changed its environment since.
  std::ifstream environment("/proc/self/environ", std::ios::binary);
  for (std::string variable; std::getline(environment, variable, '\0');) {
    static constexpr std::string_view kName = "LD_PRELOAD=";
    if (variable.starts_with(kName)) add_names(variable.substr(kName.size()), names);
  }
  std::ifstream file("/etc/ld.so.preload");
  add_names({std::istreambuf_iterator<char>(file), {}}, names);
  return names;
}

std::vector<LoadedObject> loaded_objects(const std::set<std::string, std::less<>>& preloaded) {
  struct Found {
    std::vector<LoadedObject> objects;
    const std::set<std::string, std::less<>>& preloaded;
  } found{{}, preloaded};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& into = *static_cast<Found*>(data);
        std::string name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        const ObjectRole role = role_of(last_part(name), info->dlpi_addr, *info, into.preloaded);
        into.objects.push_back({std::move(name),
                                info->dlpi_addr,
                                {info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum}},
                                role});
        return 0;
      },
      &found);
  follow_preloaded(found.objects);
  return std::move(found.objects);
}

const LoadedObject* object_at(const std::vector<LoadedObject>& objects, const void* address) {
  const auto wanted = reinterpret_cast<uint64_t>(address);
  for (const LoadedObject& object : objects) {
    if (wanted >= object.base && object.elf.executable(wanted - object.base)) return &object;
  }
  return nullptr;
}

uint64_t loads_so_far() {
  uint64_t loads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        *static_cast<uint64_t*>(data) = info->dlpi_adds;
        return 1;
      },
      &loads);
  return loads;
}

// Objects are listed before they are relocated, so that the lock of dl_iterate_phdr is not enough.
// The one that the loader holds from the first to the last step of dlopen and dlclose has no name,
// but dlsym takes it as well, and calls the resolver of a symbol of type IFUNC while it holds it:
//
// 1. stoker_under_loader_lock is such a symbol; no relocation names it, only dlsym does.
// 2. Its resolver does the work that the calling thread has left in `pending`.
// 3. No exception passes through the loader, which would keep its lock.

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
