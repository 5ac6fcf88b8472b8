#include <gtest/gtest.h>

#include "app/tools/checkpoint/files/open_tensors.h"
#include "app/tools/checkpoint/files/stored_tensors.h"
#include "tests/app/tools/checkpoint/tensors.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

// Headers that contradict themselves, or the file.

namespace stoker {
namespace {

std::string file_of(const std::string& header, size_t data) {
  std::string text;
  append_little_endian(text, header.size(), 8);
  return text + header + std::string(data, 'd');
}

class SafetensorsHeader : public testing::Test {
 protected:
  // What opening such a file says.
  std::string said(const std::string& text) {
    here_.write("f", text);
    EXPECT_EQ(code_of([&] { open_safetensors(here_ / "f"); }), ExitCode::storage) << text;
    return error_of([&] { open_safetensors(here_ / "f"); });
  }
  void expect(const std::string& header, size_t data, const std::string& words) {
    const std::string error = said(file_of(header, data));
    EXPECT_NE(error.find(words), std::string::npos) << header << "\n" << error;
    EXPECT_EQ(error.find(here_ / "f"), 0u) << error;
  }
  TemporaryDirectory here_;
};

constexpr const char* kGood = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

TEST_F(SafetensorsHeader, a_good_one_is_read) {
  here_.write("f", file_of(kGood, 8));
  const auto source = open_safetensors(here_ / "f");
  ASSERT_EQ(source->tensors().size(), 1u);
  EXPECT_EQ(source->tensors()[0], (TensorInfo{"x", "F32", {2}, 8}));
  EXPECT_EQ(all_bytes(*source, 0), std::vector<uint8_t>(8, 'd'));
}

TEST_F(SafetensorsHeader, data_that_are_cut_or_lengthened_are_refused) {
  expect(kGood, 7, "tensor x ends at byte 70, and the file at 69: it was cut");
  expect(kGood, 9, "its tensors end at byte 70, and the file at 71");
  const std::string whole = file_of(kGood, 8);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(said(whole.substr(0, size)), "") << size;
}

TEST_F(SafetensorsHeader, a_length_is_not_believed) {
  for (const uint64_t length :
       {uint64_t{1} << 63, uint64_t{UINT64_MAX}, uint64_t{100}, uint64_t{200'000'000}}) {
    std::string text;
    append_little_endian(text, length, 8);
    const std::string error = said(text + kGood);
    EXPECT_NE(error.find(length < 1000 ? "its header ends at byte 108, and the file at"
                                       : "its header would have " + std::to_string(length)),
              std::string::npos)
        << error;
  }
}

TEST_F(SafetensorsHeader, offsets_have_to_cover_the_data_once) {
  expect(
      R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"y":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
      6, "tensor y begins at byte 115, and those before it end at 117");
  expect(R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})", 6,
         "tensor x begins at byte 63, and those before it end at 61");
  expect(R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4,
         "data_offsets must be two offsets, the smaller one first");
  expect(R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,4]}})", 4,
         "tensor x: 4 bytes do not agree with dtype F32 and the shape");
}

TEST_F(SafetensorsHeader, shapes_that_overflow_are_refused) {
  expect(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
         "do not agree");
  expect(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4,
         "tensor x: damaged header: no shape");
  expect(R"({"x":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4,
         "1.5 is no whole number");
  expect(R"({"x":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4,
         "no shape");
}

TEST_F(SafetensorsHeader, what_is_no_header_is_refused) {
  expect("{", 0, "damaged header, or no safetensors file");
  expect("[]", 0, "it is no object of tensors");
  expect(R"({"x":1})", 0, "tensor x: damaged header: no dtype");
  expect(R"({"x":{"dtype":"F8_E4M3","shape":[],"data_offsets":[0,1]}})", 1,
         "tensor x has dtype F8_E4M3, which is not read");
  expect(R"({"x":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", 8,
         "tensor x: damaged header: no shape");
  expect(std::string(1000, '[') + std::string(1000, ']'), 0, "nested more than");
}

TEST_F(SafetensorsHeader, an_index_names_files_beside_it_and_agrees_with_them) {
  here_.write("f", file_of(kGood, 8));
  const auto index = [&](const std::string& text) {
    here_.write("m.index.json", text);
    return error_of([&] { open_safetensors_index(here_ / "m.index.json"); });
  };
  EXPECT_NE(index(R"({"weight_map":{"x":"../f"}})").find("not the name of a file in its folder"),
            std::string::npos);
  EXPECT_NE(index(R"({"weight_map":{"x":"/etc/passwd"}})").find("not the name of a file"),
            std::string::npos);
  EXPECT_NE(index(R"({"weight_map":{"x":1}})").find("not the name of a file"), std::string::npos);
  EXPECT_NE(index(R"({"weight_map":[]})").find("no weight_map"), std::string::npos);
  EXPECT_NE(index(R"({"weight_map":{"y":"f"}})").find("do not agree on tensor"), std::string::npos);
  EXPECT_NE(index(R"({"weight_map":{"x":"f","y":"f"}})").find("do not agree on tensor y"),
            std::string::npos);
  EXPECT_NE(index(R"({"weight_map":{"x":"absent"}})").find("absent"), std::string::npos);
}

}  // namespace
}  // namespace stoker
