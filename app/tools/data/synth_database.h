#pragma once

#include <cstdint>
#include <functional>

#include "app/tools/data/synth.h"

namespace stoker {

// Writes generated pixels as an LMDB database, as Caffe's tools make them of real ones: DIRECTORY/
// train_lmdb/data.mdb and classes.txt. Its records are Datums of 3 x size x size bytes and a label,
// 1,000 a transaction, appended one after the other: with size 32 those of CIFAR10-Large (3 KB),
// with 256 those of ImageNet as LMDBIO's papers store it (192 KB). Needs the memory of a
// transaction. Contract as synth_dataset(); one thread.
SynthResult synth_database(const SynthOptions& options,
                           const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace stoker
