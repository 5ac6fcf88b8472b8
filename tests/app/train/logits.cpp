// logits CONFIG SET BATCH [a.b=c...]: puts a checkpoint set into the configuration's model and
// prints its logits for BATCH images of a known pattern, one image a line, as text that a double
// reads back exactly. For safetensors_test.py, which computes the same from the file alone.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "app/experiment/experiment.h"
#include "app/train/step.h"
#include "app/train/tensors.h"
#include "io/checkpoint/restoring/loaded_state.h"
#include "io/storage/file_tree.h"

namespace stoker {
namespace {

// Every value of a byte, in an order without structure (Knuth's multiplicative hash).
at::Tensor pattern(int64_t batch, const SampleSpec& spec) {
  at::Tensor images = at::empty({batch, spec.height, spec.width, spec.channels}, at::kByte);
  auto* pixels = images.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < images.numel(); ++i) {
    pixels[i] = static_cast<uint8_t>(static_cast<uint32_t>(i) * 2654435761U >> 24);
  }
  return images;
}

void print_logits(const std::string& config, const std::filesystem::path& set, int64_t batch,
                  const std::vector<std::string>& overrides) {
  Experiment experiment(read_experiment(config, overrides), [](const std::string&) {});
  TrainStep step(experiment, 1, 1);
  const FileTree tree(set.parent_path().string());
  TrainingTensors(step, at::kCPU).restore(LoadedState(tree, set.filename().string(), 2), 2);
  DeviceBatch input;
  input.images = pattern(batch, experiment.decoder().spec());
  const at::Tensor logits = step.predict(input).contiguous();
  for (int64_t i = 0; i < batch; ++i) {
    for (int64_t j = 0; j < logits.size(1); ++j) {
      fmt::print("{:.9g} ", logits.const_data_ptr<float>()[i * logits.size(1) + j]);
    }
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  try {
    stoker::print_logits(argv[1], argv[2], std::stoll(argv[3]), {argv + 4, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
