#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "io/profiler/preload/preload.h"
#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {
namespace {

constexpr uint32_t kDataSlot = R_X86_64_GLOB_DAT, kCallSlot = R_X86_64_JUMP_SLOT;
constexpr size_t kPlaces = 1024;  // of names: several times as many as there are functions

struct Work {
  const WrappedFunction* functions = nullptr;
  bool in = true;
  int64_t changed = 0;
  uint16_t places[kPlaces] = {};    // by the hash of a name: 1 + number of the function
  const void* bound[kPlaces] = {};  // by function: where a binding would lead
};

// One at a time; too large for a stack.
constinit Work g_work;

size_t place_of(const char* name) {
  uint32_t hash = 2166136261U;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619U;
  return hash % kPlaces;
}

void learn(const WrappedFunction* functions, size_t count, bool in) {
  g_work = {};
  g_work.functions = functions;
  g_work.in = in;
  for (size_t i = 0; i < count && i < kPlaces / 2; ++i) {
    size_t place = place_of(functions[i].name);
    while (g_work.places[place] != 0) place = (place + 1) % kPlaces;
    g_work.places[place] = static_cast<uint16_t>(i + 1);
    // Before the loader's lock is taken, for it takes another one.
    if (in) g_work.bound[i] = ::dlsym(RTLD_DEFAULT, functions[i].name);
  }
  if (in) ::dlerror();
}

// -1: it is none of them.
int find(const char* name) {
  for (size_t place = place_of(name); g_work.places[place] != 0; place = (place + 1) % kPlaces) {
    const int number = g_work.places[place] - 1;
    if (std::strcmp(g_work.functions[number].name, name) == 0) return number;
  }
  return -1;
}

// What an object's headers say, as addresses in memory.
struct Object {
  uint64_t base = 0;
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  uint64_t name_bytes = 0;
  const Elf64_Rela* tables[2] = {};
  uint64_t table_bytes[2] = {};
  uint64_t code_begin = 0, code_end = 0;
  uint64_t fixed_begin = 0, fixed_end = 0;  // what the loader makes read-only
};

void read_dynamic(const Elf64_Dyn* entry, Object& object) {
  // The loader adds the base to addresses in the section where it may write there.
  const auto address = [&](const Elf64_Dyn& of) {
    const uint64_t value = of.d_un.d_ptr;
    return value < object.base ? value + object.base : value;
  };
  bool with_addends = true;
  for (; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        object.symbols = at_address<const Elf64_Sym>(address(*entry));
        break;
      case DT_STRTAB:
        object.names = at_address<const char>(address(*entry));
        break;
      case DT_STRSZ:
        object.name_bytes = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        object.tables[0] = at_address<const Elf64_Rela>(address(*entry));
        break;
      case DT_PLTRELSZ:
        object.table_bytes[0] = entry->d_un.d_val;
        break;
      case DT_RELA:
        object.tables[1] = at_address<const Elf64_Rela>(address(*entry));
        break;
      case DT_RELASZ:
        object.table_bytes[1] = entry->d_un.d_val;
        break;
      case DT_PLTREL:
        with_addends = entry->d_un.d_val == DT_RELA;
        break;
      default:
        break;
    }
  }
  if (!with_addends) object.table_bytes[0] = 0;
}

bool read_object(const dl_phdr_info& info, Object& object) {
  object.base = info.dlpi_addr;
  const Elf64_Dyn* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const Elf64_Phdr& part = info.dlpi_phdr[i];
    const uint64_t begin = object.base + part.p_vaddr, end = begin + part.p_memsz;
    if (part.p_type == PT_DYNAMIC) dynamic = at_address<const Elf64_Dyn>(begin);
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
      object.code_begin = begin;
      object.code_end = end;
    }
    if (part.p_type == PT_GNU_RELRO) {  // whole pages, as the loader has it
      object.fixed_begin = begin / kPage * kPage;
      object.fixed_end = end / kPage * kPage;
    }
  }
  if (dynamic == nullptr) return false;
  read_dynamic(dynamic, object);
  return object.symbols != nullptr && object.names != nullptr;
}

// The C library, the loader and this library: their calls of themselves are nobody's.
bool is_left_out(const dl_phdr_info& info) {
  const auto here = reinterpret_cast<uint64_t>(&g_work);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const Elf64_Phdr& part = info.dlpi_phdr[i];
    const uint64_t begin = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && here >= begin && here < begin + part.p_memsz) return true;
  }
  const char* const path = info.dlpi_name == nullptr ? "" : info.dlpi_name;
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  for (const char* own : {"libc.so.", "ld-linux", "libpthread.so.", "libdl.so.", "librt.so.",
                          "linux-vdso", "stoker_preload", "libasan", "libtsan", "libubsan"}) {
    if (std::strncmp(name, own, std::strlen(own)) == 0) return true;
  }
  return false;
}

// Lets slots in the pages that the loader made read-only be written, as long as it lives. Pages
// that somebody else has made writable stay so.
class Writable {
 public:
  explicit Writable(const Object& object) : object_(object) {}
  ~Writable() {
    if (opened_) protect(PROT_READ);
  }
  Writable(const Writable&) = delete;
  Writable& operator=(const Writable&) = delete;

  bool write(uint64_t slot, void* value) {
    const bool fixed = slot >= object_.fixed_begin && slot < object_.fixed_end;
    if (fixed && !opened_ && !is_writable(slot)) {
      if (!protect(PROT_READ | PROT_WRITE)) return false;
      opened_ = true;
    }
    __atomic_store_n(at_address<void*>(slot), value, __ATOMIC_RELEASE);
    return true;
  }

 private:
  bool protect(int rights) const {
    return ::syscall(SYS_mprotect, object_.fixed_begin, object_.fixed_end - object_.fixed_begin,
                     rights) == 0;
  }
  // The kernel writes there only what this process may write itself.
  static bool is_writable(uint64_t slot) {
    uint64_t same = *at_address<volatile uint64_t>(slot);
    iovec from{&same, sizeof same}, to{at_address<void>(slot), sizeof same};
    return ::syscall(SYS_process_vm_writev, ::getpid(), &from, 1L, &to, 1L, 0L) ==
           static_cast<long>(sizeof same);
  }

  const Object& object_;
  bool opened_ = false;
};

// What the slot shall hold; null: it stays.
void* wanted(const Object& object, const void* value, const Elf64_Sym& symbol, int number) {
  const WrapperInstance& instance = g_work.functions[number].instances[0];
  void* const original = instance.callee.load(std::memory_order_acquire);
  if (original == nullptr) return nullptr;
  if (!g_work.in) return value == instance.wrapper ? original : nullptr;
  if (value == original) return instance.wrapper;
  const auto at = reinterpret_cast<uint64_t>(value);
  const bool unbound = symbol.st_shndx == SHN_UNDEF && at >= object.code_begin &&
                       at < object.code_end && g_work.bound[number] == original;
  return unbound ? instance.wrapper : nullptr;
}

void change_table(const Object& object, const Elf64_Rela* table, uint64_t bytes,
                  Writable& writable) {
  for (uint64_t i = 0; table != nullptr && i < bytes / sizeof(Elf64_Rela); ++i) {
    const uint64_t type = ELF64_R_TYPE(table[i].r_info);
    if (type != kDataSlot && type != kCallSlot) continue;
    const Elf64_Sym& symbol = object.symbols[ELF64_R_SYM(table[i].r_info)];
    if (symbol.st_name >= object.name_bytes) continue;
    const int number = find(object.names + symbol.st_name);
    if (number < 0) continue;
    const uint64_t slot = object.base + table[i].r_offset;
    const void* const value = __atomic_load_n(at_address<void*>(slot), __ATOMIC_ACQUIRE);
    void* const other = wanted(object, value, symbol, number);
    if (other != nullptr && writable.write(slot, other)) ++g_work.changed;
  }
}

int change_object(dl_phdr_info* info, size_t, void*) {
  Object object;
  if (is_left_out(*info) || !read_object(*info, object)) return 0;
  Writable writable(object);
  for (int i = 0; i < 2; ++i) {
    change_table(object, object.tables[i], object.table_bytes[i], writable);
  }
  return 0;
}

}  // namespace

int64_t put_wrappers_in(const WrappedFunction* functions, size_t count) {
  learn(functions, count, true);
  ::dl_iterate_phdr(change_object, nullptr);
  return g_work.changed;
}

int64_t put_originals_back(const WrappedFunction* functions, size_t count) {
  learn(functions, count, false);
  ::dl_iterate_phdr(change_object, nullptr);
  return g_work.changed;
}

}  // namespace stoker
