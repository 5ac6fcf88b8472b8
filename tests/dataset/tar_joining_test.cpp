#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "io/core/error.h"
#include "tests/support/archives.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

// Tar files as tar itself, and people, make them: members in any order, links, holes, archives
// behind archives.

namespace stoker {
namespace {

using Lines = std::vector<std::string>;

std::string ustar(const ArchiveFiles& files) {
  return make_archive(files, ARCHIVE_FORMAT_TAR_USTAR, false);
}

// One shard in memory.
struct JoinedShard : TestDataset {
  explicit JoinedShard(const std::string& contents) : TestDataset(make_storage("{type: memory}")) {
    put(tier(), "train.tar", contents);
  }
  const Dataset& build(const std::string& more = "") {
    return TestDataset::build("{type: tar_shards, storage: data" + more + "}");
  }
  // "key=label:contents" of each sample, or why it is bad.
  Lines samples(const std::string& more = "") {
    build(more);
    Lines result;
    for (int64_t i = 0; i < dataset->size(Split::train); ++i) {
      const SampleInfo info = dataset->info(Split::train, i);
      const std::string bad = why_bad(*dataset, i);
      result.push_back(fmt::format("{}={}:{}", info.key, info.label,
                                   bad.empty() ? read_sample(*dataset, Split::train, i) : bad));
    }
    return result;
  }
};

// What GNU tar makes of these files, in this order; `make` makes them.
std::string tar_of(const std::string& make, const std::string& names,
                   const std::string& options = "") {
  TemporaryDirectory directory;
  const std::string command = "cd '" + directory.path() + "' && " + make + " && tar " + options +
                              " --no-recursion -cf made.tar " + names;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return directory.read("made.tar");
}

TEST(TarJoining, a_label_may_lie_anywhere_in_its_archive) {
  const Lines samples{"i/1=1:one", "i/2=0:two", "i/3=1:three"};
  const std::string far(3'000'000, 'x');
  EXPECT_EQ(JoinedShard(ustar({{"i/3.cls", "1"},
                               {"i/1.jpg", "one"},
                               {"i/2.jpg", "two"},
                               {"i/1.cls", "1"},
                               {"i/3.jpg", "three"},
                               {"i/2.cls", "0\n"}}))
                .samples(),
            samples);
  // All labels behind all images, and far away.
  EXPECT_EQ(JoinedShard(ustar({{"i/1.jpg", "one"},
                               {"i/2.jpg", "two"},
                               {"i/3.jpg", "three"},
                               {"i/2.json", far},
                               {"i/1.cls", "1"},
                               {"i/2.cls", "0"},
                               {"i/3.cls", "1"}}))
                .samples(),
            samples);
  // All labels in front, in the names that `tar c .` gives.
  EXPECT_EQ(JoinedShard(ustar({{"./i/3.cls", "1"},
                               {"./i/2.cls", "0"},
                               {"./i/1.cls", "1"},
                               {".//i/1.jpg", "one"},
                               {"./i/2.jpg", "two"},
                               {"./i/3.jpg", "three"}}))
                .samples(),
            samples);
}

TEST(TarJoining, blanks_around_a_label_do_not_count) {
  EXPECT_EQ(JoinedShard(ustar({{"1.jpg", "one"},
                               {"1.cls",
                                "\xef\xbb\xbf"
                                "1\r\n"},
                               {"2.jpg", "two"},
                               {"2.cls", " 0\n\n"}}))
                .samples(),
            (Lines{"1=1:one", "2=0:two"}));
}

TEST(TarJoining, links_to_and_names_of_hundreds_of_letters_are_whole) {
  const std::string far = std::string(90, 'd') + "/\xc3\xa4" + std::string(120, 'x');
  const std::string make = "mkdir -p " + far.substr(0, 90) + " owl && printf one > " + far +
                           ".jpg && ln " + far + ".jpg owl/2.jpg && ln -s ../" + far +
                           ".jpg owl/3.jpg";
  for (const std::string format : {"gnu", "pax"}) {
    const std::string tar = tar_of(make, far + ".jpg owl/2.jpg owl/3.jpg", "--format=" + format);
    EXPECT_EQ(JoinedShard(tar).samples(), (Lines{far + "=0:one", "owl/2=1:one", "owl/3=1:one"}));
  }
}

TEST(TarJoining, folders_are_classes_whatever_stands_in_front_of_them) {
  EXPECT_EQ(
      JoinedShard(ustar({{"./cat/1.jpg", "1"}, {"dog/2.jpg", "2"}, {"/dog/3.jpg", "3"}})).samples(),
      (Lines{"cat/1=0:1", "dog/2=1:2", "dog/3=1:3"}));
  JoinedShard shard(ustar({{"./1.jpg", "1"}, {"./cat/2.jpg", "2"}}));
  EXPECT_EQ(shard.samples(),
            (Lines{"1=-1:unsupported: it has no label: no member ends in .cls, and its name has no "
                   "folder: set dataset.label",
                   "cat/2=0:2"}));
  EXPECT_EQ(shard.dataset->classes(), Lines{"cat"});  // and not ''
}

TEST(TarJoining, links_are_what_they_lead_to) {
  const std::string make =
      "mkdir a b blobs && printf one > a/1.jpg && printf 1 > a/1.cls && ln a/1.jpg a/2.jpg && "
      "ln a/1.cls a/2.cls && printf three > blobs/3f && printf 0 > blobs/zero && "
      "ln -s ../blobs/3f b/3.jpg && ln -s ../blobs/zero b/3.cls && ln -s 3.jpg b/4.jpg && "
      "ln -s ./3.cls b/4.cls";
  // Which of two names of a file is the link depends on the order.
  for (const std::string names :
       {"a/1.jpg a/1.cls a/2.jpg a/2.cls blobs/3f blobs/zero b/3.jpg b/3.cls b/4.jpg b/4.cls",
        "b/4.cls b/4.jpg b/3.cls b/3.jpg blobs/zero blobs/3f a/2.cls a/2.jpg a/1.cls a/1.jpg"}) {
    for (const std::string format : {"--format=gnu", "--format=pax"}) {
      JoinedShard shard(tar_of(make, names, format));
      for (int start = 0; start < 2; ++start) {  // the second by the index
        Lines samples = shard.samples();
        std::ranges::sort(samples);
        EXPECT_EQ(samples, (Lines{"a/1=1:one", "a/2=1:one", "b/3=0:three", "b/4=0:three"}));
        EXPECT_TRUE(shard.remarks.empty());
      }
    }
  }
}

TEST(TarJoining, what_is_passed_over_is_told_at_each_start) {
  JoinedShard shard(tar_of(
      "mkdir a && printf 1 > a/1.jpg && printf x > a/README && printf x > a/.2.jpg && "
      "printf 3 > a/3.cls && ln -s a latest && mkfifo a/p.jpg && ln -s /data/4.jpg a/4.jpg && "
      "ln -s 5.jpg a/5.jpg && printf {} > a/1.json && printf x > a/__meta__.json",
      "a a/1.jpg a/README a/.2.jpg a/3.cls latest a/p.jpg a/4.jpg a/5.jpg a/1.json "
      "a/__meta__.json"));
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(shard.samples(),
              (Lines{"a/1=0:1",
                     "a/4=0:missing: its image is a link to 'data/4.jpg', which is not in the "
                     "shard: write the shard with tar --dereference",
                     "a/5=0:missing: its image is a link to 'a/5.jpg', which is not in the shard: "
                     "write the shard with tar --dereference"}));
    EXPECT_EQ(shard.remarks,
              Lines{"dataset: passed over 5 that are no part of a sample: 'train.tar: a/README', "
                    "'train.tar: a/.2.jpg', 'train.tar: a/3.cls', 'train.tar: latest' and "
                    "'train.tar: a/p.jpg'"});
    EXPECT_EQ(shard.dataset->ignored().size(), 5u);
  }
}

TEST(TarJoining, a_sparse_member_has_its_zeros) {
  const std::string make =
      "printf begin > s.bin && truncate -s 1000000 s.bin && printf middle >> s.bin && "
      "truncate -s 3000000 s.bin && truncate -s 500000 z.bin && printf 0 > s.cls && "
      "printf 1 > z.cls";
  std::string contents(3'000'000, '\0');
  contents.replace(0, 5, "begin").replace(1'000'000, 6, "middle");
  for (const std::string format :
       {"gnu", "pax", "pax --sparse-version=0.0", "pax --sparse-version=0.1"}) {
    const std::string tar = tar_of(make, "s.bin s.cls z.bin z.cls", "-S --format=" + format);
    EXPECT_LT(tar.size(), 100'000u) << "it is not sparse";
    JoinedShard shard(tar);
    for (int start = 0; start < 2; ++start) {
      EXPECT_EQ(shard.samples(", images: [bin]"),
                (Lines{"s=0:" + contents, "z=1:" + std::string(500'000, '\0')}));
    }
  }
}

TEST(TarJoining, archives_behind_archives_are_read) {
  const std::string one = ustar({{"1.cls", "0"}, {"1.jpg", "a"}});
  const std::string two = ustar({{"1.jpg", "b"}, {"1.cls", "1"}, {"2.jpg", "c"}, {"2.cls", "1"}});
  const std::string zeros(1'000'000 / 512 * 512, '\0');
  // Names begin anew in each.
  const Lines all{"1=0:a", "1=1:b", "2=1:c"};
  EXPECT_EQ(JoinedShard(one + two).samples(), all);
  EXPECT_EQ(JoinedShard(one + zeros + two + zeros).samples(), all);
  EXPECT_EQ(JoinedShard(one + one + two + one).samples(),
            (Lines{"1=0:a", "1=0:a", "1=1:b", "2=1:c", "1=0:a"}));
  // As long as its members alone, and with one block of zeros behind them.
  EXPECT_EQ(JoinedShard(one.substr(0, 2048) + two).samples(), all);
  EXPECT_EQ(JoinedShard(one.substr(0, 2048 + 512) + two).samples(), all);
  // tar --concatenate, which takes the zeros out.
  EXPECT_EQ(JoinedShard(one.substr(0, 2048) + two.substr(0, 4096) + one).samples(),
            (Lines{"1=0:a", "1=1:b", "2=1:c", "1=0:a"}));
}

TEST(TarJoining, what_follows_the_end_and_is_no_archive_is_told) {
  const std::string one = ustar({{"a/1.jpg", "x"}});
  for (const std::string& rest : {std::string("short"), std::string(2000, 'x')}) {
    JoinedShard shard(one + rest);
    EXPECT_EQ(shard.samples(), Lines{"a/1=0:x"});
    EXPECT_EQ(shard.remarks,
              Lines{fmt::format("dataset: passed over 1 that is no part of a sample: 'train.tar: "
                                "{} bytes behind its end, which are no tar archive'",
                                rest.size())});
  }
}

TEST(TarJoining, an_archive_behind_another_is_refused_or_cut_as_the_first_one_is) {
  const std::string one = ustar({{"a/1.jpg", "x"}});
  std::string damaged = ustar({{"a/2.jpg", "y"}});
  damaged[124] ^= 1;  // its size, so the checksum of its header is wrong
  const std::string refused = error_of([&] { JoinedShard(one + damaged).build(); });
  EXPECT_TRUE(
      refused.starts_with("dataset: shard train.tar is no tar file, or a damaged or "
                          "compressed one ("))
      << refused;
  EXPECT_NE(refused.find(fmt::format("in what follows byte {})", one.size())), std::string::npos)
      << refused;
  JoinedShard cut(one + ustar({{"a/2.jpg", std::string(3000, 'y')}}).substr(0, 2000));
  EXPECT_EQ(cut.samples(),
            (Lines{"a/1=0:x", "a/2=0:truncated: its shard ends in the middle of it"}));
}

TEST(TarJoining, a_shard_whose_members_end_otherwise_names_their_ends) {
  const auto refused = [](const ArchiveFiles& files) {
    return error_of([&] { JoinedShard(ustar(files)).build(); });
  };
  const std::string none =
      "dataset: there are no samples in 'train*.tar' in tier 'data': no member of train.tar ends "
      "in .jpg, .jpeg, .png, .bmp, .webp (dataset.images); there are members that end in ";
  EXPECT_EQ(refused({{"1.input.jpg", "x"}, {"1.output.cls", "0"}, {"2.input.jpg", "x"}}),
            none +
                "'input.jpg' and 'output.cls': set dataset.images=[input.jpg], and "
                "dataset.label to the end of those that are numbers");
  EXPECT_EQ(refused({{"1.left.jpg", "x"}, {"1.right.jpg", "y"}, {"2.left.jpg", "x"}}),
            none +
                "'left.jpg' and 'right.jpg': set dataset.images=[left.jpg], and dataset.label "
                "to the end of those that are numbers");
  EXPECT_EQ(refused({{"p.v1.0.jpg", "x"}, {"p.v1.1.jpg", "y"}}),
            none +
                "'v1.0.jpg' and 'v1.1.jpg': an end begins at the first dot of a name, so "
                "rename members that have several");
  EXPECT_EQ(refused({{"1.tiff", "x"}, {"1.cls", "1"}, {"2.tiff", "x"}}),
            none + "'tiff' and 'cls': set dataset.images");
}

TEST(TarJoining, a_sample_without_a_label_names_what_it_has) {
  const std::string refused = error_of([&] {
    JoinedShard(ustar({{"1.jpg", "x"}, {"1.class", "0"}, {"1.json", "{}"}, {"2.jpg", "y"}}))
        .build();
  });
  EXPECT_EQ(refused,
            "dataset: none of the 2 samples in 'train*.tar' can be used: 1: unsupported: it has no "
            "label: no member ends in .cls; there are 'class' and 'json', and its name has no "
            "folder: set dataset.label");
  EXPECT_EQ(error_of([&] {
              JoinedShard(ustar({{"a/1.jpg", "x"}, {"a/1.cls", "cat\n"}})).build();
            }),
            "dataset: none of the 1 samples in 'train*.tar' can be used: a/1: unsupported: member "
            ".cls is no number of a class, but 'cat'");
}

}  // namespace
}  // namespace stoker
