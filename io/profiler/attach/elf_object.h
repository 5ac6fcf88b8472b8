#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace stoker {

// An ELF object of 64 bits, little endian, x86-64 or aarch64: what its program headers say, and its
// bytes by the addresses that the object itself uses (its first segment mostly begins at 0). It
// refers to a mapped object or to a file's bytes. A value; any thread.
//
// It does not trust what the object says: whatever lies outside of its segments is not there.
class ElfObject {
 public:
  // An object of this machine that the loader has mapped. headers: its own, as dl_iterate_phdr
  // gives them.
  ElfObject(uint64_t base, std::span<const Elf64_Phdr> headers);
  // nullopt: the file is not such an object.
  static std::optional<ElfObject> of_file(std::span<const std::byte> file);

  uint16_t machine() const { return machine_; }
  // The bytes from `address` to the end of its segment; empty outside of all segments.
  std::span<const std::byte> from(uint64_t address) const;
  // Those of a table of `count` entries; empty where one of them lies outside.
  std::span<const std::byte> table(uint64_t address, uint64_t count, uint64_t entry_bytes) const;
  bool executable(uint64_t address) const { return inside(address, PF_X); }
  bool writable(uint64_t address) const { return inside(address, PF_W); }
  // What the loader makes read-only once it has relocated the object: begin, bytes.
  std::pair<uint64_t, uint64_t> relro() const { return relro_; }
  // The dynamic section, without the end mark.
  std::vector<Elf64_Dyn> dynamic() const;
  // The names of the objects that it was linked with (DT_NEEDED).
  std::vector<std::string_view> needed() const;
  // glibc adds the base to the addresses in the dynamic section, not in the one of the vdso.
  uint64_t own_address(uint64_t dynamic_value) const {
    return dynamic_value >= base_ ? dynamic_value - base_ : dynamic_value;
  }

 private:
  struct Segment {
    uint64_t address;
    std::span<const std::byte> bytes;
    uint32_t flags;
  };
  ElfObject() = default;
  bool inside(uint64_t address, uint32_t flags) const;

  uint64_t base_ = 0;
  uint16_t machine_ = EM_NONE;
  std::vector<Segment> segments_;
  std::pair<uint64_t, uint64_t> dynamic_{}, relro_{};
};

}  // namespace stoker
