#include "io/checkpoint/saving/layout.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "io/core/error.h"

namespace stoker {
namespace {

using nlohmann::json;

TensorInfo tensor(const std::string& name, const std::string& dtype, std::vector<int64_t> shape) {
  const uint64_t bytes = tensor_bytes(dtype, shape).value();
  return {name, dtype, std::move(shape), bytes};
}

std::vector<TensorInfo> small_model() {
  return {tensor("flag", "BOOL", {3}), tensor("weight", "F32", {4, 5}),
          tensor("step", "I64", {}),   tensor("half", "F16", {7}),
          tensor("bias", "F32", {5}),  tensor("none", "F32", {0, 9})};
}

std::vector<std::string> names(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string> result;
  for (const TensorInfo& info : tensors) result.push_back(info.name);
  return result;
}

// The header as an independent reader sees it: every rule of the format is checked on the way.
json read_header(const DataFile& file) {
  const std::string& header = file.header;
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= uint64_t{static_cast<uint8_t>(header.at(i))} << (8 * i);
  EXPECT_EQ(8 + length, header.size());
  EXPECT_EQ(header[8], '{');
  const json entries = json::parse(header.substr(8));
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto& [name, entry] : entries.items()) {
    if (name == "__metadata__") continue;
    const std::vector<int64_t> shape = entry.at("shape");
    ranges.push_back(entry.at("data_offsets"));
    EXPECT_EQ(ranges.back().second - ranges.back().first,
              tensor_bytes(entry.at("dtype"), shape).value())
        << name;
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t end = 0;
  for (const auto& range : ranges) {
    EXPECT_EQ(range.first, end) << "a hole";
    end = range.second;
  }
  EXPECT_EQ(header.size() + end, file.bytes);
  return entries;
}

// Every byte of every tensor lies in one piece, in order; pieces lie back to back in their files.
void expect_complete(const SetLayout& layout) {
  std::vector<uint64_t> seen(layout.tensors.size());
  size_t last = 0;
  for (const DataFile& file : layout.files) {
    uint64_t end = file.header.size();
    for (const TensorPiece& piece : file.pieces) {
      ASSERT_LT(piece.tensor, layout.tensors.size());
      EXPECT_GE(piece.tensor, last);
      last = piece.tensor;
      EXPECT_EQ(piece.begin, seen[piece.tensor]);
      EXPECT_EQ(piece.offset, end);
      EXPECT_EQ(piece.offset % dtype_bytes(layout.tensors[piece.tensor].dtype), 0u);
      seen[piece.tensor] += piece.bytes;
      end += piece.bytes;
    }
    EXPECT_EQ(end, file.bytes);
  }
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], layout.tensors[i].bytes) << i;
}

TEST(Layout, sizes_of_the_dtypes) {
  for (const char* name : {"F64", "I64"}) EXPECT_EQ(dtype_bytes(name), 8u);
  for (const char* name : {"F32", "I32"}) EXPECT_EQ(dtype_bytes(name), 4u);
  for (const char* name : {"F16", "BF16", "I16"}) EXPECT_EQ(dtype_bytes(name), 2u);
  for (const char* name : {"I8", "U8", "BOOL"}) EXPECT_EQ(dtype_bytes(name), 1u);
  for (const char* name : {"", "f32", "F8", "F320"}) EXPECT_EQ(dtype_bytes(name), 0u);
}

TEST(Layout, bytes_of_a_tensor) {
  EXPECT_EQ(tensor_bytes("F32", {}), 4u);
  EXPECT_EQ(tensor_bytes("F32", {2, 3}), 24u);
  EXPECT_EQ(tensor_bytes("F32", {2, 0, 3}), 0u);
  EXPECT_EQ(tensor_bytes("U8", {INT64_MAX}), uint64_t{INT64_MAX});
}

TEST(Layout, a_tensor_that_cannot_be_has_no_bytes) {
  EXPECT_EQ(tensor_bytes("F31", {1}), std::nullopt);
  EXPECT_EQ(tensor_bytes("F32", {-1}), std::nullopt);
  EXPECT_EQ(tensor_bytes("I16", {INT64_MAX}), std::nullopt);
  EXPECT_EQ(tensor_bytes("U8", {int64_t{1} << 32, int64_t{1} << 32}), std::nullopt);
  EXPECT_EQ(tensor_bytes("U8", {int64_t{1} << 32, int64_t{1} << 32, 0}), std::nullopt);
  EXPECT_EQ(tensor_bytes("U8", std::vector<int64_t>(65, 1)), std::nullopt);
}

// So all tensors are aligned to their elements, and those of whole cache lines to these.
TEST(Layout, whole_lines_and_then_large_elements_come_first_and_the_order_is_kept_otherwise) {
  const SetLayout layout = make_layout(FileLayout::safetensors, small_model(), 1);
  const std::vector<std::string> wanted = {"none", "step", "weight", "bias", "half", "flag"};
  EXPECT_EQ(names(layout.tensors), wanted);
  std::vector<TensorInfo> more = small_model();
  more.push_back(tensor("line", "U8", {64}));
  more.push_back(tensor("lines", "F32", {8, 4}));
  EXPECT_EQ(names(make_layout(FileLayout::safetensors, more, 1).tensors),
            (std::vector<std::string>{"none", "lines", "line", "step", "weight", "bias", "half",
                                      "flag"}));
  expect_complete(layout);
}

TEST(Layout, one_file_is_a_valid_safetensors_file) {
  const SetLayout layout = make_layout(FileLayout::safetensors, small_model(), 1);
  ASSERT_EQ(layout.files.size(), 1u);
  EXPECT_EQ(layout.files[0].name, "state.safetensors");
  EXPECT_EQ(layout.files[0].header.size(), 4096u);
  const json header = read_header(layout.files[0]);
  EXPECT_EQ(header.size(), 7u);
  EXPECT_EQ(header.at("__metadata__"), (json{{"format", "pt"}, {"writer", "stoker"}}));
  EXPECT_EQ(header.at("weight"),
            (json{{"dtype", "F32"}, {"shape", {4, 5}}, {"data_offsets", {8, 88}}}));
  EXPECT_EQ(header.at("step").at("shape"), json::array());
}

TEST(Layout, data_begin_at_a_page_for_every_length_of_the_header) {
  for (size_t length = 1; length < 9000; length += 1 + length / 3) {
    const SetLayout layout =
        make_layout(FileLayout::safetensors, {tensor(std::string(length, 'n'), "U8", {10})}, 1);
    EXPECT_EQ(layout.files[0].pieces[0].offset % 4096, 0u) << length;
    read_header(layout.files[0]);
  }
}

TEST(Layout, a_set_without_tensors_is_a_header) {
  const SetLayout layout = make_layout(FileLayout::safetensors, {}, 2);
  ASSERT_EQ(layout.files.size(), 2u);
  for (const DataFile& file : layout.files) EXPECT_EQ(read_header(file).size(), 1u);
}

TEST(Layout, shards_say_which_rows_they_hold) {
  const SetLayout layout =
      make_layout(FileLayout::safetensors, {tensor("weight", "F32", {4096, 2})}, 4);
  ASSERT_EQ(layout.files.size(), 4u);
  EXPECT_EQ(layout.files[0].name, "state-00001-of-00004.safetensors");
  EXPECT_EQ(layout.files[3].name, "state-00004-of-00004.safetensors");
  expect_complete(layout);
  const json header = read_header(layout.files[1]);
  EXPECT_EQ(header.at("weight").at("shape"), (json{1024, 2}));
  EXPECT_EQ(header.at("__metadata__").at("rows:weight"), "1024:2048 of 4096");
}

TEST(Layout, a_whole_tensor_in_a_shard_says_nothing_of_rows) {
  const SetLayout layout =
      make_layout(FileLayout::safetensors, {tensor("a", "F32", {8}), tensor("b", "F32", {8})}, 2);
  EXPECT_EQ(read_header(layout.files[0]).at("__metadata__").size(), 2u);
  EXPECT_EQ(layout.files[1].pieces.size(), 1u);
}

TEST(Layout, scalars_and_single_rows_are_never_split) {
  const SetLayout layout = make_layout(
      FileLayout::safetensors, {tensor("row", "F32", {1, 1000}), tensor("scalar", "I64", {})}, 3);
  expect_complete(layout);
  size_t pieces = 0;
  for (const DataFile& file : layout.files) pieces += file.pieces.size();
  EXPECT_EQ(pieces, 2u);
}

TEST(Layout, shares_are_equal_up_to_a_row) {
  const std::vector<TensorInfo> model = {tensor("fc", "F32", {4096, 9216}),
                                         tensor("conv", "F32", {256, 384, 3, 3}),
                                         tensor("bias", "F32", {4096})};
  for (const int64_t shards : {2, 3, 7, 16}) {
    const SetLayout layout = make_layout(FileLayout::safetensors, model, shards);
    expect_complete(layout);
    uint64_t least = UINT64_MAX, most = 0;
    for (const DataFile& file : layout.files) {
      read_header(file);
      least = std::min(least, file.bytes - file.header.size());
      most = std::max(most, file.bytes - file.header.size());
    }
    EXPECT_LE(most - least, 4u * 9216) << shards;
  }
}

TEST(Layout, random_models_are_covered_by_any_number_of_shards) {
  std::mt19937 random(7);
  const std::vector<std::string> dtypes = {"F64", "F32", "BF16", "I8"};
  for (int round = 0; round < 300; ++round) {
    std::vector<TensorInfo> model;
    for (size_t i = random() % 12; i > 0; --i) {
      std::vector<int64_t> shape;
      for (size_t d = random() % 4; d > 0; --d) shape.push_back(random() % 9);
      model.push_back(tensor("t" + std::to_string(i), dtypes[random() % 4], shape));
    }
    const auto shards = static_cast<int64_t>(1 + random() % 6);
    const SetLayout layout = make_layout(FileLayout::safetensors, model, shards);
    ASSERT_EQ(layout.files.size(), static_cast<size_t>(shards));
    expect_complete(layout);
    for (const DataFile& file : layout.files) read_header(file);
  }
}

TEST(Layout, tf_saver_keeps_the_tensors_only) {
  const SetLayout layout = make_layout(FileLayout::tf_saver, small_model(), 1);
  ASSERT_EQ(layout.files.size(), 1u);
  EXPECT_EQ(layout.files[0].name, "model.ckpt.data-00000-of-00001");
  EXPECT_EQ(layout.files[0].header, "");
  EXPECT_EQ(layout.files[0].pieces[0].offset, 0u);
  expect_complete(layout);
}

TEST(Layout, the_names_of_the_layouts) {
  const auto names = enum_names(FileLayout{});
  ASSERT_EQ(names.size(), 2u);
  EXPECT_STREQ(names[0].first, "safetensors");
  EXPECT_STREQ(names[1].first, "tf_saver");
}

std::string refusal(std::vector<TensorInfo> tensors, int64_t shards = 1) {
  try {
    make_layout(FileLayout::safetensors, std::move(tensors), shards);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bug);
    return error.what();
  }
  return "accepted";
}

TEST(Layout, what_no_trainer_should_ask_for_is_a_bug) {
  const std::string here = "checkpoint layout: ";
  EXPECT_EQ(refusal({{"a", "F32", {2}, 9}}),
            here + "tensor a: 9 bytes do not agree with dtype F32 and the shape");
  EXPECT_EQ(refusal({{"a", "F33", {2}, 8}}),
            here + "tensor a: 8 bytes do not agree with dtype F33 and the shape");
  EXPECT_EQ(refusal({tensor("a", "F32", {2}), tensor("a", "F64", {})}),
            here + "tensor a: the name is taken");
  EXPECT_EQ(refusal({tensor("__metadata__", "F32", {2})}),
            here + "tensor __metadata__: the name is taken");
  EXPECT_EQ(refusal({tensor("\xff", "F32", {2})}), here + "a tensor's name is not UTF-8");
  EXPECT_EQ(refusal({}, 0), here + "0 shards");
  EXPECT_EQ(refusal({}, 1025), here + "1025 shards");
  EXPECT_EQ(refusal(std::vector<TensorInfo>(10'001)), here + "10001 tensors; at most 10000");
}

TEST(Layout, more_bytes_than_there_are_are_refused) {
  const TensorInfo huge = tensor("a", "U8", {INT64_MAX});
  TensorInfo b = huge, c = huge;
  b.name = "b";
  c.name = "c";
  EXPECT_EQ(refusal({huge, b, c}), "checkpoint layout: too many bytes");
}

TEST(Layout, a_header_over_its_limit_is_refused) {
  EXPECT_EQ(refusal({tensor(std::string(17 << 20, 'n'), "F32", {1})}),
            "checkpoint layout: the header of state.safetensors is too long");
}

// What two processes have of a matrix, and a vector of the second one.
const std::vector<TensorInfo> kShared = {tensor("vector", "F32", {4}),
                                         tensor("matrix", "F32", {6, 2})};
const std::vector<TensorShare> kShares = {{1, 0, 16, 0}, {1, 16, 32, 1}, {0, 0, 16, 1}};

TEST(Layout, shares_lie_in_the_files_of_their_processes) {
  const SetLayout layout = make_layout(FileLayout::safetensors, kShared, 2, kShares, 2);
  ASSERT_EQ(layout.files.size(), 2u);
  EXPECT_EQ(read_header(layout.files[0]).at("__metadata__").at("rows:matrix"), "0:2 of 6");
  EXPECT_EQ(read_header(layout.files[0]).size(), 2u);
  EXPECT_EQ(read_header(layout.files[1]).at("__metadata__").at("rows:matrix"), "2:6 of 6");
  EXPECT_EQ(read_header(layout.files[1]).at("vector").at("shape"), (json{4}));
  ASSERT_EQ(layout.files[1].pieces.size(), 2u);
  EXPECT_EQ(layout.files[1].pieces[1].begin, 16u);
}

TEST(Layout, a_process_may_have_several_files_or_nothing_to_put_in_them) {
  const std::vector<TensorShare> shares = {{0, 0, 16, 1}, {1, 0, 48, 1}};
  const SetLayout layout = make_layout(FileLayout::safetensors, kShared, 6, shares, 3);
  for (const size_t empty : {0, 1, 4, 5}) EXPECT_TRUE(layout.files[empty].pieces.empty()) << empty;
  expect_complete(layout);
  EXPECT_EQ(layout.files[2].bytes, layout.files[3].bytes);
}

TEST(Layout, shares_that_leave_a_byte_out_or_name_it_twice_are_a_bug) {
  const auto refused = [](std::vector<TensorShare> shares, int64_t files = 2) {
    try {
      make_layout(FileLayout::safetensors, kShared, files, shares, 2);
    } catch (const Error& error) {
      return std::string(error.what()).substr(std::string("checkpoint layout: ").size());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused(kShares), "accepted");
  EXPECT_EQ(refused({{1, 0, 16, 0}, {0, 0, 16, 1}}),
            "tensor matrix: the shares have 16 of 48 bytes");
  EXPECT_EQ(refused({{1, 0, 16, 0}, {1, 24, 24, 1}, {0, 0, 16, 1}}),
            "the shares of tensor matrix do not follow each other");
  EXPECT_EQ(refused({{1, 16, 32, 0}, {1, 0, 16, 1}, {0, 0, 16, 1}}),
            "the shares of tensor matrix do not follow each other");
  EXPECT_EQ(refused({{2, 0, 16, 0}}), "a share of tensor 2");
  EXPECT_EQ(refused({{0, 0, 16, 2}}), "process 2 of 2 has a share");
  EXPECT_EQ(refused(kShares, 3), "3 files for 2 processes");
}

}  // namespace
}  // namespace stoker
