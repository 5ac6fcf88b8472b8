#include "app/tools/checkpoint/files/state_pickle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "app/tools/checkpoint/files/open_tensors.h"
#include "app/tools/checkpoint/files/zip.h"
#include "tests/app/tools/checkpoint/tensors.h"
#include "tests/support/errors.h"
#include "tests/support/short_tests.h"
#include "tests/support/temporary_directory.h"

// Pickles by hand, as others might write them: what pickletools calls each instruction stands
// beside.

namespace stoker {
namespace {

const std::string kProto = "\x80\x02";
const std::string kTensor = "ctorch._utils\n_rebuild_tensor_v2\n";
const std::string kOrdered = "ccollections\nOrderedDict\n)R";  // GLOBAL, EMPTY_TUPLE, REDUCE

std::string word(const std::string& text) {  // BINUNICODE
  return "X" + std::string(1, static_cast<char>(text.size())) + std::string(3, '\0') + text;
}
std::string small(int value) { return std::string("K") + static_cast<char>(value); }  // BININT1
std::string tuple(const std::vector<int>& values) {                                   // MARK, TUPLE
  std::string text = "(";
  for (const int value : values) text += small(value);
  return text + "t";
}
// A view of storage "0" of floats.
std::string view(int elements, int offset, const std::vector<int>& shape,
                 const std::vector<int>& strides) {
  return kTensor + "((" + word("storage") + "ctorch\nFloatStorage\n" + word("0") + word("cpu") +
         small(elements) + "tQ" + small(offset) + tuple(shape) + tuple(strides) + "\x89" +
         kOrdered + "tR";
}
std::string state(const std::string& items) {
  return kProto + "}(" + items + "u.";
}  // EMPTY_DICT ... SETITEMS

std::string said(const std::string& pickle) {
  EXPECT_EQ(code_of([&] { read_state_pickle(pickle); }), ExitCode::storage);
  return error_of([&] { read_state_pickle(pickle); });
}

// A file of torch.save with this pickle, and six floats in storage 0.
std::string torch_file(const TemporaryDirectory& here, const std::string& pickle) {
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  AtomicFile file(here / "m.pt");
  ZipWriter zip(file);
  zip.add("m/data.pkl", pickle);
  zip.add("m/data/0",
          {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  zip.finish();
  file.commit();
  return here / "m.pt";
}

TEST(StatePickle, what_is_written_is_read) {
  const std::vector<TensorInfo> infos{
      {"fc.weight", "F32", {2, 3}, 24}, {"n", "I64", {}, 8}, {"e", "BF16", {0, 4}, 0}};
  const PickledState read = read_state_pickle(state_pickle(infos));
  ASSERT_EQ(read.tensors.size(), 3u);
  EXPECT_EQ(read.tensors[0].name, "fc.weight");
  EXPECT_EQ(read.tensors[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(read.tensors[0].strides, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(read.tensors[0].storage_elements, 6u);
  EXPECT_EQ(read.tensors[1].storage, "1");
  EXPECT_EQ(read.tensors[1].dtype, "I64");
  EXPECT_EQ(read.tensors[2].strides, (std::vector<int64_t>{4, 1}));
  EXPECT_TRUE(read.others.empty());
}

TEST(StatePickle, more_elements_than_31_bits_are_kept) {
  const std::vector<TensorInfo> infos{{"x", "U8", {int64_t{5} << 30}, uint64_t{5} << 30}};
  const PickledState read = read_state_pickle(state_pickle(infos));
  EXPECT_EQ(read.tensors[0].storage_elements, uint64_t{5} << 30);
  EXPECT_EQ(read.tensors[0].shape[0], int64_t{5} << 30);
}

TEST(StatePickle, nested_dictionaries_become_names_with_dots) {
  const std::string inner =
      "}(" + word("w") + view(6, 0, {6}, {1}) + small(3) + view(6, 0, {6}, {1}) + "u";
  const PickledState read = read_state_pickle(
      state(word("model") + inner + word("epoch") + small(7) + word("name") + "N"));
  ASSERT_EQ(read.tensors.size(), 2u);
  EXPECT_EQ(read.tensors[0].name, "model.w");
  EXPECT_EQ(read.tensors[1].name, "model.3");
  EXPECT_EQ(read.others, (std::vector<std::string>{"epoch", "name"}));
}

TEST(StatePickle, what_would_run_something_is_refused_by_name) {
  const std::string evil = kProto + "cposix\nsystem\n(" + word("touch /tmp/evil") + "tR.";
  EXPECT_NE(said(evil).find("asks for posix.system, which is no part of a state dict"),
            std::string::npos);
  for (const char* name : {"builtins\neval", "torch\nload", "torch.storage\n_load_from_bytes",
                           "collections\nCounter", "numpy\nndarray"}) {
    const std::string global = std::string("c") + name + "\n";
    EXPECT_NE(said(kProto + global + ")R.").find("asks for"), std::string::npos) << name;
  }
  // INST, OBJ, NEWOBJ, STACK_GLOBAL, EXT1, PERSID: other ways to the same.
  for (const std::string code : {"iposix\nsystem\n", "o", "\x81", "\x93", "\x82\x01", "P1\n"}) {
    EXPECT_NE(said(kProto + "(" + code + ".").find("instruction 0x"), std::string::npos) << code;
  }
  // What is allowed, called as it must not be.
  EXPECT_NE(said(kProto + kTensor + ")R.").find("calls something"), std::string::npos);
  EXPECT_NE(said(kProto + "ccollections\nOrderedDict\n(K\x01tR.").find("calls something"),
            std::string::npos);
  EXPECT_NE(said(kProto + word("x") + ")R.").find("calls something"), std::string::npos);
  EXPECT_NE(said(kProto + word("x") + "Q.").find("no storage"), std::string::npos);
}

TEST(StatePickle, tensors_of_other_kinds_are_named) {
  for (const std::string name :
       {"torch\nQInt8Storage", "torch\nComplexFloatStorage", "torch._utils\n_rebuild_tensor_v3"}) {
    EXPECT_NE(said(kProto + "c" + name + "\n)R.").find("only dense ones are, of F64"),
              std::string::npos)
        << name;
  }
  // A view with torch's "neg" bit: {"neg": True} behind the hooks.
  const std::string plain = view(6, 0, {6}, {1});
  const std::string neg = plain.substr(0, plain.size() - 2) + "}(" + word("neg") + "\x88" + "utR";
  EXPECT_NE(said(state(word("x") + neg)).find("whose bytes are not its values"), std::string::npos);
  EXPECT_EQ(read_state_pickle(state(word("x") + plain.substr(0, plain.size() - 2) + "}tR"))
                .tensors.size(),
            1u);
}

TEST(StatePickle, numbers_that_are_no_size_are_left_out) {
  const std::string seed = "\x8a\x10" + std::string(16, '\x55');  // LONG1, 16 bytes
  const std::string below = "\x8a\x01\xff", large = std::string("\x8a\x05\0\0\0\x40\0", 7);
  const PickledState read =
      read_state_pickle(state(word("seed") + seed + word("below") + below + word("large") + large));
  EXPECT_EQ(read.others, (std::vector<std::string>{"seed", "below", "large"}));
}

TEST(StatePickle, every_truncation_and_every_changed_byte_ends_well) {
  const std::string whole =
      state(word("w") + view(6, 1, {5}, {1}) + word("v") + view(6, 0, {2, 3}, {1, 2}));
  EXPECT_EQ(read_state_pickle(whole).tensors.size(), 2u);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(said(whole.substr(0, size)), "") << size;
  int refused = 0;
  const auto each = static_cast<int>(stride(5));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int value = 0; value < 256; value += each) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      refused += code_of([&] { read_state_pickle(changed); }) == ExitCode::storage;
    }
  }
  EXPECT_GT(refused, 10'000 / each);
}

TEST(StatePickle, what_contains_itself_or_is_nested_without_end_is_refused) {
  // A list in itself; a dictionary in itself.
  EXPECT_NE(said(state(word("x") + "]q\x01h\x01"
                                   "a"))
                .find("nested more than"),
            std::string::npos);
  EXPECT_NE(said(kProto + "}q\x01(" + word("x") + "h\x01u.").find("nested more than"),
            std::string::npos);
  // A million tuples of one.
  EXPECT_NE(said(state(word("x") + "N" + std::string(1'000'000, '\x85'))).find("nested more than"),
            std::string::npos);
  // Pairs of the one before, 30 times: 2^30 values.
  std::string tuples = "N";
  for (int i = 1; i <= 30; ++i) {
    const std::string number(1, static_cast<char>(i));
    tuples += "q" + number + "h" + number + "\x86";
  }
  EXPECT_NE(said(state(word("x") + tuples)).find("more than 5000000 values"), std::string::npos);
}

TEST(StatePickle, views_of_a_storage_are_put_into_order) {
  const TemporaryDirectory here;
  const auto source = open_tensors(torch_file(
      here,
      state(word("part") + view(6, 2, {3}, {1}) + word("turned") + view(6, 0, {3, 2}, {1, 3}) +
            word("steps") + view(6, 1, {2}, {4}) + word("one") + view(6, 5, {}, {}))));
  const auto floats = [&](size_t i) {
    const std::vector<uint8_t> bytes = all_bytes(*source, i);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  ASSERT_EQ(source->tensors().size(), 4u);
  EXPECT_EQ(floats(0), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(floats(1), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(floats(2), (std::vector<float>{1, 5}));
  EXPECT_EQ(floats(3), (std::vector<float>{5}));
}

TEST(StatePickle, a_view_beyond_its_storage_is_refused) {
  const TemporaryDirectory here;
  const auto refused = [&](const std::string& of) {
    const std::string path = torch_file(here, state(word("x") + of));
    EXPECT_EQ(code_of([&] { open_tensors(path); }), ExitCode::storage);
    return error_of([&] { open_tensors(path); });
  };
  EXPECT_NE(refused(view(6, 0, {7}, {1})).find("does not fit into a storage of 6 elements"),
            std::string::npos);
  EXPECT_NE(refused(view(6, 5, {2}, {1})).find("does not fit"), std::string::npos);
  EXPECT_NE(refused(view(6, 0, {2}, {6})).find("does not fit"), std::string::npos);
  EXPECT_NE(refused(view(6, 0, {200, 200, 200, 200}, {0, 0, 0, 0})).find("does not fit"),
            std::string::npos);
  const auto expanded =
      open_tensors(torch_file(here, state(word("x") + view(6, 0, {9, 2}, {0, 1}))));
  EXPECT_EQ(expanded->tensors()[0].bytes, 9u * 2 * sizeof(float));
  EXPECT_NE(refused(view(6, 0, {2}, {1, 1})).find("impossible"), std::string::npos);
  EXPECT_NE(refused(view(7, 0, {2}, {1})).find("has 24 bytes, and 7 elements"), std::string::npos);
}

TEST(StatePickle, a_zip_without_one_says_what_it_has) {
  const TemporaryDirectory here;
  AtomicFile file(here / "m.pt");
  ZipWriter zip(file);
  zip.add("m/constants.pkl", "");
  zip.finish();
  file.commit();
  EXPECT_NE(
      error_of([&] { open_tensors(here / "m.pt"); }).find("its first entry is m/constants.pkl"),
      std::string::npos);
}

}  // namespace
}  // namespace stoker
