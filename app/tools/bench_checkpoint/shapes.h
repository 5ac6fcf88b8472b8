#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/checkpoint/saving/layout.h"

// The states of MLPerf Storage's checkpoint workloads (v2.0 and v3.0 have the same four): models of
// LLaMA 3's form, as its table 2 has them, divided among processes by the rules of DLIO
// (dlio_benchmark, checkpointing/base_checkpointing.py), which MLPerf runs. Values and pure
// functions; any thread.

namespace stoker {

// Sizes of tensor, pipeline and data parallelism.
struct Parallel {
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t data = 1;
  int64_t ranks() const { return tensor * pipeline * data; }
  bool operator==(const Parallel&) const = default;
};
std::string to_string(const Parallel& parallel);

// A model, and how MLPerf divides it.
struct CheckpointShape {
  std::string name;
  int64_t hidden = 0;
  int64_t ffn = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t layers = 0;
  int64_t vocabulary = 128256;
  Parallel parallel;
  int zero_stage = 0;     // of DeepSpeed's ZeRO: 1 divides the optimizer, 3 the weights, too
  std::string published;  // the size of a checkpoint in MLPerf's table, in its units

  uint64_t parameters() const;
};

// Error(ExitCode::config) for another name, with a suggestion.
const CheckpointShape& find_shape(const std::string& name);

// "tp=8,pp=4,dp=2"; what is not named stays as in `usual`. Error(ExitCode::config).
Parallel parse_parallel(const std::string& text, const Parallel& usual);

// The tensors that a rank saves, as DLIO has them: one-dimensional, the model's of F16 and the
// optimizer's of F32. "model.<layer>.<i>": layer 0 is the embedding, 1 to n are the transformer's
// (i: norm, attention, its output, norm, the two halves of the feed-forward network, its output), n
// + 1 is the head, n + 2 the last norm. "optimizer.<i>": for each group its parameters, and the
// rest. With ZeRO 1 only the first of the data-parallel ranks has the model; with 3 all have a part
// of it. scale: each tensor has this share of its elements, and one at least.
std::vector<TensorInfo> tensors_of_rank(const CheckpointShape& shape, const Parallel& parallel,
                                        int64_t rank, const std::string& optimizer, double scale);

// Bytes of all ranks' tensors.
uint64_t bytes_of_all_ranks(const CheckpointShape& shape, const Parallel& parallel,
                            const std::string& optimizer, double scale);

}  // namespace stoker
