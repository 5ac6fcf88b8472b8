#include "io/profiler/attach/function_slots.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

namespace stoker {
namespace {

using Raw = std::span<const std::byte>;

enum class SlotKind { none, jump, address };

SlotKind slot_kind(uint16_t machine, uint32_t type) {
  if (machine == EM_AARCH64) {
    if (type == R_AARCH64_JUMP_SLOT) return SlotKind::jump;
    return type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64 ? SlotKind::address
                                                                 : SlotKind::none;
  }
  if (type == R_X86_64_JUMP_SLOT) return SlotKind::jump;
  return type == R_X86_64_GLOB_DAT || type == R_X86_64_64 ? SlotKind::address : SlotKind::none;
}

// What the dynamic section says of tables; an absent one is empty.
struct DynamicTables {
  struct Table {
    uint64_t address = 0, bytes = 0;
  };
  Table relocations, jumps, strings;
  uint64_t symbols = 0;

  explicit DynamicTables(const ElfObject& object) {
    for (const Elf64_Dyn& entry : object.dynamic()) {
      const uint64_t value = entry.d_un.d_val;
      switch (entry.d_tag) {
        case DT_RELA:
          relocations.address = object.own_address(value);
          break;
        case DT_RELASZ:
          relocations.bytes = value;
          break;
        case DT_JMPREL:
          jumps.address = object.own_address(value);
          break;
        case DT_PLTRELSZ:
          jumps.bytes = value;
          break;
        case DT_STRTAB:
          strings.address = object.own_address(value);
          break;
        case DT_STRSZ:
          strings.bytes = value;
          break;
        case DT_SYMTAB:
          symbols = object.own_address(value);
          break;
        default:
          break;
      }
    }
  }
};

class SlotFinder {
 public:
  SlotFinder(const ElfObject& object, const FunctionNames& names)
      : object_(object), names_(names), tables_(object) {
    strings_ = object.table(tables_.strings.address, tables_.strings.bytes, 1);
    symbols_ = object.from(tables_.symbols);
    for (const auto& [name, number] : names) longest_ = std::max(longest_, name.size());
    if (strings_.empty() && tables_.strings.bytes != 0) ++found_.damaged;
  }

  FunctionSlots find() {
    walk(tables_.relocations);
    walk(tables_.jumps);
    return std::move(found_);
  }

 private:
  static constexpr int32_t kUnknown = -1, kOther = -2;

  void walk(const DynamicTables::Table& table) {
    const uint64_t count = table.bytes / sizeof(Elf64_Rela);
    const Raw bytes = object_.table(table.address, count, sizeof(Elf64_Rela));
    if (bytes.empty() && count != 0) ++found_.damaged;
    found_.relocations += bytes.size() / sizeof(Elf64_Rela);
    for (uint64_t at = 0; at < bytes.size(); at += sizeof(Elf64_Rela)) {
      Elf64_Rela entry;
      std::memcpy(&entry, bytes.data() + at, sizeof entry);
      const auto symbol = static_cast<uint32_t>(ELF64_R_SYM(entry.r_info));
      const auto type = static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info));
      const SlotKind kind = symbol == 0 ? SlotKind::none : slot_kind(object_.machine(), type);
      if (kind == SlotKind::none) continue;
      if (const int32_t function = function_of(symbol); function >= 0) {
        add(entry, kind, symbol, static_cast<uint32_t>(function));
      }
    }
  }

  // kOther, or the number of the function; remembered, for relocations name few symbols often.
  int32_t function_of(uint32_t symbol) {
    if (symbol >= symbols_.size() / sizeof(Elf64_Sym)) {
      ++found_.damaged;
      return kOther;
    }
    if (symbol >= known_.size()) {
      known_.resize(std::min<uint64_t>(symbols_.size() / sizeof(Elf64_Sym),
                                       std::max<uint64_t>(symbol + uint64_t{1}, 2 * known_.size())),
                    kUnknown);
    }
    int32_t& known = known_[symbol];
    if (known == kUnknown) known = look_up(symbol_at(symbol).st_name);
    return known;
  }

  int32_t look_up(uint32_t name) {
    if (name >= strings_.size()) {
      ++found_.damaged;
      return kOther;
    }
    const Raw rest = strings_.subspan(name);
    const auto* text = reinterpret_cast<const char*>(rest.data());
    if (rest.size() > 2 && text[0] == '_' && text[1] == 'Z') return kOther;  // C++
    const uint64_t most = std::min<uint64_t>(rest.size(), longest_ + 1);
    const uint64_t length = strnlen(text, most);
    if (length == most) return kOther;  // too long, or without an end
    const auto found = names_.find(std::string_view(text, length));
    return found == names_.end() ? kOther : static_cast<int32_t>(found->second);
  }

  Elf64_Sym symbol_at(uint32_t symbol) const {
    Elf64_Sym entry;
    std::memcpy(&entry, symbols_.data() + symbol * sizeof entry, sizeof entry);
    return entry;
  }

  void add(const Elf64_Rela& entry, SlotKind kind, uint32_t symbol, uint32_t function) {
    // An address with something added is not a function's.
    if (kind == SlotKind::address && entry.r_addend != 0) return;
    const uint64_t last = entry.r_offset + sizeof(void*) - 1;
    if (entry.r_offset % sizeof(void*) != 0 || last < entry.r_offset ||
        !object_.writable(entry.r_offset) || !object_.writable(last)) {
      ++found_.damaged;
      return;
    }
    const Elf64_Sym named = symbol_at(symbol);
    const uint64_t definition = named.st_shndx == SHN_UNDEF ? 0 : named.st_value;
    found_.slots.push_back({entry.r_offset, function, kind == SlotKind::jump, definition});
  }

  const ElfObject& object_;
  const FunctionNames& names_;
  const DynamicTables tables_;
  Raw strings_, symbols_;
  uint64_t longest_ = 0;
  std::vector<int32_t> known_;
  FunctionSlots found_;
};

}  // namespace

FunctionSlots find_function_slots(const ElfObject& object, const FunctionNames& names) {
  return SlotFinder(object, names).find();
}

}  // namespace stoker
