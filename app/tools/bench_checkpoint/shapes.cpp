#include "app/tools/bench_checkpoint/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr int64_t kMostRanks = 65'536;

const std::array<CheckpointShape, 4>& shapes() {
  static const std::array<CheckpointShape, 4> all{
      {{"llama3-8b", 4096, 14336, 32, 8, 32, 128256, {1, 1, 8}, 3, "105 GB"},
       {"llama3-70b", 8192, 28672, 128, 8, 80, 128256, {8, 1, 8}, 3, "912 GB"},
       {"llama3-405b", 16384, 53248, 128, 8, 126, 128256, {8, 32, 2}, 1, "5.29 TB"},
       {"llama3-1t", 25872, 98304, 192, 32, 128, 128256, {8, 64, 2}, 1, "18 TB"}}};
  return all;
}

// Columns of K and V together.
int64_t kv_columns(const CheckpointShape& shape) {
  return 2 * (shape.hidden / shape.heads * shape.kv_heads);
}

// Elements of the tensors of a layer, of one rank. zero: ranks among which they are divided.
std::vector<int64_t> layer_elements(const CheckpointShape& shape, const Parallel& parallel,
                                    int64_t layer, int64_t zero) {
  const int64_t h = shape.hidden, tp = parallel.tensor;
  if (layer == 0 || layer == shape.layers + 1) return {h * shape.vocabulary / tp / zero};
  if (layer == shape.layers + 2) return {h / zero};
  return {h / zero, h * (h + kv_columns(shape)) / tp / zero, h * h / tp / zero,
          h / zero, h * 2 * shape.ffn / tp / zero,           h * shape.ffn / tp / zero};
}

// First and last layer of a stage of the pipeline: those of the transformer as evenly as may be,
// the first stage with the embedding, the last with the head and the last norm.
std::pair<int64_t, int64_t> layers_of_stage(const CheckpointShape& shape, int64_t stages,
                                            int64_t stage) {
  const int64_t each = shape.layers / stages, more = shape.layers % stages;
  const int64_t before = stage * each + std::min(stage, more);
  const int64_t first = before + 1, last = before + each + (stage < more ? 1 : 0);
  return {stage == 0 ? 0 : first, stage == stages - 1 ? shape.layers + 2 : last};
}

TensorInfo made(const std::string& name, const char* dtype, int64_t elements, double scale) {
  const auto scaled = static_cast<int64_t>(static_cast<double>(elements) * scale);
  TensorInfo tensor{name, dtype, {scale == 1 ? elements : std::max<int64_t>(1, scaled)}, 0};
  tensor.bytes = *tensor_bytes(tensor.dtype, tensor.shape);
  return tensor;
}

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const CheckpointShape& shape : shapes()) names.push_back(shape.name);
  return names;
}

// How an optimizer's state is made of tensors of the parameters' size, all of F32: "adamw" has
// three (the weights, exp_avg, exp_avg_sq), "sgd" two (the weights, momentum), "none" none.
int64_t optimizer_groups(const std::string& optimizer) {
  if (optimizer == "adamw") return 3;
  return optimizer == "sgd" ? 2 : 0;
}

}  // namespace

std::string to_string(const Parallel& parallel) {
  return fmt::format("tp={},pp={},dp={}", parallel.tensor, parallel.pipeline, parallel.data);
}

uint64_t CheckpointShape::parameters() const {
  const int64_t layer =
      hidden + hidden * (hidden + kv_columns(*this)) + hidden * hidden + hidden + 3 * ffn * hidden;
  return static_cast<uint64_t>(2 * vocabulary * hidden + layer * layers + hidden);
}

const CheckpointShape& find_shape(const std::string& name) {
  const auto found = std::ranges::find(shapes(), name, &CheckpointShape::name);
  if (found != shapes().end()) return *found;
  throw Error(ExitCode::config,
              fmt::format("--shape: there is no '{}'{}", name, suggestion(name, shape_names())));
}

Parallel parse_parallel(const std::string& text, const Parallel& usual) {
  Parallel parallel = usual;
  const std::pair<std::string_view, int64_t*> known[] = {
      {"tp", &parallel.tensor}, {"pp", &parallel.pipeline}, {"dp", &parallel.data}};
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view number = part.substr(std::min(part.size(), equals + 1));
    int64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool whole = error == std::errc() && end == number.data() + number.size();
    const auto* const which =
        std::ranges::find(known, part.substr(0, equals), [](const auto& one) { return one.first; });
    if (which == std::end(known) || !whole || value < 1 || value > kMostRanks) {
      throw Error(
          ExitCode::config,
          fmt::format("--parallel: '{}' is none of tp=N, pp=N, dp=N, such as tp=8,pp=4,dp=2",
                      part));
    }
    *which->second = value;
  }
  if (parallel.ranks() > kMostRanks) {
    throw Error(ExitCode::config, fmt::format("--parallel: {} are {} ranks; at most {}",
                                              to_string(parallel), parallel.ranks(), kMostRanks));
  }
  return parallel;
}

std::vector<TensorInfo> tensors_of_rank(const CheckpointShape& shape, const Parallel& parallel,
                                        int64_t rank, const std::string& optimizer, double scale) {
  const int64_t stage = rank / parallel.tensor % parallel.pipeline;
  const int64_t data_rank = rank / (parallel.tensor * parallel.pipeline);
  std::vector<TensorInfo> tensors;
  const auto add = [&](const std::string& name, const char* dtype, int64_t elements) {
    if (elements > 0) tensors.push_back(made(name, dtype, elements, scale));
  };
  if (shape.zero_stage == 3 || data_rank == 0) {
    const int64_t zero = shape.zero_stage == 3 ? parallel.data : 1;
    const auto [first, last] = layers_of_stage(shape, parallel.pipeline, stage);
    for (int64_t layer = first; layer <= last; ++layer) {
      const std::vector<int64_t> elements = layer_elements(shape, parallel, layer, zero);
      for (size_t i = 0; i < elements.size(); ++i) {
        add(fmt::format("model.{}.{}", layer, i), "F16", elements[i]);
      }
    }
  }
  const auto share = static_cast<int64_t>(shape.parameters()) / parallel.ranks();
  for (int64_t group = 0; group < optimizer_groups(optimizer); ++group) {
    add(fmt::format("optimizer.{}", 2 * group), "F32", share);
    add(fmt::format("optimizer.{}", 2 * group + 1), "F32", 5 * shape.hidden);
  }
  return tensors;
}

// Tensor-parallel ranks are alike, and so are all data-parallel ones but the first.
uint64_t bytes_of_all_ranks(const CheckpointShape& shape, const Parallel& parallel,
                            const std::string& optimizer, double scale) {
  uint64_t bytes = 0;
  for (int64_t stage = 0; stage < parallel.pipeline; ++stage) {
    for (int64_t data = 0; data < std::min<int64_t>(2, parallel.data); ++data) {
      const int64_t rank = (data * parallel.pipeline + stage) * parallel.tensor;
      const int64_t alike = parallel.tensor * (data == 0 ? 1 : parallel.data - 1);
      for (const TensorInfo& tensor : tensors_of_rank(shape, parallel, rank, optimizer, scale)) {
        bytes += tensor.bytes * static_cast<uint64_t>(alike);
      }
    }
  }
  return bytes;
}

}  // namespace stoker
