#include "app/tools/checkpoint/set_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>

#include "app/tools/checkpoint/files/open_tensors.h"
#include "io/checkpoint/restoring/loaded_state.h"
#include "tests/app/tools/checkpoint/tensors.h"
#include "tests/support/errors.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// Of odd sizes, one larger than a chunk, and one of nothing.
std::vector<TensorInfo> odd_tensors() {
  std::vector<TensorInfo> tensors{{"large", "F32", {3'000'000}, 0},
                                  {"odd", "U8", {4'099}, 0},
                                  {"none", "F32", {0}, 0},
                                  {"rows", "I16", {7, 700'001}, 0}};
  for (TensorInfo& tensor : tensors) tensor.bytes = *tensor_bytes(tensor.dtype, tensor.shape);
  return tensors;
}

// A function of the place alone, so that it does not matter who makes which piece.
void made_bytes(size_t file, uint64_t offset, std::span<uint8_t> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<uint8_t>((offset + i) * 31 + (offset + i) / 4096 + file);
  }
}

class Streamed : public testing::TestWithParam<int64_t> {};

TEST_P(Streamed, a_set_that_is_made_piece_by_piece_is_as_any_other) {
  const TemporaryDirectory here;
  const FileTree tree(here.path());
  SetStore store("-", tree, "sets");
  store.open_for_writing();
  const SetLayout layout = make_layout(FileLayout::safetensors, odd_tensors(), GetParam());
  Manifest manifest;
  manifest.step = 3;
  manifest.durability = "fsync";
  manifest.training = {{"a", 1}};
  std::atomic<int> pieces_written{0};
  write_set(store, layout, manifest, made_bytes,
            {.threads = 3, .progress = [&](uint64_t) { ++pieces_written; }});
  EXPECT_GE(pieces_written, 3);
  EXPECT_EQ(store.steps(), std::vector<int64_t>{3});
  // Every chunk, and every tensor's sum.
  const LoadedState loaded(store.files(), store.path(3), 2);
  EXPECT_EQ(loaded.training(), manifest.training);
  ASSERT_EQ(loaded.tensors().size(), 4u);
  const SetSource source(store.full_path(3));
  for (size_t i = 0; i < loaded.tensors().size(); ++i) {
    std::vector<uint8_t> bytes(loaded.tensors()[i].bytes);
    loaded.copy(i, bytes.data());
    TensorPieces pieces(source, i, 1 << 20);
    std::vector<uint8_t> read;
    for (Bytes piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
      read.insert(read.end(), piece.begin(), piece.end());
    }
    EXPECT_EQ(read, bytes) << loaded.tensors()[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, Streamed, testing::Values(1, 3));

TEST(SetStream, a_tier_of_objects_takes_each_file_in_order) {
  const std::unique_ptr<Storage> objects = make_storage("{type: memory}");
  const auto store = sets_on("bucket", *objects, "sets", {.run = "test"});
  store->open_for_writing();
  const SetLayout layout = make_layout(FileLayout::safetensors, odd_tensors(), 2);
  Manifest manifest;
  manifest.durability = "fsync";
  manifest.training = nlohmann::json::object();
  write_set(*store, layout, manifest, made_bytes, {.threads = 2});
  EXPECT_EQ(LoadedState(store->files(), store->path(0), 2).tensors().size(), 4u);
}

TEST(SetStream, what_fails_leaves_no_set) {
  const TemporaryDirectory here;
  const FileTree tree(here.path());
  SetStore store("-", tree, "sets");
  store.open_for_writing();
  const SetLayout layout = make_layout(FileLayout::safetensors, odd_tensors(), 1);
  Manifest manifest;
  manifest.durability = "fsync";
  const auto fail = [](size_t, uint64_t offset, std::span<uint8_t>) {
    if (offset > 0) throw Error(ExitCode::storage, "no more");
  };
  EXPECT_EQ(error_of([&] { write_set(store, layout, manifest, fail, {}); }), "no more");
  EXPECT_TRUE(store.steps().empty());
  EXPECT_EQ(tree.list("sets"), std::vector<std::string>{"LOCK"});
}

TEST(SetSource, a_damaged_tensor_is_named_as_it_ends) {
  const TemporaryDirectory here;
  const FileTree tree(here.path());
  SetStore store("-", tree, "sets");
  store.open_for_writing();
  const SetLayout layout = make_layout(FileLayout::safetensors, odd_tensors(), 1);
  Manifest manifest;
  manifest.durability = "fsync";
  manifest.training = nlohmann::json::object();
  write_set(store, layout, manifest, made_bytes, {});
  const std::string data = store.full_path(0) + "/state.safetensors";
  {
    std::fstream file(data, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);
    file.put('!');
  }
  const SetSource source(store.full_path(0));
  const std::string error = error_of([&] {
    TensorPieces pieces(source, 0, kElementsAtOnce);
    while (!pieces.next().empty()) {
    }
  });
  EXPECT_NE(error.find("state.safetensors: tensor "), std::string::npos) << error;
  EXPECT_NE(error.find("is damaged (CRC-32C"), std::string::npos) << error;
  std::filesystem::resize_file(data, 100);
  EXPECT_EQ(code_of([&] { SetSource(store.full_path(0)); }), ExitCode::storage);
}

}  // namespace
}  // namespace stoker
