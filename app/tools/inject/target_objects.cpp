#include "app/tools/inject/target_objects.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "io/core/error.h"

namespace stoker {
namespace {

using Dynamic = std::map<int64_t, uint64_t>;

// The dynamic section at these program headers. base: what is added to addresses in them.
Dynamic read_dynamic(const TargetMemory& memory, uint64_t headers, uint64_t count, uint64_t base) {
  constexpr uint64_t kMost = 4096;
  Dynamic found;
  for (uint64_t i = 0; i < std::min(count, kMost); ++i) {
    const auto part = memory.get<Elf64_Phdr>(headers + i * sizeof(Elf64_Phdr));
    if (!part || part->p_type != PT_DYNAMIC) continue;
    for (uint64_t entry = 0; entry < kMost; ++entry) {
      const auto one = memory.get<Elf64_Dyn>(base + part->p_vaddr + entry * sizeof(Elf64_Dyn));
      if (!one || one->d_tag == DT_NULL) break;
      found.emplace(one->d_tag, one->d_un.d_val);
    }
  }
  return found;
}

// How many symbols a table of this kind of hash has: one behind the last one that it leads to.
uint64_t symbol_count(const TargetMemory& memory, uint64_t gnu_hash) {
  struct Header {
    uint32_t buckets, first, bloom_words, bloom_shift;
  };
  constexpr uint64_t kMost = 1 << 20;
  const auto header = memory.get<Header>(gnu_hash);
  if (!header || header->buckets > kMost) return 0;
  const uint64_t buckets = gnu_hash + sizeof(Header) + header->bloom_words * sizeof(uint64_t);
  std::vector<uint32_t> values(header->buckets);
  if (!memory.read(buckets, values.data(), values.size() * sizeof(uint32_t))) return 0;
  uint64_t last = values.empty() ? 0 : *std::ranges::max_element(values);
  if (last < header->first) return header->first;
  const uint64_t chains = buckets + values.size() * sizeof(uint32_t);
  for (; last < kMost; ++last) {
    const auto hash = memory.get<uint32_t>(chains + (last - header->first) * sizeof(uint32_t));
    if (!hash) return 0;
    if ((*hash & 1) != 0) break;
  }
  return last + 1;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

TargetObjects::TargetObjects(pid_t pid, const TargetMemory& memory)
    : pid_(pid), memory_(memory), mappings_(target_mappings(pid)) {}

const TargetMapping* TargetObjects::at(uint64_t address) const {
  for (const TargetMapping& one : mappings_) {
    if (one.has(address)) return &one;
  }
  return nullptr;
}

std::string TargetObjects::find(const std::string& name) const {
  for (const TargetMapping& one : mappings_) {
    if (one.path.starts_with('/') && file_name(one.path).starts_with(name)) return one.path;
  }
  return {};
}

uint64_t TargetObjects::base(const std::string& path) const {
  for (const TargetMapping& one : mappings_) {
    if (one.path == path && one.offset == 0) return one.begin;
  }
  return 0;
}

std::optional<uint64_t> TargetObjects::function(const std::string& path,
                                                const std::string& name) const {
  const uint64_t base = this->base(path);
  const auto header = base == 0 ? std::nullopt : memory_.get<Elf64_Ehdr>(base);
  if (!header || header->e_ident[EI_CLASS] != ELFCLASS64) return std::nullopt;
  Dynamic dynamic = read_dynamic(memory_, base + header->e_phoff, header->e_phnum, base);
  // The loader adds the base to addresses in the section where it may write there.
  const auto address = [&](int64_t tag) {
    const uint64_t value = dynamic[tag];
    return value < base ? value + base : value;
  };
  if (!dynamic.contains(DT_SYMTAB) || !dynamic.contains(DT_STRTAB) ||
      !dynamic.contains(DT_GNU_HASH)) {
    return std::nullopt;
  }
  const uint64_t count = symbol_count(memory_, address(DT_GNU_HASH));
  std::vector<Elf64_Sym> symbols(count);
  std::string names(dynamic[DT_STRSZ], '\0');
  if (!memory_.read(address(DT_SYMTAB), symbols.data(), count * sizeof(Elf64_Sym)) ||
      !memory_.read(address(DT_STRTAB), names.data(), names.size())) {
    return std::nullopt;
  }
  for (const Elf64_Sym& symbol : symbols) {
    const bool defined = symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    if (defined && symbol.st_name < names.size() && name == names.c_str() + symbol.st_name) {
      return base + symbol.st_value;
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> TargetObjects::code(const std::string& path, std::string_view bytes) const {
  for (const TargetMapping& one : mappings_) {
    if (one.path != path || !one.executable) continue;
    std::string text(one.end - one.begin, '\0');
    if (!memory_.read(one.begin, text.data(), text.size())) continue;
    const size_t at = text.find(bytes);
    if (at != std::string::npos) return one.begin + at;
  }
  return std::nullopt;
}

bool TargetObjects::loader_is_idle() const {
  std::optional<std::string> text;
  try {
    text = read_if_there(fmt::format("/proc/{}/auxv", pid_));
  } catch (const IoError&) {
    return true;
  }
  std::map<uint64_t, uint64_t> auxiliary;
  for (size_t at = 0; text && at + 16 <= text->size(); at += 16) {
    uint64_t pair[2];
    text->copy(reinterpret_cast<char*>(pair), sizeof pair, at);
    auxiliary.emplace(pair[0], pair[1]);
  }
  const uint64_t headers = auxiliary[AT_PHDR], count = auxiliary[AT_PHNUM];
  uint64_t base = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const auto part = memory_.get<Elf64_Phdr>(headers + i * sizeof(Elf64_Phdr));
    if (part && part->p_type == PT_PHDR) base = headers - part->p_vaddr;
  }
  const uint64_t debug = read_dynamic(memory_, headers, count, base)[DT_DEBUG];
  if (debug == 0) return true;
  const auto state = memory_.get<int>(debug + offsetof(r_debug, r_state));
  return !state || *state == r_debug::RT_CONSISTENT;
}

}  // namespace stoker
