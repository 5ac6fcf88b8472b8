#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

// Runs every seed and every regression of corpus/ through its target, without libFuzzer: what was
// mended once stays so. A target that finds something ends the process, so the input is a test's
// name.

namespace stoker {
namespace {

namespace fs = std::filesystem;

struct ReplayInput {
  std::string target;
  std::string name;
  std::function<std::string()> bytes;
};

void PrintTo(const ReplayInput& input, std::ostream* out) {
  *out << input.target << '/' << input.name;
}

std::string repeated(size_t times, const std::string& text) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// Regressions that would be large files.
const std::vector<ReplayInput>& large_inputs() {
  static const std::string kDeep = std::string(400'000, '[');
  static const std::string kClosed = kDeep + std::string(400'000, ']');
  static const std::vector<ReplayInput> kInputs{
      {"json", "deep", [] { return kDeep; }},
      {"json", "deep_and_closed", [] { return kClosed; }},
      {"manifest", "deep", [] { return "{\"training\": " + kClosed + "}"; }},
      {"packed_index", "deep", [] { return kDeep; }},
      {"packed_index", "deep_version",
       [] { return R"({"format": "stoker packed pixels", "version": )" + kClosed + "}"; }},
      {"summary", "deep", [] { return "{\"notes\": " + kClosed + "}"; }},
      {"sweep_results", "deep",
       [] { return R"({"schema_version": 1, "machine": )" + kClosed + "}"; }},
      {"trace", "deep", [] { return "{\"a\": " + kDeep; }},
      {"trace", "deep_end", [] { return R"({"name": "trace_end", "args": )" + kClosed + "}"; }},
      {"yaml", "deep", [] { return kDeep; }},
      {"yaml", "deep_block", [] { return repeated(20'000, "- "); }},
  };
  return kInputs;
}

const fuzz::Target* find_target(const std::string& name) {
  for (const fuzz::Target* target : fuzz::targets()) {
    if (target->name == name) return target;
  }
  return nullptr;
}

std::vector<ReplayInput> replay_inputs() {
  std::vector<ReplayInput> inputs = large_inputs();
  const fs::path corpus = std::string(STOKER_SOURCE_DIR) + "/tests/fuzz/corpus";
  for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
    if (!entry.is_regular_file()) continue;
    const fs::path path = entry.path();
    inputs.push_back({path.parent_path().filename(), path.filename(), [path] {
                        std::ifstream file(path, std::ios::binary);
                        return std::string(std::istreambuf_iterator<char>(file), {});
                      }});
  }
#ifdef __SANITIZE_ADDRESS__  // may be of io alone
  std::erase_if(inputs, [](const auto& input) { return find_target(input.target) == nullptr; });
#endif
  return inputs;
}

class Replay : public testing::TestWithParam<ReplayInput> {};

TEST_P(Replay, ends_well) {
  const fuzz::Target* target = find_target(GetParam().target);
  ASSERT_NE(target, nullptr);
  const std::string bytes = GetParam().bytes();
  // Of exactly this size, so that the address sanitizer sees every read behind its end.
  const std::vector<uint8_t> input(bytes.begin(), bytes.end());
  fuzz::run(*target, input);
}

INSTANTIATE_TEST_SUITE_P(Corpus, Replay, testing::ValuesIn(replay_inputs()), [](const auto& input) {
  std::string name = input.param.target + "_" + input.param.name;
  std::ranges::replace_if(
      name, [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(Seeds, every_target_has_seeds) {
  const std::vector<ReplayInput> inputs = replay_inputs();
  for (const fuzz::Target* target : fuzz::targets()) {
    EXPECT_TRUE(std::ranges::any_of(inputs, [&](const ReplayInput& input) {
      return input.target == target->name && input.name.starts_with("seed");
    })) << target->name;
  }
}

}  // namespace
}  // namespace stoker
