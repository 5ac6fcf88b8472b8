#include "io/core/config/plugin.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "io/core/config/part_check.h"
#include "io/core/error.h"
#include "io/core/system/file.h"

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

// Null: the library with LibTorch is not loaded.
std::atomic<const char*>& torch_stamp() {
  static std::atomic<const char*> stamp = nullptr;
  return stamp;
}

// The folder of the library that this function is in.
std::filesystem::path library_folder() {
  Dl_info library{};
  dladdr(&kMark, &library);  // any address of the library will do
  return std::filesystem::absolute(library.dli_fname).lexically_normal().parent_path();
}

std::string& being_loaded() {
  thread_local std::string path;
  return path;
}

// Returns the stamp of plug-ins with LibTorch. Its library is loaded for the first of them: what it
// registers itself is in no plug-in.
std::string need_torch(const std::string& path) {
  if (torch_stamp() == nullptr) {
    const std::string library = library_folder() / "libstoker.so";
    const std::string outer = std::exchange(being_loaded(), "");
    const void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    const std::string problem = loaded == nullptr ? dlerror() : "";
    being_loaded() = outer;
    if (loaded == nullptr) {
      throw Error(ExitCode::environment,
                  path + ": it needs LibTorch and the library of the trainer: " + problem);
    }
  }
  return torch_stamp().load();
}

void check_stamp(const std::string& stamp, const std::string& path) {
  const bool with_torch = stamp.find("torch=") != std::string::npos;
  const std::string own = with_torch ? need_torch(path) : plugin_stamp();
  if (stamp == own) return;
  throw Error(ExitCode::config, path + ": built for another release; rebuild it\n  plug-in: " +
                                    stamp + "\n  program: " + own);
}

// The plug-ins beside the library whose names are not those of this project's own.
std::vector<std::string> plugins_of_others() {
  std::vector<std::string> paths;
  std::error_code error;
  const std::filesystem::path folder(program_beside_library(""));
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".so") && !name.starts_with("stoker_") && name != "counted_calls.so") {
      paths.push_back(entry.path().string());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

std::string plugin_stamp() { return STOKER_PLUGIN_STAMP; }

TorchStamp::TorchStamp(const char* stamp) { torch_stamp() = stamp; }

const std::string& plugin_being_loaded() { return being_loaded(); }

const std::vector<PluginType>& plugin_types() {
  static const std::vector<PluginType> all{
#include <stoker_plugin_types.h>
  };
  return all;
}

std::string plugin_beside_library(const std::string& name) {
  return program_beside_library(name + ".so");
}

std::string program_beside_library(const std::string& name) {
  return (library_folder() / "stoker" / name).string();
}

std::string share_of_library() {
  return (library_folder().parent_path() / "share/stoker").string();
}

void load_plugin(const std::string& path) {
  if (!std::filesystem::path(path).is_absolute()) {
    throw Error(ExitCode::config, path + ": a plug-in is named by its absolute path");
  }
  const std::optional<std::string> file = read_if_there(path);
  if (!file) throw Error(ExitCode::environment, path + ": cannot be read (is the plug-in built?)");
  const std::string stamp = stamp_of(*file, path);
  check_stamp(stamp, path);
  check_length(*file, path);
  const std::string outer = std::exchange(being_loaded(), path);
  // Never closed: objects of its classes may live until the end of the process.
  const void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string problem = loaded == nullptr ? dlerror() : "";
  being_loaded() = outer;
  if (loaded == nullptr) {
    throw Error(ExitCode::environment, path + ": cannot be loaded: " + problem);
  }
}

std::string load_type(const std::string& kind, const std::string& type) {
  for (const PluginType& known : plugin_types()) {
    if (kind != known.kind || type != known.type) continue;
    const std::string path = plugin_beside_library(known.plugin);
    const std::string where = fmt::format("{} '{}' is in the plug-in {}", kind, type, path);
    if (!std::filesystem::exists(path)) {
      return where + ", which is not there: build the target " + known.plugin +
             ", or install it (./run.sh list builds all of them; of the wheels, stoker-train has "
             "the trainer's)";
    }
    try {
      load_plugin(path);
      return "";
    } catch (const Error& error) {
      return where + ", which cannot be used: " + error.what();
    }
  }
  for (const std::string& path : plugins_of_others()) {
    try {
      load_plugin(path);
    } catch (const Error&) {  // it may have nothing to do with this type; `list` names it
    }
  }
  return "";
}

std::vector<FailedPlugin> load_all_plugins() {
  std::vector<std::string> paths = plugins_of_others();
  for (const PluginType& known : plugin_types()) {
    const std::string path = plugin_beside_library(known.plugin);
    if (std::string_view(known.kind) != "command" &&
        std::ranges::find(paths, path) == paths.end()) {
      paths.push_back(path);
    }
  }
  std::vector<FailedPlugin> failed;
  for (const std::string& path : paths) {
    try {
      load_plugin(path);
    } catch (const Error& error) {
      failed.push_back({path, error.what()});
    }
  }
  return failed;
}

template <>
Registry<PartCheck>& Registry<PartCheck>::global() {
  static Registry<PartCheck> registry;
  return registry;
}

}  // namespace stoker
