#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/checkpoint_run.h"
#include "tests/support/errors.h"
#include "tests/support/file_layers.h"

// File systems without locks, direct I/O or syncs of directories, and what they do not let anybody
// remove: a run goes on, and says so once.

namespace stoker {
namespace {

using Op = FileCall::Op;

const std::string kNewest = "type: direct, slow: slow, every_steps: 1, keep_last: 1";

std::shared_ptr<FileLayer> always(Op op, int error, const std::string& path = "") {
  return std::make_shared<FaultLayer>(
      Fault{.op = op, .path = path, .times = SIZE_MAX, .error = error});
}

size_t times(const std::string& what, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

struct PoorTier : CheckpointRun, testing::Test {
  // Saves these steps, and lets the log have all that the threads had to say.
  void save_all(const std::vector<int64_t>& all) {
    for (const int64_t step : all) save(step);
    (*this)->flush();
    (*this)->status();
  }
  // Something of the user's in a set.
  std::filesystem::path put_folder(int64_t step) {
    const std::filesystem::path folder = set("slow", step) + "/eval";
    std::filesystem::create_directories(folder / "notes");
    return folder;
  }
  // Of names that a killed process leaves.
  size_t left() const {
    const std::vector<std::string> names = others("slow");
    return static_cast<size_t>(std::ranges::count_if(names, is_garbage));
  }
};

TEST_F(PoorTier, without_locks_is_used_and_the_log_says_so_once) {
  for (const int error : {ENOLCK, ENOSYS, EOPNOTSUPP}) {
    slow = {always(Op::lock, error)};
    start(kDirect + kLatest);
    save_all({error});
    EXPECT_EQ(times("tier 'slow' has no file locks", warnings()), 1u) << warnings();
    EXPECT_TRUE(intact("slow", error));
  }
}

TEST_F(PoorTier, whose_lock_fails_otherwise_is_not_used) {
  slow = {always(Op::lock, EIO)};
  EXPECT_THROW(start(kDirect), Error);
}

TEST_F(PoorTier, that_syncs_no_directories_is_used_without_durability_only) {
  slow = {always(Op::sync_directory, EINVAL)};
  EXPECT_NE(error_of([&] { start(kDirect); }).find("checkpoint.durability=none"),
            std::string::npos);
  start(kDirect + ", durability: none");
  save_all({1, 2});
  EXPECT_EQ(steps("slow"), (Steps{1, 2}));
  EXPECT_EQ(times("sync", warnings()), 0u) << warnings();
  EXPECT_EQ(resume(kDirect + kLatest + ", durability: none"), 2);
}

// Takes O_DIRECT when a file is opened, and nothing by it.
class NoDirectTransfers final : public FileLayer {
 public:
  int64_t call(const FileCall& call, const Next& next) override {
    const bool transfer = call.op == Op::read || call.op == Op::write;
    return transfer && call.accepted == EINVAL ? -EINVAL : next(call);
  }
};

TEST_F(PoorTier, that_refuses_direct_io_when_it_writes_is_written_through_the_page_cache) {
  slow = {std::make_shared<NoDirectTransfers>()};
  start(kDirect + ", verify: all");
  save_all({1, 2});
  EXPECT_EQ(times("tier 'slow' takes no direct I/O", warnings()), 1u) << warnings();
  EXPECT_TRUE(intact("slow", 1) && intact("slow", 2));
  EXPECT_EQ(resume(kDirect + kLatest), 2);
}

TEST_F(PoorTier, a_folder_in_a_set_keeps_neither_the_set_nor_any_later_start) {
  start(kNewest);
  save_all({1});
  put_folder(1);
  save_all({2, 3});
  EXPECT_EQ(steps("slow"), Steps{3});
  EXPECT_EQ(times("cannot be removed", warnings()), 1u) << warnings();
  ASSERT_EQ(left(), 1u);
  for (int process = 0; process < 2; ++process) {
    EXPECT_EQ(resume(kNewest + kLatest), 3);
    EXPECT_EQ(times("cannot be removed", warnings()), 1u) << warnings();
    EXPECT_EQ(left(), 1u);
  }
  for (const std::string& name : others("slow")) {
    EXPECT_TRUE(std::filesystem::is_directory(path("slow") + "/run/" + name + "/eval/notes"));
    EXPECT_FALSE(std::filesystem::exists(path("slow") + "/run/" + name + "/MANIFEST.json"));
  }
}

TEST_F(PoorTier, what_can_be_removed_later_goes_with_a_later_start) {
  slow = {always(Op::remove_directory, ENOTEMPTY)};  // as NFS, where a file of it is open
  start(kNewest);
  save_all({1, 2, 3});
  EXPECT_EQ(steps("slow"), Steps{3});
  EXPECT_EQ(times("cannot be removed", warnings()), 1u) << warnings();
  EXPECT_EQ(resume(kNewest + kLatest), 3);
  EXPECT_EQ(left(), 2u);
  slow = {};
  EXPECT_EQ(resume(kNewest + kLatest), 3);
  EXPECT_EQ(times("cannot be removed", warnings()), 0u) << warnings();
  EXPECT_EQ(left(), 0u);
}

TEST_F(PoorTier, a_set_that_cannot_be_removed_is_told_once_and_keeps_no_other) {
  start(kNewest);
  save_all({1});
  slow = {always(Op::rename, EACCES, set_name(1))};
  EXPECT_EQ(resume(kNewest + kLatest), 1);
  save_all({2, 3, 4});
  EXPECT_EQ(steps("slow"), (Steps{1, 4}));
  EXPECT_EQ(times("the checkpoint of step 1 on tier 'slow' cannot be removed", warnings()), 1u)
      << warnings();
  EXPECT_EQ(FileTree(path("slow")).read_text("run/latest", 100), set_name(4) + "\n");
}

TEST_F(PoorTier, a_hint_that_cannot_be_written_is_told_once) {
  std::filesystem::create_directories(path("slow") + "/run/latest/mine");
  start(kNewest);
  save_all({1, 2, 3});
  EXPECT_EQ(times("after a checkpoint", warnings()), 1u) << warnings();
  EXPECT_EQ(steps("slow"), Steps{3});
  EXPECT_EQ(left(), 0u);
}

TEST_F(PoorTier, a_resume_that_finds_nothing_says_where_it_looked) {
  EXPECT_EQ(resume(kBurst + kLatest), -1);
  EXPECT_EQ(times("checkpoint.resume: latest found no checkpoint in " + path("fast") + "/run or " +
                      path("slow") + "/run: the run begins at step 0",
                  infos()),
            1u)
      << infos();
}

TEST_F(PoorTier, objects_that_cannot_be_removed_are_told_once) {
  bucket = make_storage("{type: memory}");
  start(kDirect);
  save_all({1});
  stop();
  const std::string unfinished = "run/" + object_set_name(2) + "/state.safetensors";
  for (const std::string& key : {unfinished, unfinished + ".more"}) write_object(*bucket, key, {});
  seen = [](const std::string& operation, const std::string&) {
    if (operation == "remove") throw IoError("remove: denied", EACCES);
  };
  EXPECT_EQ(resume(kDirect + kLatest), 1);
  EXPECT_EQ(times("cannot be removed", warnings()), 1u) << warnings();
}

}  // namespace
}  // namespace stoker
