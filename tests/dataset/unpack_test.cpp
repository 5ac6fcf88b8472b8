#include "io/dataset/unpack.h"

#include <gtest/gtest.h>

#include "io/core/error.h"
#include "tests/support/archives.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

struct Unpack : testing::Test {
  TemporaryDirectory directory;

  ArchiveFiles unpacked(const std::string& bytes) {
    directory.write("archive", bytes);
    ArchiveFiles files;
    unpack(directory / "archive", "inner.tar.gz", [&](UnpackedFile file) {
      files.emplace_back(file.path, std::string(file.bytes.begin(), file.bytes.end()));
    });
    return files;
  }
  // The message behind the archive's name.
  std::string refused(const std::string& bytes) {
    const std::string message = error_of([&] { unpacked(bytes); });
    const std::string prefix = "unpack " + directory / "archive";
    EXPECT_TRUE(message.starts_with(prefix)) << message;
    return message.substr(prefix.size());
  }
};

const ArchiveFiles kFiles{
    {"top/a/1.jpg", "one"}, {"top/b/2.jpg", std::string(200'000, 'x')}, {"top/empty", ""}};

TEST_F(Unpack, streams_a_tar_gz) { EXPECT_EQ(unpacked(make_tar_gz(kFiles)), kFiles); }

TEST_F(Unpack, streams_an_archive_in_memory) {
  const std::string bytes = make_zip({{"x/inner.tar.gz", make_tar_gz(kFiles)}});
  ArchiveFiles files;
  unpack({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "memory", "inner.tar.gz",
         [&](UnpackedFile file) {
           files.emplace_back(file.path, std::string(file.bytes.begin(), file.bytes.end()));
         });
  EXPECT_EQ(files, kFiles);
}

TEST_F(Unpack, streams_a_tar_gz_inside_a_zip) {
  EXPECT_EQ(unpacked(make_zip({{"x/other.tar.gz", "not this"},
                               {"__MACOSX/x/._inner.tar.gz", "nor this"},
                               {"x/inner.tar.gz", make_tar_gz(kFiles)}})),
            kFiles);
}

TEST_F(Unpack, cleans_paths_and_leaves_out_what_is_no_file) {
  EXPECT_EQ(unpacked(make_tar_gz({{"./top/", ""}, {"./top//a/./1.jpg", "one"}})),
            (ArchiveFiles{{"top/a/1.jpg", "one"}}));
}

TEST_F(Unpack, a_path_that_leads_out_is_refused) {
  EXPECT_EQ(refused(make_tar_gz({{"top/a", "x"}, {"../evil", "x"}})),
            ": the path '../evil' in it leads out of the target folder");
  EXPECT_EQ(refused(make_tar_gz({{"top/../../evil", "x"}})),
            ": the path 'top/../../evil' in it leads out of the target folder");
  EXPECT_EQ(refused(make_tar_gz({{"/etc/evil", "x"}})),
            ": the path '/etc/evil' in it leads out of the target folder");
}

TEST_F(Unpack, a_huge_file_is_refused_before_it_is_read) {
  // 64 MiB of zeros are 64 KiB of gzip.
  EXPECT_EQ(refused(make_tar_gz({{"top/bomb", std::string((size_t{64} << 20) + 1, '\0')}})),
            ": 'top/bomb' in it is above 64 MiB");
}

TEST_F(Unpack, what_is_no_archive_is_refused) {
  EXPECT_EQ(refused("<html>404</html>"), ": Unrecognized archive format");
  EXPECT_EQ(refused(make_zip({{"x/other.tar.gz", "x"}})), ": there is no inner.tar.gz in it");
  EXPECT_EQ(refused(make_zip({{"inner.tar.gz", "text"}})),
            " (inner.tar.gz): Unrecognized archive format");
  EXPECT_EQ(error_of([&] { unpack(directory / "absent", "", [](UnpackedFile) {}); }),
            "unpack " + directory / "absent" + ": Failed to open '" + directory / "absent" + "'");
}

TEST_F(Unpack, a_truncated_archive_is_refused_at_every_length) {
  ArchiveFiles noise;  // that gzip cannot make small
  uint64_t state = 1;
  for (int i = 0; i < 3; ++i) {
    std::string text;
    for (int k = 0; k < 500; ++k)
      text += static_cast<char>((state = state * 6364136223846793005u + 1) >> 56);
    noise.emplace_back("top/" + std::to_string(i), text);
  }
  const std::string tar = make_tar_gz(noise);
  const std::string zip = make_zip({{"x/inner.tar.gz", tar}});
  for (const std::string* whole : {&tar, &zip}) {
    EXPECT_EQ(unpacked(*whole), noise);
    for (size_t size = 0; size + 150 < whole->size(); size += 37) {
      ArchiveFiles files;
      bool failed = false;
      try {
        files = unpacked(whole->substr(0, size));
      } catch (const Error& error) {
        failed = error.code() == ExitCode::environment;
      }
      EXPECT_TRUE(failed || files.size() < noise.size()) << size;
    }
  }
}

TEST_F(Unpack, what_the_sink_throws_passes_through) {
  directory.write("archive", make_tar_gz(kFiles));
  EXPECT_THROW(unpack(directory / "archive", "", [](UnpackedFile) { throw std::domain_error(""); }),
               std::domain_error);
}

}  // namespace
}  // namespace stoker
