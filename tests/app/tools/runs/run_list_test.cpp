#include "app/tools/runs/run_list.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "app/tools/report/run_files.h"
#include "app/tools/runs/shared_config.h"
#include "io/core/error.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

struct RunLists : testing::Test {
  TemporaryDirectory root;

  void run(const std::string& name, int seed, double rate) const {
    root.write(name + "/config.yaml", "run:\n  name: " + name + "\n  seed: " +
                                          std::to_string(seed) + "\nloader:\n  type: sync\n");
    root.write(name + "/overrides", "");
    root.write(name + "/environment.json", "{}");
    root.write(
        name + "/summary.json",
        R"({"status": "completed", "notes": [{"status": "failed"}], "verdict": {"level": "fine"},)"
        R"( "started_unix_s": )" +
            std::to_string(seed) + R"(, "images_per_s": )" + std::to_string(rate) + "}");
  }
};

TEST_F(RunLists, what_has_not_changed_is_not_read_again) {
  for (int i = 1; i <= 20; ++i) run("run-" + std::to_string(i), i, 10 * i);
  RunIndex index(root.path(), "device.busy_s");
  const RunIndex::List first = index.list();
  ASSERT_EQ(first->size(), 20U);
  EXPECT_EQ(index.files_read(), 40U);
  const ListedRun& third = first->at(2);
  EXPECT_EQ(third.state, RunState::completed);
  EXPECT_EQ(third.verdict, "fine");
  EXPECT_EQ(third.figure("images_per_s"), 30);
  EXPECT_EQ(third.differs, (std::vector<std::pair<std::string, std::string>>{{"run.seed", "3"}}));
  EXPECT_EQ(index.list(), first);
  EXPECT_EQ(index.files_read(), 40U);
  run("run-3", 3, 99);
  run("run-21", 21, 1);
  const RunIndex::List second = index.list();
  EXPECT_EQ(second->size(), 21U);
  EXPECT_EQ(second->at(2).figure("images_per_s"), 99);
  EXPECT_EQ(index.files_read(), 44U);
  std::filesystem::remove_all(root / "run-1");
  EXPECT_EQ(index.list()->size(), 20U);
  EXPECT_EQ(index.files_read(), 44U);
}

TEST_F(RunLists, a_summary_that_is_cut_or_another_programs_is_none) {
  run("good", 1, 1);
  run("bad", 2, 1);
  for (const char* text :
       {"", "[1]", "{", "{\"a\": \"", "{\"a\": 1} x", "{\"status\": \"completed\""}) {
    root.write("bad/summary.json", text);
    const std::vector<ListedRun> runs = list_runs(root.path());
    ASSERT_EQ(runs.size(), 2U);
    for (const ListedRun& one : runs) EXPECT_EQ(one.summarised, one.name == "good") << text;
  }
}

// Whatever the file is, its leaves are those of the parser of YAML.
TEST(SharedConfig, has_the_leaves_of_the_whole_file) {
  for (const std::string text :
       {"run:\n  name: a\n  seed: 08\n  dir: x\nloader:\n  type: sync\n  deep:\n    of: {a: 1, b: "
        "[2, no]}\n",
        "# a comment\n\nmetrics:\n  sinks:\n    - type: csv\n    - type: trace\n      steps: "
        "5\nempty: {}\nnothing:\n",
        "text: |\n  a: 1\n\n  b: 2\nfolded: one\n  two\nquoted: \"a\n  b: c\"\n",
        "sinks:\n- a\n- b\nx: 1\n", "a:\n  \"x\n  b: c\"\n", "a: 1\na: 2\n", "a:\n  b: 1\n  b: 2\n",
        "- 1\n", "a: [1,\n2]\n", "---\na: 1\n", "", "a.b: 1\na.c: 2\n", "a:\n   b: 1\n",
        "a:\n  b: 1", "a: &x 1\n", "'run': {name: x, seed: 1}\n"}) {
    Leaves whole;
    try {
      RunFiles files;
      files.config = text;
      whole = config_leaves(files);
    } catch (const Error&) {
    }
    whole.erase("");  // of an empty file
    SharedConfigs configs;
    Leaves shared;
    for (const auto& part : configs.read(text)) shared.insert(part->begin(), part->end());
    EXPECT_EQ(shared, whole) << text;
  }
}

}  // namespace
}  // namespace stoker
