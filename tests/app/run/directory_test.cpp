#include "app/run/directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace stoker {
namespace {

namespace fs = std::filesystem;

ExperimentOptions options_in(const std::string& dir) {
  const std::string path = ::testing::TempDir() + "experiment.yaml";
  std::ofstream(path) << "run: {name: trial, dir: " << dir << "}\nstorage: {data: {type: memory}}\n"
                      << "dataset: {type: image_folder, storage: data}\n";
  return read_experiment(path, {});
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(RunDirectory, every_run_gets_its_own_and_latest_points_to_the_newest) {
  const fs::path parent = fs::path(::testing::TempDir()) / "runs_of_this_test";
  fs::remove_all(parent);
  const ExperimentOptions options = options_in(parent.string());
  const RunDirectory first(options, {}, alone()), second(options, {"a=b"}, alone());
  EXPECT_NE(first.path(), second.path());
  EXPECT_TRUE(fs::path(first.path()).filename().string().starts_with("trial-20"));
  EXPECT_EQ(fs::canonical(parent / "latest"), fs::canonical(second.path()));
  EXPECT_EQ(text_of(second.path() + "/config.yaml"), resolved_yaml(options));
  EXPECT_EQ(text_of(second.path() + "/overrides"), "a=b\n");
  fs::remove_all(parent);
}

}  // namespace
}  // namespace stoker
