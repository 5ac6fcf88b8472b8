#pragma once

#include <memory>
#include <string>
#include <string_view>

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

}  // namespace stoker
