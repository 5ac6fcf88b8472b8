#include "io/checkpoint/restoring/read_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>
#include <set>

#include "io/core/crc32c.h"
#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/short_tests.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string random_text(size_t bytes) {
  static uint64_t seed = 5;
  std::string text(bytes, '\0');
  fill_any(text.data(), bytes, seed++);
  return text;
}

constexpr int64_t kMib = 1 << 20;

std::vector<TensorInfo> two_tensors() {
  return {{"weight", "F32", {60, 5}, 1200}, {"bias", "F32", {60}, 240}, {"mask", "U8", {77}, 77}};
}

// Two and a half chunks: one tensor lies in all of them, the others share one.
std::vector<TensorInfo> large_model() {
  return {{"first", "F32", {1000}, 4000},
          {"fc", "F32", {9 * kMib / 2 + 100, 1}, static_cast<uint64_t>(18 * kMib + 400)},
          {"second", "F32", {2000}, 8000},
          {"last", "U8", {77}, 77}};
}

struct ReadSet : testing::Test {
  TemporaryDirectory root;
  FileTree tree{root.path()};
  Manifest manifest;
  std::vector<std::string> contents;  // of each of manifest.files

  void save(FileLayout format, const std::vector<TensorInfo>& model, int64_t shards = 1) {
    manifest = {};
    contents.clear();
    manifest.durability = "none";
    manifest.layout = make_layout(format, model, shards);
    manifest.tensor_sums.assign(model.size(), 0);
    for (const DataFile& file : manifest.layout.files) {
      std::string text = file.header;
      for (const TensorPiece& piece : file.pieces) {
        const std::string data = random_text(piece.bytes);
        uint32_t& sum = manifest.tensor_sums[piece.tensor];
        sum = crc32c(bytes_of(data), sum);
        text += data;
      }
      add(file.name, text);
    }
    if (format == FileLayout::tf_saver) add("model.ckpt.index", "weight\t0\n");
    root.write("set/MANIFEST.json", manifest_text(manifest));
  }

  void add(const std::string& name, const std::string& text) {
    root.write("set/" + name, text);
    FileSums sums{name, text.size(), {}};
    for (size_t at = 0; at < text.size(); at += kChunkBytes)
      sums.chunks.push_back(crc32c(bytes_of(text.substr(at, kChunkBytes))));
    manifest.files.push_back(sums);
    contents.push_back(text);
  }

  void read(int64_t threads = 1, const ChunkSink& sink = {}) const {
    read_set(tree, "set", read_manifest(tree, "set"), threads, sink);
  }

  // The message of the DamagedSet, without the directory.
  std::string damage(int64_t threads = 1) const {
    try {
      read(threads);
    } catch (const DamagedSet& error) {
      const std::string place = root.path() + "/set";
      EXPECT_EQ(std::string(error.what()).substr(0, place.size()), place);
      return std::string(error.what()).substr(place.size() + 1);
    }
    return "intact";
  }

  // Flips one bit of a file while it is read.
  std::string damage_at(size_t file, uint64_t bit, int64_t threads = 1) const {
    const std::string path = root / "set/" + manifest.files[file].name;
    const int fd = ::open(path.c_str(), O_WRONLY);
    const auto original = static_cast<uint8_t>(contents[file][bit / 8]);
    const auto flipped = static_cast<uint8_t>(original ^ (1 << (bit % 8)));
    EXPECT_EQ(::pwrite(fd, &flipped, 1, static_cast<off_t>(bit / 8)), 1);
    const std::string message = damage(threads);
    EXPECT_EQ(::pwrite(fd, &original, 1, static_cast<off_t>(bit / 8)), 1);
    ::close(fd);
    return message;
  }

  // Where byte `at` of a data file is, as the message should say.
  std::string place_of(size_t file, uint64_t at) const {
    const uint64_t chunk = at / kChunkBytes * kChunkBytes;
    const uint64_t chunk_end = std::min(chunk + kChunkBytes, manifest.files[file].bytes);
    std::string text = manifest.files[file].name + ": damaged in bytes [" + std::to_string(chunk) +
                       ", " + std::to_string(chunk_end) + "): ";
    for (const TensorPiece& piece : manifest.layout.files[file].pieces) {
      if (at < piece.offset || at >= piece.offset + piece.bytes) continue;
      const uint64_t begin = std::max(piece.offset, chunk) - piece.offset + piece.begin;
      const uint64_t end =
          std::min(piece.offset + piece.bytes, chunk_end) - piece.offset + piece.begin;
      return text + "tensor " + manifest.layout.tensors[piece.tensor].name + " bytes [" +
             std::to_string(begin) + ", " + std::to_string(end) + ") (CRC-32C ";
    }
    return text + "header (CRC-32C ";
  }
};

TEST_F(ReadSet, hands_out_every_byte_once) {
  for (const int64_t shards : {1, 3}) {
    save(FileLayout::safetensors, large_model(), shards);
    for (const int64_t threads : {1, 4, 64}) {
      std::vector<std::string> got;
      for (const std::string& text : contents) got.emplace_back(text.size(), '\0');
      std::mutex mutex;
      std::set<std::pair<size_t, uint64_t>> chunks;
      read(threads, [&](size_t file, uint64_t offset, Bytes bytes) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % kDirectAlignment, 0u);
        ASSERT_LE(offset + bytes.size(), got[file].size());
        std::memcpy(got[file].data() + offset, bytes.data(), bytes.size());
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(chunks.emplace(file, offset).second);
      });
      EXPECT_TRUE(got == contents) << shards << " shards, " << threads << " threads";
    }
    std::filesystem::remove_all(root / "set");
  }
}

TEST_F(ReadSet, sizes_around_a_block_and_a_chunk_are_read) {
  for (const int64_t bytes : {1, 4095, 4096, 4097, 8 * 1048576 - 4096, 8 * 1048576 - 4095,
                              8 * 1048576, 8 * 1048576 + 1}) {
    save(FileLayout::safetensors, {{"t", "U8", {bytes}, static_cast<uint64_t>(bytes)}});
    EXPECT_EQ(damage(2), "intact") << bytes;
  }
}

TEST_F(ReadSet, empty_tensors_and_empty_files_are_read) {
  save(FileLayout::tf_saver, {{"none", "F32", {0, 4}, 0}});
  EXPECT_EQ(damage(), "intact");
  save(FileLayout::safetensors, {});
  std::filesystem::remove(root / "set/model.ckpt.index");
  std::filesystem::remove(root / "set/model.ckpt.data-00000-of-00001");
  EXPECT_EQ(damage(), "intact");
}

TEST_F(ReadSet, what_the_sink_throws_comes_out) {
  save(FileLayout::safetensors, large_model());
  for (const int64_t threads : {1, 4}) {
    EXPECT_EQ(error_of([&] {
                read(threads, [](size_t, uint64_t offset, Bytes) {
                  if (offset > 0) throw std::runtime_error("no room");
                });
              }),
              "no room");
  }
}

TEST_F(ReadSet, the_sink_sees_no_damaged_chunk) {
  save(FileLayout::safetensors, large_model());
  const std::string path = root / "set/state.safetensors";
  std::fstream(path, std::ios::in | std::ios::out).seekp(kChunkBytes + 5).put('x');
  std::vector<uint64_t> seen;
  EXPECT_THROW(read(1, [&](size_t, uint64_t offset, Bytes) { seen.push_back(offset); }),
               DamagedSet);
  EXPECT_EQ(seen, std::vector<uint64_t>{0});
}

TEST_F(ReadSet, every_flipped_bit_of_a_small_set_changes_the_sum_of_its_chunk) {
  save(FileLayout::safetensors, two_tensors());
  std::string text = contents[0];
  for (uint64_t bit = 0; bit < 8 * text.size(); bit += stride(7)) {
    text[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    ASSERT_NE(crc32c(bytes_of(text)), manifest.files[0].chunks[0]) << bit;
    text[bit / 8] = contents[0][bit / 8];
  }
}

TEST_F(ReadSet, every_damaged_byte_of_header_and_tensors_is_named) {
  save(FileLayout::safetensors, two_tensors());
  for (uint64_t at = 0; at < contents[0].size(); at += stride(5)) {
    const std::string wanted = place_of(0, at);
    ASSERT_EQ(damage_at(0, 8 * at + at % 8).substr(0, wanted.size()), wanted) << at;
  }
  EXPECT_EQ(damage(), "intact");
}

TEST_F(ReadSet, random_flipped_bits_are_detected_and_named) {
  std::mt19937_64 random(11);
  const auto expect_detected = [&](size_t count) {
    for (size_t file = 0; file < manifest.files.size(); ++file) {
      for (size_t i = 0; i < count; ++i) {
        const uint64_t bit = random() % (8 * contents[file].size());
        const std::string wanted = place_of(file, bit / 8);
        ASSERT_EQ(damage_at(file, bit, 2).substr(0, wanted.size()), wanted) << bit;
      }
    }
  };
  save(FileLayout::safetensors, {{"a", "F32", {25, 1000}, 100'000},
                                 {"b", "F32", {9, 1000}, 36'000},
                                 {"c", "U8", {1003}, 1003}});
  expect_detected(1000 / stride(5));
  save(FileLayout::safetensors, large_model(), 2);
  std::filesystem::remove(root / "set/state.safetensors");
  expect_detected(50 / stride(5));
}

TEST_F(ReadSet, bits_at_the_borders_of_tensors_are_named_after_the_right_one) {
  save(FileLayout::safetensors, large_model(), 2);
  for (size_t file = 0; file < 2; ++file) {
    for (const TensorPiece& piece : manifest.layout.files[file].pieces) {
      for (const uint64_t at : {piece.offset - 1, piece.offset, piece.offset + piece.bytes - 1}) {
        const std::string wanted = place_of(file, at);
        EXPECT_EQ(damage_at(file, 8 * at).substr(0, wanted.size()), wanted) << at;
      }
    }
  }
}

TEST_F(ReadSet, the_message_is_complete) {
  save(FileLayout::safetensors, {{"weight", "U8", {8}, 8}});
  contents[0].replace(4096, 8, "zeroes??");
  root.write("set/state.safetensors", contents[0]);
  const uint32_t found = crc32c(bytes_of(contents[0])), expected = manifest.files[0].chunks[0];
  char sums[64];
  std::snprintf(sums, sizeof sums, "(CRC-32C %08x, expected %08x)", found, expected);
  EXPECT_EQ(damage(),
            std::string("state.safetensors: damaged in bytes [0, 4104): tensor weight bytes "
                        "[0, 8) ") +
                sums);
}

TEST_F(ReadSet, at_most_three_tensors_are_named) {
  save(FileLayout::safetensors, {{"a", "U8", {8}, 8},
                                 {"b", "U8", {8}, 8},
                                 {"c", "U8", {8}, 8},
                                 {"d", "U8", {8}, 8},
                                 {"e", "U8", {8}, 8}});
  contents[0].replace(4096 + 8, 32, std::string(32, 'x'));
  root.write("set/state.safetensors", contents[0]);
  EXPECT_NE(damage().find("): tensor b bytes [0, 8), tensor c bytes [0, 8), tensor d bytes [0, 8) "
                          "and 1 more (CRC"),
            std::string::npos)
      << damage();
}

TEST_F(ReadSet, the_first_damage_is_reported_for_any_number_of_threads) {
  save(FileLayout::safetensors, large_model());
  std::string text = contents[0];
  text[kChunkBytes + 100] ^= 1;
  text[2 * kChunkBytes + 100] ^= 1;
  root.write("set/state.safetensors", text);
  const std::string wanted = place_of(0, kChunkBytes);
  for (int round = 0; round < 20; ++round) EXPECT_EQ(damage(4).substr(0, wanted.size()), wanted);
}

TEST_F(ReadSet, a_damaged_text_is_named_without_tensors) {
  save(FileLayout::tf_saver, two_tensors());
  EXPECT_EQ(damage(), "intact");
  const std::string wanted = "model.ckpt.index: damaged in bytes [0, 9) (CRC-32C ";
  EXPECT_EQ(damage_at(1, 3).substr(0, wanted.size()), wanted);
}

TEST_F(ReadSet, the_start_of_a_file_without_a_header_belongs_to_its_tensor) {
  save(FileLayout::tf_saver, two_tensors());
  const std::string wanted = place_of(0, 0);
  EXPECT_NE(wanted.find("tensor weight"), std::string::npos);
  EXPECT_EQ(damage_at(0, 0).substr(0, wanted.size()), wanted);
}

TEST_F(ReadSet, a_file_of_another_size_is_damage) {
  save(FileLayout::safetensors, two_tensors());
  const std::string path = root / "set/state.safetensors";
  const uint64_t size = contents[0].size();
  for (const uint64_t other : {uint64_t{0}, uint64_t{4095}, uint64_t{4096}, uint64_t{4097},
                               size - 1, size + 1, size + 4096}) {
    std::filesystem::resize_file(path, other);
    EXPECT_EQ(damage(), "state.safetensors: " + std::to_string(other) + " bytes, expected " +
                            std::to_string(size));
  }
}

TEST_F(ReadSet, a_missing_file_is_damage) {
  save(FileLayout::safetensors, two_tensors(), 2);
  std::filesystem::remove(root / "set/state-00002-of-00002.safetensors");
  EXPECT_EQ(damage(), "state-00002-of-00002.safetensors: missing");
}

TEST_F(ReadSet, a_file_that_the_manifest_does_not_know_is_damage) {
  save(FileLayout::safetensors, two_tensors());
  root.write("set/extra", "");
  EXPECT_EQ(damage(), "extra: not in MANIFEST.json");
}

TEST_F(ReadSet, files_that_changed_places_are_damage) {
  save(FileLayout::safetensors, large_model(), 2);
  const std::string a = root / "set/state-00001-of-00002.safetensors";
  const std::string b = root / "set/state-00002-of-00002.safetensors";
  std::filesystem::rename(a, root / "set/c");
  std::filesystem::rename(b, a);
  std::filesystem::rename(root / "set/c", b);
  EXPECT_NE(damage(), "intact");
}

TEST_F(ReadSet, a_tensor_whose_own_checksum_differs_is_damage) {
  save(FileLayout::safetensors, large_model(), 2);
  const uint32_t right = manifest.tensor_sums[2];
  manifest.tensor_sums[2] = 7;
  root.write("set/MANIFEST.json", manifest_text(manifest));
  char sums[64];
  std::snprintf(sums, sizeof sums, "(CRC-32C %08x, expected 00000007)", right);
  EXPECT_EQ(error_of([&] { read(3); }),
            root / "set" + ": tensor fc changed in memory before it was written " + sums);
}

TEST_F(ReadSet, a_damaged_manifest_is_damage) {
  save(FileLayout::safetensors, two_tensors());
  const std::string text = root.read("set/MANIFEST.json");
  root.write("set/MANIFEST.json", text.substr(1));
  EXPECT_EQ(damage(), "MANIFEST.json: damaged: its SHA-256 does not agree with its " +
                          std::to_string(text.size() - 1) + " bytes");
}

TEST_F(ReadSet, a_set_without_a_manifest_is_damage) {
  save(FileLayout::safetensors, two_tensors());
  std::filesystem::remove(root / "set/MANIFEST.json");
  EXPECT_EQ(damage(), "MANIFEST.json: missing");
}

TEST_F(ReadSet, a_directory_that_is_not_there_is_no_damaged_set) {
  EXPECT_EQ(error_of([&] { read_manifest(tree, "absent"); }),
            "open " + root / "absent/MANIFEST.json" + ": No such file or directory");
  EXPECT_THROW(read_manifest(tree, "absent"), IoError);
}

TEST_F(ReadSet, a_manifest_beyond_all_measure_is_not_read) {
  save(FileLayout::safetensors, two_tensors());
  std::filesystem::resize_file(root / "set/MANIFEST.json", kMaxManifestBytes + 1);
  EXPECT_THROW(read(), DamagedSet);
}

// Every read fails from the n-th on.
struct Failing final : FileLayer {
  explicit Failing(int after) : left(after) {}
  std::atomic<int> left;
  int64_t call(const FileCall& call, const Next& next) override {
    if (call.op == FileCall::Op::read && left-- <= 0) return -EIO;
    return next(call);
  }
};

TEST_F(ReadSet, a_read_that_fails_is_an_io_error) {
  save(FileLayout::safetensors, large_model());
  for (int after = 0; after < 4; ++after) {
    const FileTree failing = tree.behind(std::make_shared<Failing>(after));
    for (const int64_t threads : {1, 3})
      EXPECT_THROW(read_set(failing, "set", manifest, threads, {}), IoError) << after;
  }
}

TEST_F(ReadSet, damage_that_cannot_be_looked_at_again_is_reported_all_the_same) {
  save(FileLayout::safetensors, large_model());
  std::string text = contents[0];
  text[kChunkBytes + 100] ^= 1;
  root.write("set/state.safetensors", text);
  const FileTree failing = tree.behind(std::make_shared<Failing>(2));
  EXPECT_THROW(read_set(failing, "set", manifest, 1, {}), DamagedSet);
}

}  // namespace
}  // namespace stoker
