#include "io/dataset/fetch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "tests/support/archives.h"
#include "tests/support/errors.h"
#include "tests/support/http_server.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// Fetches the small subset as if it were the published archive: same shape, other checksum.
struct Fetch : testing::Test {
  static void SetUpTestSuite() {
    files = mini_files();
    zip = make_published_zip(files);
    Digest sum(Digest::Kind::md5);
    sum.update({reinterpret_cast<const uint8_t*>(zip.data()), zip.size()});
    md5 = sum.finish();
  }
  static void TearDownTestSuite() {
    files.clear();
    zip.clear();
  }

  Fetch() {
    recipe.md5 = md5;
    recipe.files = static_cast<int64_t>(files.size());
    recipe.variable = "STOKER_TEST_ARCHIVE";
    options.data_dir = directory / "data";
    options.attempts = 2;
    options.retry_s = 0.001;
    options.notify = [this](const std::string& remark) { remarks.push_back(remark); };
    ::unsetenv("STOKER_TEST_ARCHIVE");
  }

  FetchResult run() { return fetch(recipe, *target, options); }
  std::string refused() {
    return error_of([&] { run(); });
  }
  // All files are there with their bytes, and nothing else.
  void expect_complete() const {
    EXPECT_EQ(target->list("").size(), files.size());
    for (const auto& [path, contents] : files) {
      EXPECT_TRUE(get(*target, path.substr(path.find('/') + 1)) == contents) << path;
    }
  }
  std::string advice() const {
    return "put 101_ObjectCategories.tar.gz or caltech-101.zip into " + options.data_dir +
           "/, or name one with STOKER_TEST_ARCHIVE=/path/to/archive";
  }

  static inline ArchiveFiles files;
  static inline std::string zip;
  static inline std::string md5;
  TemporaryDirectory directory;
  std::unique_ptr<Storage> target = posix_storage(directory / "target");
  Recipe recipe = find_recipe("caltech101");
  FetchOptions options;
  std::vector<std::string> remarks;
};

TEST_F(Fetch, the_recipe_is_that_of_the_official_archive) {
  const Recipe official = find_recipe("caltech101");
  EXPECT_EQ(official.url, "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip");
  EXPECT_EQ(official.md5, "3138e1922a9193bfa496528edbbc45d0");
  EXPECT_EQ(official.files, 9145);
  EXPECT_EQ(official.variable, "STOKER_CALTECH101");
  EXPECT_EQ(error_of([] { find_recipe("caltech11"); }),
            "unknown data set 'caltech11' (did you mean 'caltech101'?)");
}

TEST_F(Fetch, downloads_verifies_and_unpacks) {
  HttpServer server([&](auto& request) { return answer_with_file(request, zip, "\"1\""); });
  options.url = server.url("/caltech-101.zip");
  std::vector<std::string> stages;
  options.progress = [&](const std::string& stage, uint64_t, uint64_t) {
    if (stages.empty() || stages.back() != stage) stages.push_back(stage);
  };
  const FetchResult result = run();
  expect_complete();
  EXPECT_EQ(result.files, 500);
  EXPECT_EQ(result.source, options.data_dir + "/caltech-101.zip");
  EXPECT_EQ(remarks, (std::vector<std::string>{"dataset: caltech101: downloading " + options.url,
                                               "dataset: caltech101: unpacking " + result.source}));
  EXPECT_EQ(stages, (std::vector<std::string>{"download", "verify", "unpack"}));
  EXPECT_TRUE(run().was_there);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(Fetch, the_variable_comes_before_the_data_folder_and_that_before_the_download) {
  directory.write("mine.tar.gz", make_tar_gz(files));
  directory.write("data/caltech-101.zip", zip);
  options.url = "http://127.0.0.1:1/never-asked";
  EXPECT_EQ(run().source, directory / "data/caltech-101.zip");
  expect_complete();
  ::setenv("STOKER_TEST_ARCHIVE", (directory / "mine.tar.gz").c_str(), 1);
  target = posix_storage(directory / "second");
  EXPECT_EQ(run().source, directory / "mine.tar.gz");
  expect_complete();
}

TEST_F(Fetch, a_tar_gz_in_the_data_folder_is_taken) {
  directory.write("data/101_ObjectCategories.tar.gz", make_tar_gz(files));
  options.folder = "sub/folder/";
  EXPECT_EQ(run().source, directory / "data/101_ObjectCategories.tar.gz");
  EXPECT_EQ(target->list("sub/folder/").size(), files.size());
}

TEST_F(Fetch, an_archive_that_is_not_there_is_an_error) {
  ::setenv("STOKER_TEST_ARCHIVE", "/nowhere/a.zip", 1);
  EXPECT_EQ(refused(),
            "dataset: caltech101: STOKER_TEST_ARCHIVE: the archive '/nowhere/a.zip' is not there");
  options.archive = "/nowhere/b.zip";
  EXPECT_EQ(refused(), "dataset: caltech101: the archive '/nowhere/b.zip' is not there");
}

TEST_F(Fetch, a_failed_download_says_what_to_do) {
  HttpServer server([](auto&) { return HttpResponse{"404 Not Found", "", "", 0}; });
  options.url = server.url("/gone.zip");
  try {
    run();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_EQ(error.what(), "dataset: caltech101: download " + options.url +
                                ": the server answered 404; or " + advice());
  }
  EXPECT_FALSE(std::filesystem::exists(directory / "target"));
}

TEST_F(Fetch, an_interrupted_unpacking_continues) {
  directory.write("data/caltech-101.zip", zip);
  recipe.files = 200;
  EXPECT_EQ(refused(), "dataset: caltech101: " + options.data_dir +
                           "/caltech-101.zip holds more files where the data set has 200: it is "
                           "another archive or an incomplete one; " +
                           advice());
  const size_t before = target->list("").size();
  EXPECT_EQ(before, 201u);  // the marker and 200 files
  EXPECT_EQ(get(*target, ".fetching"), "");
  // A half file of another size, as another program may have left it, is written anew.
  const std::string first = target->list("").at(1).key;
  put(*target, first, "half");
  recipe.files = static_cast<int64_t>(files.size());
  EXPECT_FALSE(run().was_there);
  expect_complete();
}

TEST_F(Fetch, an_incomplete_archive_is_refused) {
  directory.write("data/caltech-101.zip", make_published_zip({files.begin(), files.begin() + 100}));
  EXPECT_EQ(refused(), "dataset: caltech101: " + options.data_dir +
                           "/caltech-101.zip holds 100 files where the data set has 500: it is "
                           "another archive or an incomplete one; " +
                           advice());
  EXPECT_EQ(target->list(".fetching").size(), 1u);
}

TEST_F(Fetch, a_path_that_leads_out_is_refused) {
  ArchiveFiles evil = files;
  evil[3].first = "101_ObjectCategories/../../evil";
  directory.write("data/101_ObjectCategories.tar.gz", make_tar_gz(evil));
  EXPECT_EQ(refused(),
            "unpack " + options.data_dir +
                "/101_ObjectCategories.tar.gz: the path "
                "'101_ObjectCategories/../../evil' in it leads out of the target folder");
  EXPECT_FALSE(std::filesystem::exists(directory / "evil"));
}

// A tier whose fifth object cannot be written.
class FullStorage final : public Storage {
 public:
  std::vector<ObjectInfo> list(const std::string&) const override { return {}; }
  void read(const std::string& key, Buffer&, Range) const override {
    throw_errno("read", key, ENOENT);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    if (++created_ > 5) throw_errno("write", "target/full", ENOSPC);
    return inner_->create(key);
  }
  void remove(const std::string&) override {}

 private:
  std::atomic<int> created_ = 0;
  std::unique_ptr<Storage> inner_ = make_storage("{type: memory}");
};

// Anybody's archive may be named: zeros shrink to a thousandth, and would fill the tier.
TEST_F(Fetch, an_archive_that_grows_as_no_images_do_is_refused) {
  const std::string bomb =
      make_published_zip({{files.begin()->first, std::string(64 << 20, '\0')}});
  ASSERT_LT(bomb.size(), size_t{1} << 20);
  directory.write("data/caltech-101.zip", bomb);
  Digest sum(Digest::Kind::md5);
  sum.update({reinterpret_cast<const uint8_t*>(bomb.data()), bomb.size()});
  recipe.md5 = sum.finish();
  EXPECT_NE(refused().find("unpacks to more than 16777216 bytes"), std::string::npos) << refused();
  EXPECT_EQ(target->list("").size(), target->list(".fetching").size());
}

TEST_F(Fetch, a_tier_that_fails_ends_it_with_the_tiers_error) {
  directory.write("data/caltech-101.zip", zip);
  FullStorage full;
  EXPECT_EQ(error_of([&] { fetch(recipe, full, options); }),
            "write target/full: No space left on device");
}

}  // namespace
}  // namespace stoker
