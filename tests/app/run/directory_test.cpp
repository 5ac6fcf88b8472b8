#include "app/run/directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "io/core/error.h"
#include "io/core/system/neighbours.h"

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

void refuse_remark(const std::string& remark) { ADD_FAILURE() << remark; }

struct Moved : testing::Test {
  Moved() { fs::remove_all(parent); }
  ~Moved() override { fs::remove_all(parent); }
  const fs::path parent = fs::path(::testing::TempDir()) / "moved_runs_of_this_test";
};

TEST_F(Moved, what_cannot_be_latest_is_a_remark) {
  fs::create_directories(parent / "latest" / "mine");
  std::vector<std::string> remarks;
  RunDirectory run(options_in(parent.string()), {}, alone(),
                   [&](const std::string& remark) { remarks.push_back(remark); });
  run.keep();
  EXPECT_TRUE(fs::exists(run.path() + "/config.yaml"));
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("latest: Is a directory"), std::string::npos) << remarks[0];
  EXPECT_TRUE(fs::is_directory(parent / "latest" / "mine"));
  for (const auto& entry : fs::directory_iterator(parent)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
  }
}

TEST_F(Moved, a_directory_that_was_renamed_is_written_where_it_is) {
  const RunDirectory run(options_in(parent.string()), {}, alone(), refuse_remark);
  EXPECT_EQ(run.moved(), "");
  const std::string now = (parent / "kept").string();
  fs::rename(run.path(), now);
  EXPECT_EQ(run.moved(), run.path() + " was renamed to " + fs::canonical(now).string());
  run.write("summary.json", "{}");
  EXPECT_EQ(text_of(now + "/summary.json"), "{}");
  EXPECT_FALSE(fs::exists(run.path()));
}

TEST_F(Moved, a_directory_that_was_removed_is_not_made_again) {
  const RunDirectory run(options_in(parent.string()), {}, alone(), refuse_remark);
  fs::remove_all(run.path());
  EXPECT_EQ(run.moved(), run.path() + " was removed");
  EXPECT_THROW(run.write("summary.json", "{}"), Error);
  EXPECT_FALSE(fs::exists(run.path()));
  fs::create_directory(run.path());  // somebody else's
  EXPECT_EQ(run.moved(), run.path() + " was removed");
}

TEST(RunDirectory, every_run_gets_its_own_and_latest_points_to_the_newest) {
  const fs::path parent = fs::path(::testing::TempDir()) / "runs_of_this_test";
  fs::remove_all(parent);
  const ExperimentOptions options = options_in(parent.string());
  RunDirectory first(options, {}, alone(), refuse_remark),
      second(options, {"a=b"}, alone(), refuse_remark);
  first.keep();
  second.keep();
  EXPECT_NE(first.path(), second.path());
  EXPECT_TRUE(fs::path(first.path()).filename().string().starts_with("trial-20"));
  EXPECT_EQ(fs::canonical(parent / "latest"), fs::canonical(second.path()));
  EXPECT_EQ(text_of(second.path() + "/config.yaml"), resolved_yaml(options));
  EXPECT_EQ(text_of(second.path() + "/overrides"), "a=b\n");
  fs::remove_all(parent);
}

TEST_F(Moved, a_start_that_fails_leaves_no_directory_and_latest_alone) {
  RunDirectory good(options_in(parent.string()), {}, alone(), refuse_remark);
  good.keep();
  std::string failed;
  {
    const RunDirectory run(options_in(parent.string()), {}, alone(), refuse_remark);
    failed = run.path();
    EXPECT_TRUE(is_in_use(failed));
  }
  EXPECT_FALSE(fs::exists(failed));
  EXPECT_EQ(fs::canonical(parent / "latest"), fs::canonical(good.path()));
}

TEST_F(Moved, a_directory_is_in_use_until_its_run_ends) {
  std::string path;
  {
    RunDirectory run(options_in(parent.string()), {}, alone(), refuse_remark);
    run.keep();
    path = run.path();
    EXPECT_TRUE(is_in_use(path));
  }
  EXPECT_TRUE(fs::exists(path));
  EXPECT_FALSE(is_in_use(path));
}

}  // namespace
}  // namespace stoker
