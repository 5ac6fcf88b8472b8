#pragma once

#include <string>
#include <vector>

namespace stoker {

// The number of the plug-in interfaces. The first change of an interface header
// after a release raises it (tests/style_test.py keeps their hash).
#define STOKER_ABI 9

// Loads a plug-in, whose registrars then add its components. `path` must be absolute. The stamp
// that stoker_add_plugin() puts into the file is read from the file and compared before any of its
// code runs. Never unloaded; loading the same file again does nothing. Any thread.
// Error(ExitCode::config): no stamp or another release's; ExitCode::environment: the file cannot be
// read or loaded, or LibTorch cannot that it needs.
void load_plugin(const std::string& path);

// A type that comes in a plug-in of this project, beside the library. A value.
struct PluginType {
  const char* kind;
  const char* type;
  const char* plugin;
};
// All of them, whether the plug-ins are there or not: the build's own list.
const std::vector<PluginType>& plugin_types();

// Loads what may bring this type: the plug-in of this project that has it, or, where none has it,
// all other plug-ins that lie in the folder beside the library. Returns why it cannot be had, for a
// message; empty: it may be there now, or nobody knows of it. Any thread.
std::string load_type(const std::string& kind, const std::string& type);

// A plug-in that could not be loaded, and why. A value.
struct FailedPlugin {
  std::string path;
  std::string why;
};
// Loads all plug-ins beside the library that bring types of components: those of this project, and
// those that somebody else put there. The commands' own are left out. Any thread.
std::vector<FailedPlugin> load_all_plugins();

// The path of the plug-in that is being loaded by this thread; empty: none is.
const std::string& plugin_being_loaded();

// The path where a plug-in of this project lies: the folder `stoker` beside libstoker_core.so. It
// need not exist.
std::string plugin_beside_library(const std::string& name);
// The same for a program that the library starts.
std::string program_beside_library(const std::string& name);
// The folder of the configurations and data that are installed with the library: share/stoker,
// beside the library's folder. It need not exist.
std::string share_of_library();

// What a plug-in must agree with: "abi=1;gxx=12.2.0;cxx11abi=1;". A plug-in that uses LibTorch has
// "torch=2.11.0;" in it, too, and agrees with the libstoker.so beside this library, which is loaded
// for the first of them.
std::string plugin_stamp();

// The library that is built with LibTorch adds the stamp of plug-ins that use it, when it is
// loaded.
class TorchStamp {
 public:
  // A literal.
  explicit TorchStamp(const char* stamp);
};

}  // namespace stoker
