#include "app/tools/report/run_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

struct RunFilesOnDisk : testing::Test {
  TemporaryDirectory root;
};

TEST_F(RunFilesOnDisk, a_table_has_numbers_and_gaps) {
  root.write("t.csv", "step,loss\n10,0.5\n20,\n30,1e-3\n40");
  const Table table = Table::read(root / "t.csv");
  EXPECT_EQ(table.names(), (std::vector<std::string>{"step", "loss"}));
  EXPECT_EQ(table.rows(), 3u);  // the last line is not whole
  EXPECT_EQ(table.column("loss"), (Table::Column{0.5, std::nullopt, 1e-3}));
  EXPECT_TRUE(table.column("none").empty());
  EXPECT_EQ(Table::read(root / "absent.csv").rows(), 0u);
}

TEST_F(RunFilesOnDisk, what_is_no_finite_number_was_not_measured) {
  const Table table = Table::parse("loss\nnan\n-inf\n1\n", "t.csv");
  EXPECT_EQ(table.column("loss"), (Table::Column{std::nullopt, std::nullopt, 1}));
}

TEST_F(RunFilesOnDisk, what_is_no_table_is_an_error) {
  root.write("t.csv", "a,b\n1,x\n");
  EXPECT_EQ(error_of([&] { Table::read(root / "t.csv"); }),
            root / "t.csv" + ": 'x' is no number; is it a file of stoker's?");
  root.write("u.csv", "a,b\n1\n");
  EXPECT_EQ(error_of([&] { Table::read(root / "u.csv"); }),
            root / "u.csv" + ": a line has 1 fields, its header 2");
}

TEST_F(RunFilesOnDisk, the_newest_run_of_a_folder) {
  EXPECT_EQ(newest_run(root / "", true), root / "");
  for (const char* name : {"b", "a", "c"}) {
    root.write(std::string(name) + "/config.yaml", "{}");
    root.write(std::string(name) + "/overrides", "");
    if (*name != 'c') root.write(std::string(name) + "/summary.json", "{}");
    const auto when =
        std::filesystem::file_time_type::clock::now() + std::chrono::hours(*name == 'b' ? 0 : 1);
    std::filesystem::last_write_time(root / name + "/config.yaml", when);
  }
  std::filesystem::last_write_time(
      root / "c/config.yaml",
      std::filesystem::file_time_type::clock::now() + std::chrono::hours(2));
  EXPECT_EQ(newest_run(root / "", false), root / "c");
  EXPECT_EQ(newest_run(root / "", true), root / "a");
  EXPECT_EQ(newest_run(root / "b", true), root / "b");
}

// More than is read at once.
TEST_F(RunFilesOnDisk, a_table_of_any_length_is_read_row_by_row) {
  constexpr int kRows = 300'000;
  std::string text = "step,loss\n";
  for (int i = 0; i < kRows; ++i) text += std::to_string(i) + ",0.25\n";
  root.write("t.csv", text + "1,2");
  TableReader reader(root / "t.csv");
  const size_t step = reader.find("step"), none = reader.find("none");
  int rows = 0;
  while (reader.next()) {
    ASSERT_EQ(reader.value(step), rows++);
    ASSERT_EQ(reader.value(none), std::nullopt);
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(Table::read(root / "t.csv").rows(), static_cast<size_t>(kRows));
  root.write("u.csv", text + "1,\"2\n");
  EXPECT_NE(error_of([&] { Table::read(root / "u.csv"); }).find("u.csv: line 300002 "),
            std::string::npos);
}

TEST_F(RunFilesOnDisk, a_run_is_read_from_its_directory) {
  root.write("summary.json", R"({"steps": 3})");
  root.write("environment.json", R"({"cpu": "x"})");
  root.write("config.yaml", "run: {}\n");
  root.write("steps.csv", "step\n1\n");
  const RunFiles run = read_run(root.path());
  EXPECT_EQ(run.summary["steps"], 3);
  EXPECT_EQ(run.config, "run: {}\n");
  EXPECT_EQ(run.steps.rows(), 1u);
  EXPECT_EQ(run.timeline.rows(), 0u);
  EXPECT_EQ(read_run_outcome(root.path()).summary, run.summary);
  EXPECT_EQ(read_run_outcome(root.path()).steps.rows(), 0u);
}

TEST_F(RunFilesOnDisk, a_directory_without_a_summary_is_no_run) {
  EXPECT_EQ(error_of([&] { read_run(root.path()); }),
            root / "summary.json" + " is missing: name the directory of a run that has ended");
  root.write("summary.json", "{");
  EXPECT_NE(error_of([&] { read_run(root.path()); }).find("summary.json: "), std::string::npos);
}

}  // namespace
}  // namespace stoker
