#include "io/checkpoint/sets/tensor_bundle.h"

#include <gtest/gtest.h>

#include "io/checkpoint/restoring/read_bundle.h"
#include "io/core/crc32c.h"
#include "io/core/wire/protobuf.h"
#include "io/core/wire/sorted_table.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

Bytes as_bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string header(uint64_t files, const std::string& more = "") {
  return wire_number(1, WireType::varint, files) + more;
}

std::string index(const std::string& head, const std::string& name, const std::string& entry) {
  SortedTableWriter table;
  table.add("", head);
  table.add(name, entry);
  return table.finish();
}

std::string refusal(const std::string& table) {
  return error_of([&] { parse_bundle_index(as_bytes(table)); });
}

// BundleEntryProto of four floats, or what `bytes` says, in file `file`.
std::string entry(uint64_t bytes = 16, uint64_t file = 0) {
  return wire_number(1, WireType::varint, bundle_dtype("F32")) + wire_bytes(2, shape_proto({4})) +
         wire_number(3, WireType::varint, file) + wire_number(5, WireType::varint, bytes);
}

TEST(TensorBundle, an_index_says_of_each_tensor_what_the_layout_said) {
  const SetLayout layout =
      make_layout(FileLayout::tf_saver,
                  {{"w", "F32", {2, 3}, 24}, {"none", "BF16", {0, 2}, 0}, {"a", "I64", {}, 8}}, 1);
  const TensorBundle bundle = parse_bundle_index(as_bytes(bundle_index(layout, {1, 2, 3})));
  EXPECT_EQ(bundle.files, 1u);
  ASSERT_EQ(bundle.tensors.size(), 3u);
  EXPECT_EQ(bundle.tensors[0].name, "a");
  for (const BundleTensor& found : bundle.tensors) {
    for (const TensorPiece& piece : layout.files[0].pieces) {
      const TensorInfo& wanted = layout.tensors[piece.tensor];
      if (wanted.name != found.name) continue;
      EXPECT_EQ(TensorInfo({found.name, found.dtype, found.shape, found.bytes}), wanted);
      EXPECT_EQ(found.offset, piece.offset);
      EXPECT_EQ(found.sum, piece.tensor + 1);
    }
  }
}

TEST(TensorBundle, what_contradicts_itself_is_refused) {
  EXPECT_NO_THROW(parse_bundle_index(as_bytes(index(header(2), "w", entry(16, 1)))));
  EXPECT_EQ(refusal(index(header(2), "w", entry(16, 2))), "tensor w: data file 2 of 2");
  EXPECT_EQ(refusal(index(header(1), "w", entry(12))),
            "tensor w: 12 bytes do not agree with its type and shape");
  EXPECT_EQ(refusal(index(header(0), "w", entry())), "0 data files");
  EXPECT_EQ(refusal(index(header(1, wire_number(2, WireType::varint, 1)), "w", entry())),
            "its data are big-endian");
  const std::string newer = wire_bytes(3, wire_number(2, WireType::varint, 2));
  EXPECT_EQ(refusal(index(header(1, newer), "w", entry())),
            "it is of version 2; this program reads 1");
  SortedTableWriter headless;
  headless.add("w", entry());
  EXPECT_EQ(refusal(headless.finish()), "it has no header");
  EXPECT_NE(refusal("name\tdtype\tshape\tshard\toffset\tsize\tcrc32c\n").find("no sorted table"),
            std::string::npos);
}

TEST(TensorBundle, a_damaged_or_short_file_is_named_with_its_tensor) {
  const TemporaryDirectory dir;
  const std::string data = "0123456789abcdef";
  const std::string sum = wire_number(6, WireType::fixed32, masked_crc32c(crc32c(as_bytes(data))));
  dir.write("m.index", index(header(1), "w", entry() + sum));
  const FileTree tree(dir.path());
  const BundleFiles files(tree, "m");
  const TensorBundle bundle = files.index();
  const auto damage = [&](const std::string& bytes) {
    dir.write("m.data-00000-of-00001", bytes);
    return files.damage(bundle.tensors.at(0), bundle.files);
  };
  EXPECT_NE(files.damage(bundle.tensors.at(0), 1).find("tensor w: the file is missing"),
            std::string::npos);
  EXPECT_EQ(damage(data), "");
  EXPECT_NE(damage("0123456789abcdeF").find("m.data-00000-of-00001: tensor w: damaged (CRC-32C"),
            std::string::npos);
  EXPECT_NE(damage("0123").find("tensor w: "), std::string::npos);
}

TEST(TensorBundle, texts_that_do_not_fit_their_lengths_are_refused) {
  const std::string sum(4, '\0');
  const std::string two = "\x02\x01" + sum + "abc";
  EXPECT_NO_THROW(text_sum(as_bytes(two), 2));
  EXPECT_NE(text_sum(as_bytes(two), 2), text_sum(as_bytes("\x01\x02" + sum + "abc"), 2));
  EXPECT_THROW(text_sum(as_bytes(two), 30), Error);
  EXPECT_THROW(text_sum(as_bytes("\x05" + sum + "abc"), 1), Error);
}

}  // namespace
}  // namespace stoker
