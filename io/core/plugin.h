#pragma once

#include <string>

namespace stoker {

// The number of the plug-in interfaces. The first change of an interface header
// after a release raises it (tests/style_test.py keeps their hash).
#define STOKER_ABI 8

// Loads a plug-in, whose registrars then add its components. `path` must be absolute. The stamp
// that stoker_add_plugin() puts into the file is read from the file and compared before any of its
// code runs. Never unloaded; loading the same file again does nothing. Not thread-safe: call it
// before anything is built. Error(ExitCode::config): no stamp or another release's;
// ExitCode::environment: the file cannot be read or loaded.
void load_plugin(const std::string& path);

// The path where a plug-in of this project lies: the folder `stoker` beside libstoker.so. It need
// not exist.
std::string plugin_beside_library(const std::string& name);
// The same for a program that the library starts.
std::string program_beside_library(const std::string& name);

// What a plug-in must agree with: "abi=1;gxx=12.2.0;torch=2.11.0;cxx11abi=1;" of this program.
std::string plugin_stamp();

}  // namespace stoker
