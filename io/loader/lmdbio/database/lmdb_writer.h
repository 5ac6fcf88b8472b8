#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/core/sample_spec.h"
#include "io/dataset/shards/shard_writer.h"
#include "io/storage/storage.h"

namespace stoker {

// Begins a database of Caffe's kind: keys "00000012_<key>", values Datum. liblmdb makes it in a
// file in the folder for temporary files (TMPDIR), which is copied to the tier at the end. pixels:
// what the samples are, if they are rows of RGB and not image files. Contract as
// ShardFormatWriter::create.
std::unique_ptr<ShardWriter> create_lmdb(Storage& to, const std::string& key,
                                         std::optional<SampleSpec> pixels = {});

}  // namespace stoker
