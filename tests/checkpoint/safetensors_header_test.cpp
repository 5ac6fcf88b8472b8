#include <gtest/gtest.h>

#include "io/checkpoint/restoring/safetensors.h"
#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/safetensors.h"

namespace stoker {
namespace {

Bytes file_bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// What is read of a whole file.
SafetensorsHeader header_of(const std::string& file) {
  const Bytes bytes = file_bytes(file);
  const uint64_t size =
      safetensors_header_bytes(bytes.first(std::min<size_t>(8, bytes.size())), file.size(), "f");
  return parse_safetensors(bytes.first(size), file.size(), "f");
}

std::string header_refusal(const std::string& file) {
  EXPECT_EQ(code_of([&] { header_of(file); }), ExitCode::storage);
  return error_of([&] { header_of(file); });
}

std::string header_refusal(const std::string& header, const std::string& data) {
  return header_refusal(safetensors_of(header, data));
}

TEST(SafetensorsHeader, says_where_each_tensor_lies_in_the_order_of_their_bytes) {
  const std::string file = safetensors_of({{"z", "F32", {2, 3}, some_bytes(24, 1)},
                                           {"a", "BF16", {5}, some_bytes(10, 2)},
                                           {"none", "I64", {0, 4}, ""},
                                           {"scalar", "F8_E4M3", {}, "x"}});
  const SafetensorsHeader header = header_of(file);
  ASSERT_EQ(header.tensors.size(), 4u);
  EXPECT_EQ(header.tensors[0].name, "z");
  EXPECT_EQ(header.tensors[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(header.tensors[1].name, "a");
  EXPECT_EQ(header.tensors[1].begin, header.data_begin + 24);
  EXPECT_EQ(header.tensors[2].name, "none");
  EXPECT_EQ(header.tensors[3].begin + header.tensors[3].bytes, file.size());
  EXPECT_EQ(header.metadata.at("format"), "pt");
}

TEST(SafetensorsHeader, a_file_without_tensors_has_none) {
  EXPECT_TRUE(header_of(safetensors_of("{}", "")).tensors.empty());
}

TEST(SafetensorsHeader, what_is_no_safetensors_file_is_said) {
  EXPECT_EQ(header_refusal(""), "f: 0 bytes: no safetensors file, or cut off");
  EXPECT_EQ(header_refusal("1234567"), "f: 7 bytes: no safetensors file, or cut off");
  EXPECT_NE(header_refusal("PK\x03\x04 a file of torch.save").find("no safetensors file"),
            std::string::npos);
  EXPECT_EQ(header_refusal(std::string("\x10\0\0\0\0\0\0\0{}", 10)),
            "f: no safetensors file, or cut off: its header ends at byte 24, and the file at 10");
  EXPECT_EQ(header_refusal("{\"a\": ", "").substr(0, 45),
            "f: damaged header, or no safetensors file: no");
  EXPECT_EQ(header_refusal("[]", ""), "f: damaged header: it is no object of tensors");
}

TEST(SafetensorsHeader, every_truncation_is_found_and_names_file_and_tensor) {
  const std::string file = safetensors_of(
      {{"weight", "F32", {4}, some_bytes(16, 1)}, {"bias", "F32", {2}, some_bytes(8, 2)}});
  for (size_t size = 0; size < file.size(); ++size) {
    ASSERT_EQ(header_refusal(file.substr(0, size)).substr(0, 3), "f: ") << size;
  }
  EXPECT_EQ(header_refusal(file.substr(0, file.size() - 1)),
            "f: tensor bias ends at byte " + std::to_string(file.size()) + ", and the file at " +
                std::to_string(file.size() - 1) +
                ": it was cut, or not written as a whole: fetch it again");
}

TEST(SafetensorsHeader, damage_is_said_with_the_tensor) {
  const auto one = [](const std::string& entry) { return "{\"w\": " + entry + "}"; };
  EXPECT_EQ(header_refusal(one("{\"shape\": [1], \"data_offsets\": [0, 4]}"), "1234"),
            "f: tensor w: damaged header: no dtype");
  EXPECT_EQ(header_refusal(one("{\"dtype\": \"F32\", \"shape\": [-1], \"data_offsets\": [0, 4]}"),
                           "1234"),
            "f: tensor w: damaged header: no shape");
  EXPECT_EQ(header_refusal(one("{\"dtype\": \"F32\", \"shape\": [1]}"), "1234"),
            "f: tensor w: damaged header: no data_offsets");
  EXPECT_EQ(
      header_refusal(one("{\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [4, 0]}"), "1234"),
      "f: tensor w: damaged header: data_offsets must be two offsets, the smaller one first");
  EXPECT_EQ(
      header_refusal(one("{\"dtype\": \"F4\", \"shape\": [1], \"data_offsets\": [0, 4]}"), "1234"),
      "f: tensor w: its dtype is F4, which this program does not know");
  EXPECT_EQ(
      header_refusal(one("{\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 4]}"), "1234"),
      "f: tensor w: 4 bytes do not agree with dtype F32 and the shape");
  const std::string huge = "[4611686018427387904, 4611686018427387904]";
  EXPECT_EQ(header_refusal(
                one("{\"dtype\": \"F32\", \"shape\": " + huge + ", \"data_offsets\": [0, 0]}"), ""),
            "f: tensor w: 0 bytes do not agree with dtype F32 and the shape");
  EXPECT_EQ(header_refusal("{\"__metadata__\": {\"a\": 1}}", ""),
            "f: damaged header: __metadata__ must map text to text");
}

TEST(SafetensorsHeader, tensors_lie_one_behind_the_other) {
  const auto two = [](int first, int second) {
    const auto entry = [](int begin) {
      return "{\"dtype\": \"U8\", \"shape\": [4], \"data_offsets\": [" + std::to_string(begin) +
             ", " + std::to_string(begin + 4) + "]}";
    };
    return "{\"a\": " + entry(first) + ", \"b\": " + entry(second) + "}";
  };
  EXPECT_EQ(header_of(safetensors_of(two(4, 0), "12345678")).tensors[0].name, "b");
  EXPECT_NE(header_refusal(two(0, 2), "123456").find("tensor b begins at byte"), std::string::npos);
  EXPECT_NE(header_refusal(two(0, 5), "123456789").find("tensor b begins at byte"),
            std::string::npos);
  EXPECT_NE(header_refusal(two(0, 4), "123456789").find("a file that something was added to"),
            std::string::npos);
}

TEST(SafetensorsHeader, a_header_beyond_all_measure_is_not_read) {
  std::string prefix = "\xff\xff\xff\xff\x0f";
  prefix.resize(8);
  EXPECT_NE(error_of([&] {
              safetensors_header_bytes(file_bytes(prefix), uint64_t{1} << 40, "f");
            }).find("at most 100000000 are allowed"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker
