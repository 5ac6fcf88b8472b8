#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "app/tools/checkpoint/files/open_tensors.h"
#include "io/core/text/json.h"
#include "tests/app/tools/checkpoint/tensors.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

// What is written of tensors is what is read of them, in each format.

namespace stoker {
namespace {

namespace fs = std::filesystem;

TEST(Formats, a_file_of_torch_has_the_same_tensors) {
  const TemporaryDirectory here;
  MemoryTensors tensors;
  one_of_each(tensors);
  EXPECT_EQ(write_torch(whole_of(tensors), here / "m.pt"), std::vector{here / "m.pt"});
  const auto read = open_tensors(here / "m.pt");
  EXPECT_EQ(read->format(), "a file of torch.save");
  EXPECT_EQ(first_difference(tensors, *read), "");
  EXPECT_TRUE(read->left_out().empty());
}

TEST(Formats, safetensors_have_the_same_tensors) {
  const TemporaryDirectory here;
  MemoryTensors tensors;
  one_of_each(tensors);
  write_safetensors(whole_of(tensors), here / "m.safetensors", 0);
  EXPECT_EQ(first_difference(tensors, *open_tensors(here / "m.safetensors")), "");
}

TEST(Formats, shards_have_an_index_that_names_the_file_of_each) {
  const TemporaryDirectory here;
  MemoryTensors tensors;
  one_of_each(tensors);
  const auto files = write_safetensors(whole_of(tensors), here / "m.safetensors", 40);
  ASSERT_GT(files.size(), 3u);
  EXPECT_EQ(files.back(), here / "m.safetensors.index.json");
  const size_t shards = files.size() - 1;
  EXPECT_EQ(fs::path(files[0]).filename(), fmt::format("m-00001-of-{:05}.safetensors", shards));
  EXPECT_EQ(first_difference(tensors, *open_tensors(files.back())), "");
  const nlohmann::json index = parse_json(here.read("m.safetensors.index.json"));
  uint64_t total = 0;
  for (const TensorInfo& tensor : tensors.tensors()) total += tensor.bytes;
  EXPECT_EQ(index["metadata"]["total_size"], total);
  EXPECT_EQ(index["weight_map"].size(), tensors.tensors().size());
  // A tensor that is larger than a shard has one to itself.
  EXPECT_EQ(open_tensors(here / index["weight_map"]["byte"].get<std::string>())->tensors().size(),
            1u);
}

TEST(Formats, more_shards_than_can_be_open_at_once_are_refused_before_the_first) {
  const TemporaryDirectory here;
  const std::vector<WrittenTensor> tensors(1001, {{"t", "U8", {8}, 8}, {}});
  EXPECT_THAT(error_of([&] { write_safetensors(tensors, here / "m.safetensors", 8); }),
              testing::HasSubstr("--max-shard: 1001 files; at most 1000"));
  EXPECT_TRUE(fs::is_empty(here.path()));
}

TEST(Formats, a_folder_of_transformers_is_read_by_its_index_or_file) {
  const TemporaryDirectory here;
  MemoryTensors tensors;
  one_of_each(tensors);
  write_safetensors(whole_of(tensors), here / "one/model.safetensors", 0);
  write_safetensors(whole_of(tensors), here / "many/model.safetensors", 40);
  EXPECT_EQ(first_difference(tensors, *open_tensors(here / "one")), "");
  EXPECT_EQ(first_difference(tensors, *open_tensors(here / "many")), "");
}

TEST(Formats, nothing_is_overwritten_and_nothing_is_left_of_what_failed) {
  const TemporaryDirectory here;
  MemoryTensors tensors;
  one_of_each(tensors);
  here.write("m.pt", "mine");
  here.write("m.safetensors", "mine");
  const auto pt = [&] { write_torch(whole_of(tensors), here / "m.pt"); };
  const auto safe = [&] { write_safetensors(whole_of(tensors), here / "m.safetensors", 0); };
  EXPECT_EQ(code_of(pt), ExitCode::config);
  EXPECT_EQ(code_of(safe), ExitCode::config);
  EXPECT_NE(error_of(safe).find("m.safetensors: is there already"), std::string::npos);
  tensors.say({TensorSum::Kind::crc32c, 1});  // the source is damaged
  for (const auto& write : std::vector<std::function<void()>>{
           [&] { write_torch(whole_of(tensors), here / "n.pt"); },
           [&] { write_safetensors(whole_of(tensors), here / "n.safetensors", 0); },
           [&] { write_safetensors(whole_of(tensors), here / "n.safetensors", 40); }}) {
    EXPECT_EQ(code_of(write), ExitCode::storage);
    EXPECT_NE(error_of(write).find("memory: tensor a.double is damaged (CRC-32C"),
              std::string::npos);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(here.path()), fs::directory_iterator()), 2);
  EXPECT_EQ(here.read("m.pt") + here.read("m.safetensors"), "minemine");
}

TEST(Formats, what_is_none_of_them_says_what_would_be) {
  const TemporaryDirectory here;
  here.write("folder/x", "");
  EXPECT_EQ(code_of([&] { open_tensors(here / "absent"); }), ExitCode::environment);
  EXPECT_EQ(code_of([&] { open_tensors(here / "folder"); }), ExitCode::environment);
  EXPECT_NE(error_of([&] { open_tensors(here / "folder"); }).find("without model.safetensors"),
            std::string::npos);
  here.write("old.pt", std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20", 10));
  EXPECT_NE(error_of([&] { open_tensors(here / "old.pt"); }).find("before PyTorch 1.6"),
            std::string::npos);
  for (const char* text : {"", "short", "a text that is longer than the length of a header"}) {
    here.write("text", text);
    EXPECT_EQ(code_of([&] { open_tensors(here / "text"); }), ExitCode::storage) << text;
  }
}

}  // namespace
}  // namespace stoker
