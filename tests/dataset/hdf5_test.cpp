#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "io/core/error.h"
#include "io/dataset/formats/hdf5/process.h"
#include "io/dataset/shards/shard_index.h"
#include "io/dataset/shards/shard_writer.h"
#include "tests/dataset/hdf5_shards.h"
#include "tests/support/errors.h"
#include "tests/support/short_tests.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

// As hdf5_files.py writes them.
Json samples_of(const Dataset& data, bool keys) {
  Json samples = Json::array();
  for (int64_t i = 0; i < data.size(Split::train); ++i) {
    Json& sample = samples.emplace_back();
    sample["bytes"] = hex(read_sample(data, Split::train, i));
    sample["label"] = data.info(Split::train, i).label;
    if (keys) sample["key"] = data.info(Split::train, i).key;
  }
  return samples;
}

const std::string kEnd = ": repair it, write it again, or take it out of the pattern";

std::string refusal_of(const std::string& name, const std::string& more = "") {
  const std::string text = error_of([&] { Hdf5Shards(hdf5_files().read(name)).build(more); });
  EXPECT_TRUE(text.ends_with(kEnd)) << text;
  return text.substr(0, text.size() - std::min(kEnd.size(), text.size()));
}

TEST(Hdf5, every_sample_is_what_h5py_reads_of_its_files_in_parts_and_as_a_whole) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(hdf5_files().path())) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem();
    const Json want = Json::parse(hdf5_files().read(name + ".json"));
    Hdf5Shards shards(hdf5_files().read(name + ".h5"));
    if (name.starts_with("map")) shards.with_classes();
    for (const char* const access : {"parts", "whole", "parts"}) {  // the last by the kept index
      const Dataset& data = shards.build(hdf5_options(name) + ", access: " + access);
      EXPECT_EQ(samples_of(data, want.at(0).contains("key")), want) << name << " " << access;
      // One sample, of class 4.
      EXPECT_EQ(shards.remarks.empty(), !name.starts_with("climate"));
    }
    ++count;
  }
  EXPECT_EQ(count, 36);
}

TEST(Hdf5, what_leads_out_of_the_file_is_refused) {
  const std::string shard = "dataset: shard train.h5 ";
  EXPECT_EQ(
      refusal_of("refused-external-link.h5"),
      shard + "has a link out of the file ('images', an external one), which is not followed");
  EXPECT_TRUE(refusal_of("refused-soft-to-external.h5")
                  .starts_with(shard + "data set 'images' can't be opened (libhdf5: "));
  EXPECT_EQ(refusal_of("refused-external-storage.h5"),
            shard + "can't be read: data set 'images' lies in other files (external storage)");
  EXPECT_EQ(refusal_of("refused-virtual.h5"),
            shard + "can't be read: data set 'images' is a virtual one, made of other files");
}

TEST(Hdf5, other_filters_are_refused) {
  const auto text = [](const std::string& filter) {
    return "dataset: shard train.h5 can't be read: data set 'images' has filter " + filter +
           ": only deflate (gzip) and shuffle are read; write it again with these or with none";
  };
  EXPECT_EQ(refusal_of("refused-lzf.h5"), text("32000 (lzf)"));
  EXPECT_EQ(refusal_of("refused-fletcher32.h5"), text("3 (fletcher32)"));
  EXPECT_EQ(refusal_of("refused-scaleoffset.h5"), text("6 (scaleoffset)"));
}

TEST(Hdf5, a_layout_that_can_not_be_read_in_pieces_is_refused) {
  const std::string images = "dataset: shard train.h5 can't be read: data set 'images' ";
  EXPECT_EQ(refusal_of("refused-part-of-row.h5"),
            images +
                "has chunks that hold parts of rows: only chunks along the first axis can be "
                "read in pieces; write it again with chunks of whole samples, such as (1, ...)");
  EXPECT_EQ(refusal_of("refused-compact.h5"),
            images + "lies among the file's headers (compact): write it contiguous or chunked");
  EXPECT_EQ(refusal_of("refused-big-endian.h5"),
            images + "has big-endian elements: write it little-endian");
  EXPECT_EQ(refusal_of("refused-strings.h5"), images + "has elements that are no numbers");
  EXPECT_EQ(refusal_of("refused-never-written.h5"), images + "was never written");
  EXPECT_EQ(refusal_of("refused-user-block.h5"),
            "dataset: shard train.h5 can't be read: it has a user block in front: write it again "
            "without one");
}

TEST(Hdf5, data_sets_that_do_not_fit_are_named) {
  const std::string shard = "dataset: shard train.h5 ";
  EXPECT_EQ(refusal_of("refused-variable-keys.h5"),
            shard +
                "can't be read: data set 'keys' has no strings of a fixed length of at most "
                "4096 bytes");
  EXPECT_EQ(error_of([] { Hdf5Shards(hdf5_files().read("refused-float-labels.h5")).build(); }),
            shard +
                "can't be read: data set 'labels' has no whole numbers, and a class is one: name "
                "the data set with the numbers of the samples' classes (dataset.labels), and write "
                "the classes' names into classes.txt");
  EXPECT_EQ(
      refusal_of("refused-many-labels.h5"),
      shard + "can't be read: data set 'labels' has 18 elements, where at most 17 are expected");
  EXPECT_EQ(refusal_of("refused-few-labels.h5"),
            shard + "is damaged: data set 'images': it has 16 labels for 17 samples");
  // What is not wanted is not looked at.
  EXPECT_EQ(Hdf5Shards(hdf5_files().read("refused-variable-keys.h5"))
                .build(", keys: ''")
                .info(Split::train, 3)
                .key,
            "train/3");
}

TEST(Hdf5, maps_have_to_be_there_for_every_sample_and_need_names_of_classes) {
  const std::string shard = "dataset: shard train.h5 ";
  EXPECT_EQ(error_of([] {
              Hdf5Shards(hdf5_files().read("map-file-earliest.h5")).build(hdf5_options("map-file"));
            }),
            "dataset: 'classes.txt' in tier 'data' names no classes, and the maps of "
            "dataset.target have some: write their names there, a line each");
  EXPECT_EQ(refusal_of("refused-many-maps.h5", ", target: map"),
            shard + "is damaged: data set 'images': 8 rows are to follow 7 samples");
}

TEST(Hdf5, what_is_no_hdf5_file_or_is_cut_is_refused) {
  TemporaryDirectory directory;
  directory.write("cut.h5", hdf5_files().read("rows-earliest.h5").substr(0, 3000));
  for (const std::string& bytes :
       {std::string(), std::string(3000, 'x'), directory.read("cut.h5")}) {
    const std::string text = error_of([&] { Hdf5Shards(bytes).build(); });
    EXPECT_TRUE(text.starts_with("dataset: shard train.h5 is no HDF5 file, or a damaged one (lib"))
        << text;
  }
}

TEST(Hdf5, a_chunk_that_is_damaged_is_a_bad_sample_and_others_are_read) {
  const std::string contents = hdf5_files().read("rows-deflate-earliest.h5");
  const Json want = Json::parse(hdf5_files().read("rows-deflate-earliest.json"));
  Hdf5Shards shards(contents);
  shards.build();
  // The chunk of the first samples begins where the kept index says.
  const Json index = Json::parse(get(shards.tier(), "train.h5.index.json"));
  const size_t at = index.at("index").at("samples").at(0).at(5).at(0).at(0);
  std::string damaged = contents;
  damaged[at + 20] ^= 0x55;
  put(shards.tier(), "train.h5", damaged);
  const Dataset& data = shards.build();
  try {
    read_sample(data, Split::train, 0);
    FAIL();
  } catch (const BadSample& error) {
    EXPECT_EQ(error.reason(), BadReason::corrupt);
    EXPECT_STREQ(error.what(), "its chunk can't be inflated to its size");
  }
  EXPECT_EQ(hex(read_sample(data, Split::train, 3)), want.at(3).at("bytes").get<std::string>());
}

TEST(Hdf5, tiers_serve_and_count_the_scan_and_give_the_same_samples) {
  TemporaryDirectory directory;
  directory.write("train.h5", hdf5_files().read("rows-both-earliest.h5"));
  const Json want = Json::parse(hdf5_files().read("rows-both-earliest.json"));
  for (const std::string& tier :
       {"{type: posix, root: " + directory.path() + "}",
        "{type: emulated, read_mb_per_s: 1000, write_mb_per_s: 1000, inner: {type: posix, root: " +
            directory.path() + "}}"}) {
    fs::remove(directory / "train.h5.index.json");
    TestDataset set(make_storage(tier));
    EXPECT_EQ(samples_of(set.build("{type: hdf5, storage: data}"), false), want);
  }
  auto counting = std::make_unique<CountingStorage>(posix_storage(directory.path()));
  const CountingStorage& counts = *counting;
  fs::remove(directory / "train.h5.index.json");
  TestDataset set(std::move(counting));
  set.build("{type: hdf5, storage: data}");
  EXPECT_GT(counts.reads()["train.h5"], 0);
  set.build("{type: hdf5, storage: data}");
  EXPECT_EQ(counts.reads()["train.h5"], 0);  // the kept index
  const Dataset& whole = set.build("{type: hdf5, storage: data, access: whole}");
  counts.reads();
  samples_of(whole, false);
  EXPECT_EQ(counts.reads()["train.h5"], 1);
}

std::string written(const std::vector<SampleToWrite>& samples) {
  const std::unique_ptr<Storage> tier = make_storage("{type: memory}");
  const std::vector<std::string> classes{"a", "b"};
  const auto format = default_component<ShardFormatWriter>("hdf5").create({classes});
  const std::unique_ptr<ShardWriter> writer = format->create(*tier, "train-0.h5");
  for (const SampleToWrite& sample : samples) writer->add(sample);
  writer->commit();
  return get(*tier, "train-0.h5");
}

TEST(Hdf5, what_the_writer_writes_h5py_and_we_read_again) {
  const std::vector<std::string> bytes{std::string(100'000, 'x'), "", "three"};
  const std::vector<std::string> names{"a/1.jpg", "b/\xc3\xa4.jpg", "b/long name of 3.jpg"};
  std::vector<SampleToWrite> samples;
  Json want = Json::array();
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto* const data = reinterpret_cast<const uint8_t*>(bytes[i].data());
    samples.push_back({names[i], static_cast<int64_t>(i), {data, bytes[i].size()}});
    want.push_back({{"bytes", hex(bytes[i])}, {"label", i}, {"key", names[i]}});
  }
  TemporaryDirectory directory;
  directory.write("train.h5", written(samples));
  EXPECT_EQ(directory.read("train.h5"), written(samples));  // nothing of the clock
  ASSERT_EQ(std::system(hdf5_python(directory / "train.h5", directory / "read.json").c_str()), 0);
  EXPECT_EQ(Json::parse(directory.read("read.json")), want);
  EXPECT_EQ(samples_of(Hdf5Shards(directory.read("train.h5")).build(), true), want);
}

TEST(Hdf5, a_shard_without_samples_is_written_and_has_none) {
  const std::string text = error_of([] { Hdf5Shards(written({})).build(); });
  EXPECT_TRUE(text.starts_with("dataset: there are no samples in 'train*.h5'")) << text;
}

TEST(Hdf5, a_name_that_does_not_fit_is_refused) {
  const std::string name(5000, 'n');
  EXPECT_TRUE(error_of([&] { written({{name, 0, {}}}); }).starts_with("train-0.h5: sample nnn"));
}

// What a program says instead of stoker_hdf5.
std::string answer_of_shell(const std::string& script, int patience_ms = 60'000) {
  Hdf5Call call{"shard a.h5", {"-c", script}};
  call.program = "/bin/bash";
  call.patience_ms = patience_ms;
  return error_of([&] { run_hdf5(call); });
}

TEST(Hdf5, a_child_that_crashes_hangs_or_talks_nonsense_is_an_error_that_names_the_shard) {
  EXPECT_EQ(answer_of_shell("kill -SEGV $$"),
            "dataset: shard a.h5 is damaged: libhdf5 crashed on it (signal 11)" + kEnd);
  EXPECT_EQ(answer_of_shell("exec sleep 1000 <&-"),
            "dataset: shard a.h5 is damaged: libhdf5 crashed on it (signal 9)" + kEnd);
  EXPECT_EQ(
      answer_of_shell("exit 1"),
      "dataset: shard a.h5 can't be read: stoker_hdf5 ended with status 1 and no answer" + kEnd);
  EXPECT_EQ(answer_of_shell("sleep 1000", 50),
            "dataset: shard a.h5 is damaged: libhdf5 comes to no end with it (stopped after 50 ms "
            "without progress)" +
                kEnd);
  EXPECT_EQ(answer_of_shell("printf '%24s' nonsense >&0"),
            "dataset: shard a.h5 can't be read: stoker_hdf5 answered nonsense" + kEnd);
  EXPECT_EQ(answer_of_shell(R"(printf '\1%23s' '' >&0)"),
            "dataset: shard a.h5 can't be read: stoker_hdf5 answered nonsense" + kEnd);
  const std::string zeros = R"(\0\0\0\0\0\0\0)";
  EXPECT_EQ(answer_of_shell("printf '\\1" + zeros + "\\0" + zeros + "\\1" + zeros + "' >&0"),
            "dataset: shard a.h5 is damaged: libhdf5 asks for more than there is" + kEnd);
}

TEST(Hdf5, damaged_headers_end_in_an_error_or_in_samples_that_lie_in_the_file) {
  std::mt19937_64 random(17);
  int refused = 0, bad = 0, fine = 0, crashed = 0;
  for (const char* const name :
       {"encoded-earliest", "rows-deflate-earliest", "rows-many-earliest"}) {
    const std::string contents = hdf5_files().read(std::string(name) + ".h5");
    const auto count = static_cast<int>(960 / stride(40));
    for (int i = 0; i < count; ++i) {
      std::string damaged = contents;
      for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
        // Half of them where most headers are.
        const size_t range =
            random() % 2 == 0 ? std::min<size_t>(2048, contents.size()) : contents.size();
        damaged[random() % range] = static_cast<char>(random());
      }
      Hdf5Shards shards(damaged);
      try {
        const Dataset& data = shards.build();
        for (int64_t k = 0; k < data.size(Split::train); ++k) {
          try {
            read_sample(data, Split::train, k);
            ++fine;
          } catch (const BadSample&) {
            ++bad;
          }
        }
      } catch (const Error& error) {
        ++refused;
        EXPECT_NE(error.code(), ExitCode::bug) << error.what();
        if (std::string(error.what()).find("crashed") != std::string::npos) ++crashed;
      }
    }
  }
  RecordProperty("refused", refused);
  RecordProperty("crashed", crashed);
  std::printf("refused %d (libhdf5 crashed: %d), bad samples %d, samples %d\n", refused, crashed,
              bad, fine);
  EXPECT_GT(refused, 0);
  EXPECT_GT(fine, 0);
}

}  // namespace
}  // namespace stoker
