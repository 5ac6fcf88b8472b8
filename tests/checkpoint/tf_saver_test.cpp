#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "io/checkpoint/sets/manifest.h"
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
  std::istringstream index(read(run.set("slow", 1) + "/model.ckpt.index"));
  std::string line;
  std::getline(index, line);
  EXPECT_EQ(line, "name\tdtype\tshape\tshard\toffset\tsize\tcrc32c");
  size_t found = 0;
  for (; std::getline(index, line); ++found) {
    std::vector<std::string> cells;
    std::istringstream columns(line);
    for (std::string cell; std::getline(columns, cell, '\t');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 7u) << line;
    const std::string bytes = data.substr(std::stoul(cells[4]), std::stoul(cells[5]));
    for (const TensorInfo& tensor : small_tensors()) {
      if (tensor.name != cells[0]) continue;
      const std::vector<uint8_t> wanted = small_bytes(tensor, 1);
      EXPECT_EQ(bytes, std::string(wanted.begin(), wanted.end())) << line;
      EXPECT_EQ(cells[1], tensor.dtype);
      EXPECT_EQ(std::stoul(cells[6], nullptr, 16), crc32c({wanted.data(), wanted.size()}));
    }
  }
  EXPECT_EQ(found, small_tensors().size());
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
