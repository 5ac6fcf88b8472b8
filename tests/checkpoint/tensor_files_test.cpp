#include "io/checkpoint/restoring/tensor_files.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <map>

#include "io/core/error.h"
#include "io/storage/page_cache.h"
#include "tests/support/errors.h"
#include "tests/support/file_layers.h"
#include "tests/support/safetensors.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

constexpr size_t kLarge = (13u << 20) + 400;  // more pieces than one

std::vector<WrittenTensor> some_tensors(size_t large = kLarge) {
  return {{"large", "F32", {static_cast<int64_t>(large / 4)}, some_bytes(large, 1)},
          {"half", "BF16", {3, 7}, some_bytes(42, 2)},
          {"none", "I64", {0, 4}, ""},
          {"bytes", "U8", {1021}, some_bytes(1021, 3)}};
}

struct TensorFilesTest : testing::Test {
  TemporaryDirectory root;
  FileTree tree{root.path()};

  LoadSource source(const std::string& name) const { return {SetFiles(tree), name}; }

  // All bytes of all tensors, by name.
  static std::map<std::string, std::string> load(const std::vector<LoadSource>& sources,
                                                 LoadAccess access = LoadAccess::direct,
                                                 int64_t threads = 4) {
    const TensorFiles files(sources, access);
    std::vector<HostMemory> images;
    const auto allocate = [](size_t bytes) { return allocate_huge(bytes, false); };
    for (const TensorFiles::File& file : files.files()) {
      images.push_back(allocate_image(allocate, file.image_bytes()));
    }
    files.read(images, threads);
    std::map<std::string, std::string> contents;
    for (size_t i = 0; i < images.size(); ++i) {
      for (const StoredTensor& tensor : files.files()[i].header.tensors) {
        const uint8_t* const at = images[i].data.get() + files.files()[i].place(tensor);
        contents[tensor.name].assign(at, at + tensor.bytes);
      }
    }
    return contents;
  }
  static std::map<std::string, std::string> expected(const std::vector<WrittenTensor>& tensors) {
    std::map<std::string, std::string> contents;
    for (const WrittenTensor& tensor : tensors) contents[tensor.name] = tensor.bytes;
    return contents;
  }
};

TEST_F(TensorFilesTest, every_byte_is_that_of_the_file_wherever_its_data_begin) {
  const std::vector<WrittenTensor> tensors = some_tensors();
  const std::map<std::string, std::string> bytes = expected(tensors);
  for (const size_t padding : {0, 1, 3, 4000, 300'000}) {
    root.write("f", safetensors_of(tensors, padding));
    for (const LoadAccess access : {LoadAccess::direct, LoadAccess::buffered}) {
      for (const int64_t threads : {1, 8}) {
        ASSERT_TRUE(load({source("f")}, access, threads) == bytes)
            << padding << " blanks, " << threads << " threads";
      }
    }
  }
}

TEST_F(TensorFilesTest, files_around_a_block_and_a_piece_are_read) {
  for (const size_t large :
       {0u, 4u, 2000u, 4096u, 8192u, (4u << 20) - 4, 4u << 20, (4u << 20) + 4}) {
    root.write("f", safetensors_of(some_tensors(large), 5));
    ASSERT_TRUE(load({source("f")}) == expected(some_tensors(large))) << large;
  }
  root.write("f", safetensors_of({{"w", "U8", {1}, "x"}}));
  EXPECT_EQ(load({source("f")})["w"], "x");
  root.write("f", safetensors_of("{}", ""));
  EXPECT_TRUE(load({source("f")}).empty());
}

TEST_F(TensorFilesTest, several_files_are_read_as_one_and_have_no_tensor_twice) {
  std::vector<WrittenTensor> all = some_tensors();
  root.write("a", safetensors_of({all[0], all[1]}));
  root.write("b", safetensors_of({all[2], all[3]}, 7));
  EXPECT_TRUE(load({source("a"), source("b")}) == expected(all));
  root.write("c", safetensors_of({all[3]}));
  EXPECT_EQ(error_of([&] {
              load({source("a"), source("b"), source("c")});
            }),
            root / "c" + ": tensor bytes is in another of the files, too");
}

TEST_F(TensorFilesTest, a_file_of_the_machine_is_named_by_its_path) {
  std::optional<FileTree> place;
  root.write("sub/f", safetensors_of(some_tensors()));
  EXPECT_TRUE(load({load_source(root / "sub/f", place)}) == expected(some_tensors()));
  EXPECT_EQ(error_of([&] { load({load_source(root / "sub/g", place)}); }),
            "open " + root / "sub/g" + ": No such file or directory");
}

TEST_F(TensorFilesTest, objects_and_emulated_tiers_are_read_as_well) {
  const std::unique_ptr<Storage> memory = make_storage("{type: memory}");
  put(*memory, "deep/f", safetensors_of(some_tensors(), 9));
  EXPECT_TRUE(load({{SetFiles(*memory, "bucket"), "deep/f"}}) == expected(some_tensors()));
  const std::unique_ptr<Storage> emulated = make_storage(
      "{type: emulated, profile: ssd, shared: false, inner: {type: posix, root: " + root.path() +
      "}}");
  root.write("f", safetensors_of(some_tensors(), 9));
  EXPECT_TRUE(load({{SetFiles(*files_of(*emulated)), "f"}}) == expected(some_tensors()));
}

TEST_F(TensorFilesTest, short_reads_change_nothing) {
  root.write("f", safetensors_of(some_tensors(), 1));
  const auto halves =
      std::make_shared<FaultLayer>(Fault{.op = FileCall::Op::read, .skip = 1, .times = 3});
  const FileTree slow = tree.behind(halves);
  EXPECT_TRUE(load({{SetFiles(slow), "f"}}) == expected(some_tensors()));
  EXPECT_EQ(halves->struck(), 3u);
}

TEST_F(TensorFilesTest, a_file_system_that_refuses_direct_io_meanwhile_changes_nothing) {
  root.write("f", safetensors_of(some_tensors(), 1));
  if (!tree.open("f", FileAccess::direct).direct()) {
    GTEST_SKIP() << "this file system has no direct I/O";
  }
  for (const size_t skip : {0, 2}) {  // the header; a piece
    const auto refuses = std::make_shared<FaultLayer>(
        Fault{.op = FileCall::Op::read, .skip = skip, .error = EINVAL});
    const FileTree poor = tree.behind(refuses);
    EXPECT_TRUE(load({{SetFiles(poor), "f"}}, LoadAccess::direct, 1) == expected(some_tensors()));
    EXPECT_EQ(refuses->struck(), 1u);
  }
}

TEST_F(TensorFilesTest, a_file_that_is_cut_while_it_is_read_is_an_error) {
  root.write("f", safetensors_of(some_tensors()));
  const TensorFiles files({source("f")}, LoadAccess::direct);
  std::filesystem::resize_file(root / "f", 5 << 20);
  EXPECT_THROW(files.read({.threads = 3}), IoError);
}

TEST_F(TensorFilesTest, what_the_page_cache_holds_is_read_from_there) {
  root.write("f", safetensors_of(some_tensors()));
  const std::array keys{std::string("f")};
  const auto direct = [&] {
    return TensorFiles({source("f")}, LoadAccess::automatic).read({.threads = 1}).direct;
  };
  ASSERT_EQ(page_cache_residency(tree, keys).cached_share(), 1);
  EXPECT_FALSE(direct());
  // A file system in memory keeps what it has.
  EXPECT_EQ(direct(), evict(tree, keys).cached_bytes == 0);
}

TEST_F(TensorFilesTest, the_image_begins_with_the_block_of_the_first_tensor) {
  root.write("f", safetensors_of(some_tensors(), 20'000));
  const TensorFiles files({source("f")}, LoadAccess::direct);
  const TensorFiles::File& file = files.files().front();
  EXPECT_EQ(file.image_begin % kDirectAlignment, 0u);
  EXPECT_LT(file.header.data_begin - file.image_begin, kDirectAlignment);
  EXPECT_EQ(files.bytes(), file.bytes - file.image_begin);
}

}  // namespace
}  // namespace stoker
