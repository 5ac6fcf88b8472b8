#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace stoker {

// A shared object of a machine, as a file: one writable segment that begins at kBase, with a
// dynamic section, some symbols and relocations, and room for slots. No linker is needed.
class ElfBytes {
 public:
  static constexpr uint64_t kBase = 0x10000;
  static constexpr uint64_t kSlots = 0x700;  // of the file; 0x100 bytes

  explicit ElfBytes(uint16_t machine) : bytes_(0x800) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = machine;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 3;
    put(0, header);
    set_segment(0, {PT_LOAD, PF_R | PF_W, 0, kBase, kBase, bytes_.size(), bytes_.size(), 0x1000});
    set_segment(1, {PT_DYNAMIC, PF_R, kDynamic, kBase + kDynamic, 0, 0x100, 0x100, 8});
    set_segment(2, {PT_GNU_RELRO, PF_R, kSlots, kBase + kSlots, 0, 0x100, 0x100, 1});
    add_symbol("", 0);
    set_dynamic(0, DT_SYMTAB, kBase + kSymbols);
    set_dynamic(1, DT_STRTAB, kBase + kStrings);
    set_dynamic(3, DT_RELA, kBase + kRelocations);
    set_dynamic(5, DT_JMPREL, kBase + kJumps);
    count();
  }

  // definition: 0: undefined. Returns its number.
  uint32_t add_symbol(const std::string& name, uint64_t definition) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<uint32_t>(strings_);
    symbol.st_shndx = definition == 0 ? SHN_UNDEF : uint16_t{1};
    symbol.st_value = definition;
    std::memcpy(&bytes_[kStrings + strings_], name.c_str(), name.size() + 1);
    strings_ += name.size() + 1;
    put(kSymbols + symbols_ * sizeof symbol, symbol);
    count();
    return symbols_++;
  }

  void add_relocation(uint32_t type, uint32_t symbol, uint64_t slot, int64_t addend = 0) {
    put(kRelocations + relocations_++ * sizeof(Elf64_Rela), relocation(type, symbol, slot, addend));
    count();
  }
  void add_jump(uint32_t type, uint32_t symbol, uint64_t slot) {
    put(kJumps + jumps_++ * sizeof(Elf64_Rela), relocation(type, symbol, slot, 0));
    count();
  }

  void set_dynamic(size_t at, int64_t tag, uint64_t value) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = value;
    put(kDynamic + at * sizeof entry, entry);
  }
  void set_segment(size_t at, Elf64_Phdr segment) {
    put(sizeof(Elf64_Ehdr) + at * sizeof segment, segment);
  }

  template <class T>
  void put(uint64_t at, const T& value) {
    std::memcpy(&bytes_.at(at), &value, sizeof value);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  static constexpr uint64_t kDynamic = 0x200, kStrings = 0x300, kSymbols = 0x400,
                            kRelocations = 0x500, kJumps = 0x600;

  static Elf64_Rela relocation(uint32_t type, uint32_t symbol, uint64_t slot, int64_t addend) {
    return {slot, (uint64_t{symbol} << 32) + type, addend};
  }
  void count() {
    set_dynamic(2, DT_STRSZ, strings_);
    set_dynamic(4, DT_RELASZ, relocations_ * sizeof(Elf64_Rela));
    set_dynamic(6, DT_PLTRELSZ, jumps_ * sizeof(Elf64_Rela));
  }

  std::vector<std::byte> bytes_;
  uint64_t strings_ = 0;
  uint32_t symbols_ = 0, relocations_ = 0, jumps_ = 0;
};

}  // namespace stoker
