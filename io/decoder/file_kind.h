#pragma once

#include <cstdint>
#include <string_view>

#include "io/core/system/memory.h"

// What a file is, as its first bytes say it. Whoever meets a file that it cannot use says so with
// these words: decoders, and `stoker dataset inspect`. Pure functions; any thread.

namespace stoker {

// The formats of images that a decoder here reads; other images; and what is no image.
enum class ImageFormat : uint8_t { jpeg, png, webp, bmp, tiff, pnm, other, none };

// "png": the usual extension of such files. Empty for `other` and `none`.
const char* to_string(ImageFormat format);

// A value, whose texts are static.
struct FileKind {
  ImageFormat format = ImageFormat::none;
  // With its article: "a PNG image", "an HTML page". Empty: not known.
  std::string_view name = {};
  // What can be done about a file that no decoder reads: "unpack it". Empty: it is an image.
  std::string_view advice = {};
};

// Looks at a few bytes of an image, and at more of what is none.
FileKind file_kind(Bytes file);

// Throws what a decoder has to say of a file that it does not read: a BadSample that says what the
// file is, and which decoder reads it or what else can be done. The reason is `empty`,
// `unsupported` for an image of another kind, else `not_an_image`.
[[noreturn]] void refuse_file(Bytes file);

}  // namespace stoker
