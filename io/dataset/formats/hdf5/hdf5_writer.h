#pragma once

#include <memory>
#include <string>

#include "io/dataset/shards/shard_writer.h"

namespace stoker {

// Writes encoded samples as an HDF5 file of four data sets: `images`, all samples one after
// another; `offsets`, where each begins, and the end; `labels`; `keys`, padded by zeros. The
// samples of one object stay in memory until its commit. Fails as ShardFormatWriter, and where
// stoker_hdf5 is not installed (io/dataset/formats/hdf5/process.h).
class Hdf5Writer final : public ShardFormatWriter {
 public:
  struct Options {
    template <class V>
    void visit(V& /*v*/) {}
    WritableInfo info() const { return {".h5"}; }
  };
  Hdf5Writer(const Options& /*options*/, const Inputs& /*inputs*/) {}
  std::unique_ptr<ShardWriter> create(Storage& to, const std::string& key) const override;
};

}  // namespace stoker
