#pragma once

#include <memory>
#include <string>

#include "io/storage/storage.h"

namespace stoker {

// A directory as a tier, for commands that take the path of one. Throws IoError.
std::unique_ptr<Storage> open_directory(const std::string& root);

}  // namespace stoker
