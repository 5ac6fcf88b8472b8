#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/core/system/memory.h"
#include "io/dataset/shards/shard_writer.h"

namespace stoker {

// Samples as files of their own, "train/<class>/<name>.jpg": what the formats image_folder and
// file_list write alike. Any thread.

// A shard that is an object for each sample, in the folder of its split beside `key`
// ("out/train-00003": "out/train/"). commit() has nothing to do: each object was durable when its
// sample was added, so that it is the shard's object that is atomic, not the shard.
std::unique_ptr<ShardWriter> write_image_files(Storage& to, const std::string& key,
                                               const std::vector<std::string>& classes);

// "<class>/<name>", without an extension: what stands behind the class in the key, or all of it.
std::string image_file_name(std::string_view key, const std::string& class_name);

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
