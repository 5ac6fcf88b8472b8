#include "io/core/plugin.h"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "io/core/error.h"

namespace stoker {
namespace {

// Split so that this library does not carry the mark itself.
const std::string kMark = std::string("@(#)") + "stoker-plugin ";

std::string read_stamp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ExitCode::environment, path + ": cannot be read (is the plug-in built?)");
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
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
  Dl_info library{};
  dladdr(&kMark, &library);  // any address of the library will do
  return (std::filesystem::absolute(library.dli_fname).parent_path() / "stoker" / (name + ".so"))
      .string();
}

void load_plugin(const std::string& path) {
  if (!std::filesystem::path(path).is_absolute()) {
    throw Error(ExitCode::config, path + ": a plug-in is named by its absolute path");
  }
  const std::string stamp = read_stamp(path);
  if (stamp != plugin_stamp()) {
    throw Error(ExitCode::config, path + ": built for another release; rebuild it\n  plug-in: " +
                                      stamp + "\n  program: " + plugin_stamp());
  }
  // Never closed: objects of its classes may live until the end of the process.
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    throw Error(ExitCode::environment, path + ": cannot be loaded: " + dlerror());
  }
}

}  // namespace stoker
