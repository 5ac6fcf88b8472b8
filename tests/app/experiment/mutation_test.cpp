#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/app/experiment/score.h"
#include "tests/support/short_tests.h"
#include "tests/support/temporary_directory.h"

// Mutation test: what the program says of a slip in a configuration that ships.
//
// Every word of every file in configs/ (keys, values, and the parts of settings in sweeps) is
// mistyped: each letter left out, doubled, replaced and exchanged with its neighbour; the word cut
// in half, written twice, replaced by a number, another word and a boolean. Values also become a
// list, a mapping, nothing and quoted text; keys are given twice; lists and mappings become a
// number; the file is cut off before the word. Overrides of every value are mistyped likewise. Each
// mutant is given to `stoker check` (or `sweep --check`), in this process. Of free text, such as a
// title, it is one slip in twenty.
//
// Oracle: `stoker list` and `stoker describe` say which words and numbers may stand where
// (config_schema.h, value_fits.h). Nothing of it knows how the program suggests. A mutant that is
// still valid, as free text is, has to be accepted; one of which the oracle cannot tell (paths with
// variables, numbers that others may contradict, what every cell of a sweep replaces) may be
// accepted or refused. Of those refused:
//
// - exit: the code is 2; and whatever is wrong is refused. All of them.
// - place: file:line:column of the word, or of one that refers to it or contradicts it; of an
//   override its text.
// - hint: "did you mean '...'" names the word that it was, or another one that is one slip away.
//   Expected of keys, types, words among values, tiers, axes, their values, and options: of three
//   letters or more, where the slip leaves two or more, and of a half word, where no other known
//   word begins with it.
//
// One in stride(997) mutants; all with STOKER_LONG=1, in some minutes.

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigs = STOKER_SOURCE_DIR "/configs";

class Mutation : public ::testing::Test {
 protected:
  Mutation() {
    for (const char* variable : {"STOKER_FAST", "STOKER_SLOW", "STOKER_DATA"}) unsetenv(variable);
    // All of them, for a sweep may name another file.
    fs::copy(kConfigs, directory_.path(), fs::copy_options::recursive);
  }

  Outcome check(std::vector<std::string> words) {
    unsetenv("STOKER_SCRATCH");  // a sweep sets it
    return in_process(std::move(words));
  }

  Score score_of(const fs::path& file) {
    const std::string path = directory_ / fs::relative(file, kConfigs).string();
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const Mutants mutants(text, path);
    const bool sweep = file.parent_path().filename() != "configs";
    const auto words = [&](const std::string& more) -> std::vector<std::string> {
      if (sweep) return {"sweep", path, "--check"};
      return more.empty() ? std::vector<std::string>{"check", path}
                          : std::vector<std::string>{"check", path, more};
    };
    const auto write = [&](const std::string& content) {
      std::ofstream(path, std::ios::binary) << content;
    };
    Score score;
    size_t count = 0;  // of each file, so that another file changes nothing
    write(text);
    EXPECT_EQ(check(words("")).code, 0) << file;
    for (const Mutant& mutant : mutants.of_overrides()) {
      if (count++ % stride(997) == 0) score.add(mutant, check(words(mutant.text)));
    }
    for (const Mutant& mutant : mutants.of_file()) {
      if (count++ % stride(997) != 0) continue;
      write(mutant.text);
      score.add(mutant, check(words("")));
    }
    write(text);
    return score;
  }

  const TemporaryDirectory directory_;
};

std::string share(int64_t good, int64_t all) {
  return fmt::format(
      "{} of {} ({:.1f} %)", good, all,
      100.0 * static_cast<double>(good) / static_cast<double>(std::max<int64_t>(all, 1)));
}

TEST_F(Mutation, of_every_configuration_that_ships) {
  std::set<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kConfigs)) {
    // By no command; by studies_test, for it has nothing but names of files.
    const bool checked = entry.path().parent_path().filename() != "simulate" &&
                         entry.path().filename() != "all.yaml";
    if (checked && entry.path().extension() == ".yaml") files.insert(entry.path());
  }
  ASSERT_GE(files.size(), 10u);
  fmt::print(
      "| file | mutants | right exit | right place | right hint | still valid |\n"
      "|---|---|---|---|---|---|\n");
  for (const fs::path& file : files) {
    const Score score = score_of(file);
    fmt::print("| `{}` | {} | {} | {} | {} | {} |\n", file.filename().string(), score.mutants,
               share(score.exit, score.mutants), share(score.place, score.places),
               share(score.hint, score.hints), score.accepted);
    const size_t shown = std::getenv("STOKER_LONG") != nullptr ? 1000 : 10;
    for (size_t i = 0; i < std::min(shown, score.misses.size()); ++i) {
      fmt::print("    {}\n", score.misses[i]);
    }
    EXPECT_GT(score.mutants, 0);
    EXPECT_EQ(score.exit, score.mutants) << file;
    // One of some dozens that were drawn is no share.
    EXPECT_GE(100 * score.place, 98 * score.places - 100) << file;
    EXPECT_GE(100 * score.hint, 98 * score.hints - 100) << file;
  }
}

}  // namespace
}  // namespace stoker
