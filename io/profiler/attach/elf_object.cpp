#include "io/profiler/attach/elf_object.h"

#include <cstring>
#include <utility>

#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kThisMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kThisMachine = EM_AARCH64;
#else
#error "relocations are known of x86-64 and aarch64"
#endif

template <class T>
T entry_at(std::span<const std::byte> bytes, uint64_t offset) {
  T entry;
  std::memcpy(&entry, bytes.data() + offset, sizeof entry);
  return entry;
}

bool is_known(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         (header.e_machine == EM_X86_64 || header.e_machine == EM_AARCH64) &&
         header.e_phentsize == sizeof(Elf64_Phdr);
}

}  // namespace

ElfObject::ElfObject(uint64_t base, std::span<const Elf64_Phdr> headers)
    : base_(base), machine_(kThisMachine) {
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_LOAD) {
      const auto* begin = at_address<const std::byte>(base + header.p_vaddr);
      segments_.push_back({header.p_vaddr, {begin, header.p_memsz}, header.p_flags});
    }
    if (header.p_type == PT_DYNAMIC) dynamic_ = {header.p_vaddr, header.p_memsz};
    if (header.p_type == PT_GNU_RELRO) relro_ = {header.p_vaddr, header.p_memsz};
  }
}

std::optional<ElfObject> ElfObject::of_file(std::span<const std::byte> file) {
  if (file.size() < sizeof(Elf64_Ehdr)) return std::nullopt;
  const auto header = entry_at<Elf64_Ehdr>(file, 0);
  if (!is_known(header)) return std::nullopt;
  ElfObject object;
  object.machine_ = header.e_machine;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const uint64_t skipped = i * sizeof(Elf64_Phdr);
    if (header.e_phoff > file.size() || file.size() - header.e_phoff < skipped ||
        file.size() - header.e_phoff - skipped < sizeof(Elf64_Phdr)) {
      return std::nullopt;
    }
    const auto segment = entry_at<Elf64_Phdr>(file, header.e_phoff + skipped);
    if (segment.p_type == PT_LOAD) {
      if (segment.p_offset > file.size() || segment.p_filesz > file.size() - segment.p_offset) {
        return std::nullopt;
      }
      object.segments_.push_back(
          {segment.p_vaddr, file.subspan(segment.p_offset, segment.p_filesz), segment.p_flags});
    }
    if (segment.p_type == PT_DYNAMIC) object.dynamic_ = {segment.p_vaddr, segment.p_filesz};
    if (segment.p_type == PT_GNU_RELRO) object.relro_ = {segment.p_vaddr, segment.p_memsz};
  }
  return object;
}

std::span<const std::byte> ElfObject::from(uint64_t address) const {
  for (const Segment& segment : segments_) {
    if ((segment.flags & PF_R) != 0 && address >= segment.address &&
        address - segment.address < segment.bytes.size()) {
      return segment.bytes.subspan(address - segment.address);
    }
  }
  return {};
}

std::span<const std::byte> ElfObject::table(uint64_t address, uint64_t count,
                                            uint64_t entry_bytes) const {
  const std::span<const std::byte> bytes = from(address);
  if (count > bytes.size() / entry_bytes) return {};
  return bytes.first(count * entry_bytes);
}

bool ElfObject::inside(uint64_t address, uint32_t flags) const {
  for (const Segment& segment : segments_) {
    if ((segment.flags & flags) != 0 && address >= segment.address &&
        address - segment.address < segment.bytes.size()) {
      return true;
    }
  }
  return false;
}

std::vector<Elf64_Dyn> ElfObject::dynamic() const {
  std::vector<Elf64_Dyn> entries;
  const auto bytes = table(dynamic_.first, dynamic_.second / sizeof(Elf64_Dyn), sizeof(Elf64_Dyn));
  for (uint64_t at = 0; at < bytes.size(); at += sizeof(Elf64_Dyn)) {
    const auto entry = entry_at<Elf64_Dyn>(bytes, at);
    if (entry.d_tag == DT_NULL) break;
    entries.push_back(entry);
  }
  return entries;
}

std::vector<std::string_view> ElfObject::needed() const {
  const std::vector<Elf64_Dyn> entries = dynamic();
  uint64_t address = 0, bytes = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) address = own_address(entry.d_un.d_val);
    if (entry.d_tag == DT_STRSZ) bytes = entry.d_un.d_val;
  }
  const std::span<const std::byte> strings = table(address, bytes, 1);
  std::vector<std::string_view> names;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag != DT_NEEDED || entry.d_un.d_val >= strings.size()) continue;
    const auto rest = strings.subspan(entry.d_un.d_val);
    const auto* const text = reinterpret_cast<const char*>(rest.data());
    names.emplace_back(text, strnlen(text, rest.size()));
  }
  return names;
}

}  // namespace stoker
