#include "io/core/plugin.h"

#include <dlfcn.h>
#include <elf.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "io/core/error.h"
#include "io/core/file.h"

namespace stoker {
namespace {

// Split so that this library does not carry the mark itself.
const std::string kMark = std::string("@(#)") + "stoker-plugin ";

// dlopen() maps what the file's headers say: beyond its end, touching that is a SIGBUS.
void check_length(const std::string& bytes, const std::string& path) {
  const auto need = [&](uint64_t offset, uint64_t size) {
    if (offset <= bytes.size() && size <= bytes.size() - offset) return;
    throw Error(ExitCode::environment,
                path + ": cut short after " + std::to_string(bytes.size()) +
                    " bytes, before what its ELF header names: build or copy it again");
  };
  Elf64_Ehdr header{};
  need(0, sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    throw Error(ExitCode::config, path + ": no shared library (ELF)");
  }
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const uint64_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    need(at, sizeof(Elf64_Phdr));
    Elf64_Phdr segment{};
    std::memcpy(&segment, bytes.data() + at, sizeof segment);
    need(segment.p_offset, segment.p_filesz);
  }
  need(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize);
}

std::string stamp_of(const std::string& bytes, const std::string& path) {
  const size_t at = bytes.find(kMark);
  if (at == std::string::npos) {
    throw Error(ExitCode::config, path +
                                      ": not a plug-in of this program (no stamp): build it with "
                                      "stoker_add_plugin() of the installed CMake package");
  }
  const size_t begin = at + kMark.size();
  return bytes.substr(begin, bytes.find('\0', begin) - begin);
}

}  // namespace

std::string plugin_stamp() { return STOKER_PLUGIN_STAMP; }

std::string plugin_beside_library(const std::string& name) {
  return program_beside_library(name + ".so");
}

std::string program_beside_library(const std::string& name) {
  Dl_info library{};
  dladdr(&kMark, &library);  // any address of the library will do
  const auto folder = std::filesystem::absolute(library.dli_fname).lexically_normal().parent_path();
  return (folder / "stoker" / name).string();
}

void load_plugin(const std::string& path) {
  if (!std::filesystem::path(path).is_absolute()) {
    throw Error(ExitCode::config, path + ": a plug-in is named by its absolute path");
  }
  const std::optional<std::string> file = read_if_there(path);
  if (!file) throw Error(ExitCode::environment, path + ": cannot be read (is the plug-in built?)");
  const std::string stamp = stamp_of(*file, path);
  if (stamp != plugin_stamp()) {
    throw Error(ExitCode::config, path + ": built for another release; rebuild it\n  plug-in: " +
                                      stamp + "\n  program: " + plugin_stamp());
  }
  check_length(*file, path);
  // Never closed: objects of its classes may live until the end of the process.
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    throw Error(ExitCode::environment, path + ": cannot be loaded: " + dlerror());
  }
}

}  // namespace stoker
