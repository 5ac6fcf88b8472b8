#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "io/checkpoint/sets/manifest.h"
#include "io/checkpoint/sets/tensor_bundle.h"
#include "io/core/crc32c.h"
#include "tests/support/checkpoint_run.h"

namespace stoker {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string kSaver =
    "type: direct, slow: slow, every_steps: 1, keep_last: 2, layout: tf_saver, write: stdio, "
    "threads: 1, durability: none";

TEST(TfSaver, a_set_has_the_files_of_the_saver) {
  CheckpointRun run;
  run.start(kSaver);
  run.save(1);
  EXPECT_EQ(FileTree(run.set("slow", 1)).list(""),
            (std::vector<std::string>{"MANIFEST.json", "model.ckpt.data-00000-of-00001",
                                      "model.ckpt.index", "model.ckpt.meta"}));
  EXPECT_EQ(run.resume(kSaver + ", resume: latest"), 1);
}

TEST(TfSaver, the_index_says_where_every_tensor_lies_and_its_sum) {
  CheckpointRun run;
  run.start(kSaver);
  run.save(1);
  const std::string data = read(run.set("slow", 1) + "/model.ckpt.data-00000-of-00001");
  const std::string index = read(run.set("slow", 1) + "/model.ckpt.index");
  const TensorBundle bundle =
      parse_bundle_index({reinterpret_cast<const uint8_t*>(index.data()), index.size()});
  EXPECT_EQ(bundle.files, 1u);
  ASSERT_EQ(bundle.tensors.size(), small_tensors().size());
  for (const BundleTensor& found : bundle.tensors) {
    for (const TensorInfo& tensor : small_tensors()) {
      if (tensor.name != found.name) continue;
      const std::vector<uint8_t> wanted = small_bytes(tensor, 1);
      EXPECT_EQ(data.substr(found.offset, found.bytes), std::string(wanted.begin(), wanted.end()));
      EXPECT_EQ(TensorInfo({found.name, found.dtype, found.shape, found.bytes}), tensor);
      EXPECT_EQ(found.sum, crc32c({wanted.data(), wanted.size()}));
    }
  }
}

TEST(TfSaver, a_set_is_resumed_by_the_prefix_that_tensorflow_takes) {
  CheckpointRun run;
  run.start(kSaver);
  run.save(1);
  run.save(2);
  const std::string prefix = run.set("slow", 1) + "/model.ckpt";
  EXPECT_EQ(run.resume(kSaver + ", resume: " + prefix), 1);
}

// As releases before wrote it: a table of text, which the manifest sums as any other file.
TEST(TfSaver, a_set_with_the_old_index_is_resumed) {
  CheckpointRun run;
  run.start(kSaver);
  run.save(1);
  const std::string set = run.set("slow", 1);
  Manifest manifest = parse_manifest(read(set + "/" + kManifestName));
  const std::string old = "name\tdtype\tshape\tshard\toffset\tsize\tcrc32c\n";
  for (FileSums& file : manifest.files) {
    if (!file.name.ends_with(".index")) continue;
    file = sums_of(file.name, {reinterpret_cast<const uint8_t*>(old.data()), old.size()});
    std::ofstream(set + "/" + file.name) << old;
  }
  std::ofstream(set + "/" + kManifestName) << manifest_text(manifest);
  EXPECT_EQ(run.resume(kSaver + ", resume: latest"), 1);
}

// Every path that a tier's state file names, the newest first.
std::vector<std::string> state_file(const CheckpointRun& run, const std::string& tier) {
  std::vector<std::string> paths;
  std::istringstream text(read(run.path(tier) + "/run/checkpoint"));
  for (std::string line; std::getline(text, line);) {
    const size_t begin = line.find('"');
    paths.push_back(line.substr(begin + 1, line.rfind('"') - begin - 1));
    const std::string key =
        paths.size() == 1 ? "model_checkpoint_path: " : "all_model_checkpoint_paths: ";
    EXPECT_EQ(line.substr(0, begin), key);
  }
  return paths;
}

std::vector<std::string> wanted(const std::vector<int64_t>& steps) {
  std::vector<std::string> paths = {set_name(steps.back()) + "/model.ckpt"};
  for (const int64_t step : steps) paths.push_back(set_name(step) + "/model.ckpt");
  return paths;
}

TEST(TfSaver, the_state_file_names_the_sets_that_are_there) {
  CheckpointRun run;
  run.start(kSaver);
  for (int64_t step = 1; step <= 5; ++step) {
    run.save(step);
    EXPECT_EQ(state_file(run, "slow"), wanted(run.steps("slow")));
  }
  EXPECT_EQ(run.steps("slow"), (std::vector<int64_t>{4, 5}));
}

TEST(TfSaver, the_state_files_of_both_tiers_name_the_sets_that_are_there) {
  CheckpointRun run;
  run.start(
      "type: burst_buffer, fast: fast, slow: slow, every_steps: 1, keep_last: 2, layout: tf_saver");
  for (int64_t step = 1; step <= 5; ++step) {
    run.save(step);
    EXPECT_TRUE(run->flush());
    EXPECT_EQ(state_file(run, "slow"), wanted(run.steps("slow")));
    EXPECT_EQ(state_file(run, "fast"), wanted(run.steps("fast")));
  }
}

TEST(TfSaver, other_layouts_have_no_state_file) {
  CheckpointRun run;
  run.start("type: direct, slow: slow, every_steps: 1");
  run.save(1);
  EXPECT_FALSE(std::filesystem::exists(run.path("slow") + "/run/checkpoint"));
  EXPECT_EQ(read(run.path("slow") + "/run/latest"), "step-0000000001\n");
}

}  // namespace
}  // namespace stoker
