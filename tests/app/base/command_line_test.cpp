#include "app/base/command_line.h"

#include <gtest/gtest.h>

#include "io/core/config/config.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

// "tool work NAME [--size 1KiB] [--threads 1,2] [--fast|--slow] [--json]"
struct Tool : testing::Test {
  Tool() {
    const Command work = line.root().add_group("group", "does work").add("work", "works");
    work.argument("NAME", name, "whose").required();
    work.argument("--size", size, "bytes");
    work.argument("--threads", threads, "numbers").range(1, 4);
    const Argument fast = work.flag("--fast", is_fast, "soon");
    work.flag("--slow", is_slow, "late").excludes(fast);
    work.argument("--steps", steps, "at most").positive();
    work.run([this] {
      ++ran;
      return ExitCode::threshold;
    });
  }
  ExitCode run(std::vector<std::string> words) {
    words.insert(words.begin(), {"group", "work"});
    return line.run(words);
  }
  CommandLine line{"tool", "a tool", "tool 1"};
  std::string name;
  ByteSize size{4096};
  std::vector<int64_t> threads{1, 2};
  std::optional<int64_t> steps;
  bool is_fast = false;
  bool is_slow = false;
  int ran = 0;
};

TEST_F(Tool, reads_every_kind_of_argument_and_gives_what_the_command_gives) {
  EXPECT_EQ(run({"x", "--size", "1KiB", "--threads", "3,4", "--steps", "5", "--fast"}),
            ExitCode::threshold);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(name, "x");
  EXPECT_EQ(size.bytes, 1024u);
  EXPECT_EQ(threads, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(steps, 5);
  EXPECT_TRUE(is_fast);
}

TEST_F(Tool, a_tilde_is_read_as_a_shell_reads_it) {
  for (const char* word : {"~/data", "~"}) {
    run({word});
    EXPECT_EQ(name, with_home(word));
    EXPECT_NE(name, word);
  }
  run({"a/~/b"});
  EXPECT_EQ(name, "a/~/b");
}

TEST_F(Tool, a_slip_in_an_option_is_found) {
  EXPECT_EQ(error_of([this] {
              run({"x", "--treads", "2"});
            }),
            "unknown option '--treads' (did you mean '--threads'?)");
  EXPECT_EQ(error_of([this] {
              run({"x", "--sise=2"});
            }),
            "unknown option '--sise' (did you mean '--size'?)");
}

TEST_F(Tool, an_option_may_be_a_key_of_the_experiment) {
  line.know_keys([](const std::string& word) {
    return word == "batch_size" ? std::vector<std::string>{"loader.batch_size"}
                                : std::vector<std::string>{};
  });
  const auto said = [this](const std::vector<std::string>& words) {
    return error_of([&] { run(words); });
  };
  EXPECT_EQ(said({"x", "--batch-size", "8"}),
            "unknown option '--batch-size' (known: --help, "
            "--size, --threads, --fast, --slow, --steps)");
  std::vector<std::string> overrides;
  line.root().find("group")->find("work")->overrides(overrides);
  EXPECT_EQ(said({"x", "--batch-size", "8"}),
            "unknown option '--batch-size' (give loader.batch_size=8)");
  EXPECT_EQ(said({"x", "--batch-size=8"}),
            "unknown option '--batch-size' (give loader.batch_size=8)");
  EXPECT_EQ(said({"x", "--batch-size"}),
            "unknown option '--batch-size' (give loader.batch_size=VALUE)");
}

TEST_F(Tool, a_number_out_of_range_is_refused_in_few_digits) {
  EXPECT_EQ(error_of([this] {
              run({"x", "--steps", "0"});
            }),
            "--steps: must be a number above 0, got '0': see `tool group work --help`");
  EXPECT_EQ(error_of([this] {
              run({"x", "--threads", "5"});
            }),
            "--threads: must be from 1 to 4, got '5': see `tool group work --help`");
}

TEST_F(Tool, runs_nothing_after_a_usage_error) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"x", "--threads", "5"},
                                             {"x", "--steps", "0"},
                                             {"x", "--fast", "--slow"},
                                             {"--no"}}) {
    const std::string error = error_of([&] { run(words); });
    EXPECT_NE(error.find(": see `tool group work --help`"), std::string::npos) << error;
  }
  EXPECT_EQ(ran, 0);
}

TEST_F(Tool, says_what_a_size_has_to_be) {
  EXPECT_EQ(error_of([&] { run({"x", "--size", "0"}); }).substr(0, 14), "--size must be");
}

TEST_F(Tool, checks_words_and_runs_nothing) {
  line.check({"group", "work", "x", "--threads", "1"});
  EXPECT_NE(error_of([&] { line.check({"group", "work", "x", "--thread", "1"}); }), "");
  EXPECT_EQ(ran, 0);
}

}  // namespace
}  // namespace stoker
