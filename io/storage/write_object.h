#pragma once

#include <string>

#include "io/storage/storage.h"

namespace stoker {

// Writes a whole object in one call: durable, and visible under its key, when it returns. Any
// thread. IoError as the tier's; then nothing was left.
void write_object(Storage& to, const std::string& key, Bytes bytes);

}  // namespace stoker
