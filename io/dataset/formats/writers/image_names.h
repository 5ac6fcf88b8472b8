#pragma once

#include <string>
#include <string_view>

#include "io/core/system/memory.h"

namespace stoker {

// Names of files for samples whose keys come from any format. Pure; any thread.

// What the bytes are, by how they begin: "jpg", "png", "bmp" or "webp". If they begin otherwise,
// the key's extension decides, or "jpg" if that is another one.
std::string image_extension(Bytes bytes, std::string_view key);

// The key without an image's extension, if it has one.
std::string_view without_image_extension(std::string_view key);

// A key as a path of parts that every file system and reader takes: parts that are empty or "." go,
// control characters and a '.' that begins a part become '_'. Text, as keys are
// (io/core/text/text.h). Different keys may become the same.
std::string plain_path(std::string_view key);

}  // namespace stoker
