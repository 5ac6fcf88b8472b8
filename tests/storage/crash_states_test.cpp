#include "tests/support/crash_states.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// "a=text b/ b/c=": the files below a directory; long ones as their size.
std::string contents(const std::string& directory) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string path = entry.path().lexically_relative(directory).string();
    if (entry.is_directory()) {
      found[path] = "/";
      continue;
    }
    std::ifstream file(entry.path(), std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (text == std::string(text.size(), '\0') && !text.empty()) text = "zeros";
    found[path] = "=" + text;
  }
  std::string text;
  for (const auto& [path, value] : found) text += (text.empty() ? "" : " ") + path + value;
  return text;
}

struct CrashStates : testing::Test {
  // All states after the last call.
  std::set<std::string> final_states() const {
    std::set<std::string> states;
    const size_t calls = log->calls().size();
    for_each_crash_state(log->calls(), [&](const CrashState& state) {
      if (state.calls == calls) states.insert(contents(state.directory));
    });
    return states;
  }
  std::set<std::string> states() const {
    std::set<std::string> states;
    for_each_crash_state(
        log->calls(), [&](const CrashState& state) { states.insert(contents(state.directory)); });
    return states;
  }
  void promise() { log->mark("promised"); }

  TemporaryDirectory root;
  std::shared_ptr<CallLog> log = std::make_shared<CallLog>();
  FileTree tree = FileTree(root.path()).behind(std::make_shared<RecordingLayer>(log));
};

using Set = std::set<std::string>;

TEST_F(CrashStates, an_empty_log_has_one_empty_state) { EXPECT_EQ(states(), Set{""}); }

TEST_F(CrashStates, a_synced_file_may_be_absent_until_its_directory_is_synced) {
  tree.write_text("a", "text", true);
  promise();
  EXPECT_EQ(final_states(), (Set{"", "a=text"}));
  tree.sync_directory("");
  promise();
  EXPECT_EQ(final_states(), Set{"a=text"});
}

TEST_F(CrashStates, an_entry_may_come_without_its_bytes_or_with_their_number_only) {
  tree.write_text("a", "text", false);
  tree.sync_directory("");
  promise();
  EXPECT_EQ(final_states(), (Set{"a=", "a=zeros", "a=text"}));
}

TEST_F(CrashStates, writes_of_one_file_are_lost_one_by_one) {
  const TreeFile file = tree.create("a", FileAccess::buffered);
  const uint8_t x = 'x', y = 'y';
  file.write_at(0, {&x, 1});
  file.write_at(1, {&y, 1});
  tree.sync_directory("");
  promise();
  const std::string hole(1, '\0');
  EXPECT_EQ(final_states(), (Set{"a=", "a=zeros", "a=x", "a=xy", "a=" + hole + "y", "a=x" + hole}));
}

TEST_F(CrashStates, truncate_and_reserve_are_lost_too) {
  const TreeFile file = tree.create("a", FileAccess::buffered);
  tree.sync_directory("");
  file.reserve(5);
  promise();
  EXPECT_EQ(final_states(), (Set{"a=", "a=zeros"}));
  file.sync();
  file.truncate(0);
  promise();
  EXPECT_EQ(final_states(), (Set{"a=", "a=zeros"}));
  file.sync();
  promise();
  EXPECT_EQ(final_states(), Set{"a="});
}

TEST_F(CrashStates, rename_without_a_sync_before_it_shows_a_torn_file) {
  tree.write_text("latest", "1", true);
  tree.sync_directory("");
  tree.write_text("tmp", "2", false);
  tree.replace("tmp", "latest");
  tree.sync_directory("");
  promise();
  EXPECT_EQ(final_states(), (Set{"latest=", "latest=2", "latest=zeros"}));
}

TEST_F(CrashStates, rename_after_a_sync_shows_the_old_or_the_new_file) {
  tree.write_text("latest", "1", true);
  tree.sync_directory("");
  promise();
  tree.write_text("tmp", "2", true);
  tree.replace("tmp", "latest");
  promise();
  for (const std::string& state : final_states()) {
    EXPECT_TRUE(state.starts_with("latest=1") || state.starts_with("latest=2")) << state;
  }
  tree.sync_directory("");
  promise();
  EXPECT_EQ(final_states(), Set{"latest=2"});
}

TEST_F(CrashStates, a_renamed_directory_may_have_either_name_until_its_parent_is_synced) {
  tree.make_directories("tmp");
  tree.write_text("tmp/a", "1", true);
  tree.sync_directory("tmp");
  tree.rename("tmp", "set");
  promise();
  EXPECT_EQ(final_states(), (Set{"tmp/ tmp/a=1", "set/ set/a=1"}));
  tree.sync_directory("");
  promise();
  EXPECT_EQ(final_states(), (Set{"set/ set/a=1"}));
}

TEST_F(CrashStates, a_directory_that_was_not_synced_may_lack_files) {
  tree.make_directories("tmp");
  tree.write_text("tmp/a", "1", true);
  tree.rename("tmp", "set");
  tree.sync_directory("");
  promise();
  EXPECT_EQ(final_states(), (Set{"set/", "set/ set/a=1"}));
}

TEST_F(CrashStates, a_sync_of_the_renamed_directory_forces_the_entries_from_before) {
  tree.make_directories("tmp");
  tree.write_text("tmp/a", "1", true);
  tree.rename("tmp", "set");
  tree.sync_directory("");
  tree.sync_directory("set");
  promise();
  EXPECT_EQ(final_states(), (Set{"set/ set/a=1"}));
}

TEST_F(CrashStates, a_rename_between_directories_needs_both_to_be_synced) {
  tree.make_directories("x");
  tree.make_directories("y");
  tree.write_text("x/a", "1", true);
  tree.sync_directory("x");
  tree.rename("x/a", "y/a");
  tree.sync_directory("y");
  promise();
  EXPECT_EQ(final_states(), (Set{"x/ x/a=1 y/", "x/ y/ y/a=1"}));
  tree.sync_directory("x");
  promise();
  EXPECT_EQ(final_states(), (Set{"x/ y/ y/a=1"}));
}

TEST_F(CrashStates, a_removed_directory_may_come_back_with_some_of_its_files) {
  tree.make_directories("set");
  tree.write_text("set/a", "1", true);
  tree.write_text("set/b", "2", true);
  tree.sync_directory("set");
  tree.remove_directory("set");
  promise();
  EXPECT_EQ(final_states(),
            (Set{"", "set/", "set/ set/a=1", "set/ set/b=2", "set/ set/a=1 set/b=2"}));
  tree.sync_directory("");
  promise();
  EXPECT_EQ(final_states(), Set{""});
}

TEST_F(CrashStates, a_descriptor_keeps_its_file_through_a_rename) {
  const TreeFile file = tree.create("tmp", FileAccess::buffered);
  tree.rename("tmp", "a");
  tree.write_text("tmp", "other", true);
  tree.remove("tmp");
  tree.sync_directory("");
  promise();
  EXPECT_EQ(final_states(), Set{"a="});
}

TEST_F(CrashStates, a_sync_through_a_second_descriptor_counts) {
  tree.write_text("tmp", "1", false);
  tree.replace("tmp", "a");
  tree.sync_directory("");
  tree.open("a", FileAccess::buffered).sync();
  promise();
  EXPECT_EQ(final_states(), Set{"a=1"});
}

TEST_F(CrashStates, a_lock_makes_its_file_once) {
  EXPECT_TRUE(tree.lock("lock"));
  EXPECT_TRUE(tree.lock("lock"));
  EXPECT_EQ(states(), (Set{"", "lock="}));
}

TEST_F(CrashStates, trees_of_one_log_lie_side_by_side) {
  for (const std::string& name : {std::string("fast"), std::string("slow")}) {
    FileTree(root / name)
        .behind(std::make_shared<RecordingLayer>(log, name))
        .make_directories("sets");
  }
  promise();
  EXPECT_EQ(final_states(), Set{"fast/ fast/sets/ slow/ slow/sets/"});
}

TEST_F(CrashStates, a_directory_from_before_the_log_is_there) {
  FileTree(root.path()).make_directories("fast");
  FileTree(root / "fast")
      .behind(std::make_shared<RecordingLayer>(log, "fast"))
      .write_text("a", "1", true);
  promise();
  EXPECT_EQ(final_states(), (Set{"fast/", "fast/ fast/a=1"}));
}

TEST_F(CrashStates, a_state_is_shown_again_after_a_mark_and_says_what_was_promised) {
  tree.write_text("a", "1", true);
  const CrashCount before = for_each_crash_state(log->calls(), [](const CrashState&) {});
  EXPECT_EQ(before.checked, before.distinct);
  log->mark("saved a");
  std::set<std::string> broken;
  const CrashCount count = for_each_crash_state(log->calls(), [&](const CrashState& state) {
    if (!state.promised.empty() && contents(state.directory) != "a=1") {
      broken.insert(state.promised[0] + ", " + contents(state.directory) + state.lost);
    }
  });
  EXPECT_EQ(broken, (Set{"saved a, lost: create a"}));
  EXPECT_EQ(count.distinct, before.distinct);
  EXPECT_EQ(count.checked, before.checked + 2);
}

TEST_F(CrashStates, a_check_may_change_the_state_and_leaves_nothing_behind) {
  tree.write_text("a", "1", true);
  std::string last;
  for_each_crash_state(log->calls(), [&](const CrashState& state) {
    const FileTree disk(state.directory);
    EXPECT_FALSE(disk.exists("mine"));
    disk.make_directories("mine/own");
    last = state.directory;
  });
  EXPECT_FALSE(fs::exists(fs::path(last).parent_path()));
}

TEST(TornWrites, end_at_sectors_and_pages) {
  const auto torn = [](uint64_t offset, uint64_t bytes) {
    std::string text;
    for (const CrashModel::Torn& one : CrashModel::torn(
             {.op = FileCall::Op::write, .path = "a", .offset = offset, .bytes = bytes})) {
      text += std::to_string(one.begin) + "-" + std::to_string(one.end) + "/" +
              std::to_string(one.size) + " ";
    }
    return text;
  };
  EXPECT_EQ(torn(0, 1), "0-0/1 ");
  EXPECT_EQ(torn(0, 512), "0-0/512 ");
  EXPECT_EQ(torn(100, 1000), "100-512/512 100-1024/1024 100-100/1100 ");
  EXPECT_EQ(torn(4000, 1000), "4000-4096/4096 4000-4608/4608 4096-5000/5000 4000-4000/5000 ");
  EXPECT_TRUE(torn(0, 65536).starts_with("0-512/512 0-4608/4608 0-8704/8704 "));
  EXPECT_TRUE(
      torn(0, 65536).ends_with("0-65024/65024 4096-65536/65536 32768-65536/65536 0-0/65536 "));
}

// Whether all sets in a state are whole and those that were promised are there.
bool intact(const CrashState& state) {
  const FileTree disk(state.directory);
  for (const std::string& name : disk.list("sets")) {
    if (!name.starts_with("set-")) continue;
    const std::vector<std::string> files = disk.list("sets/" + name);
    if (files != std::vector<std::string>{"data", "manifest"}) return false;
    if (disk.read_text("sets/" + name + "/data", 10000) != std::string(5000, name.back()) ||
        disk.read_text("sets/" + name + "/manifest", 100) != "manifest of " + name) {
      return false;
    }
  }
  return std::all_of(state.promised.begin(), state.promised.end(),
                     [&](const std::string& name) { return disk.exists("sets/" + name); });
}

TEST_F(CrashStates, a_commit_protocol_is_safe_and_none_of_its_syncs_can_be_spared) {
  tree.make_directories("sets");
  for (const std::string& set : {std::string("set-1"), std::string("set-2")}) {
    tree.make_directories("sets/tmp");
    tree.write_text("sets/tmp/data", std::string(5000, set.back()), true);
    tree.write_text("sets/tmp/manifest", "manifest of " + set, true);
    tree.sync_directory("sets/tmp");
    tree.rename("sets/tmp", "sets/" + set);
    tree.sync_directory("sets");
    log->mark(set);
  }
  const auto broken = [](const std::vector<RecordedCall>& calls) {
    size_t count = 0;
    for_each_crash_state(calls, [&](const CrashState& state) { count += !intact(state); });
    return count;
  };
  const std::vector<RecordedCall> calls = log->calls();
  EXPECT_EQ(broken(calls), 0u);
  size_t syncs = 0, needed = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    const bool sync =
        calls[i].op == FileCall::Op::sync || calls[i].op == FileCall::Op::sync_directory;
    // What make_directories syncs in "sets" is made durable by the sync after the rename too.
    if (!sync || calls[i - 1].op == FileCall::Op::make_directory) continue;
    std::vector<RecordedCall> without = calls;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    ++syncs;
    needed += broken(without) > 0;
  }
  EXPECT_EQ(syncs, 8u);
  EXPECT_EQ(needed, syncs);
}

TEST(CrashCombinations, few_are_all_of_them) {
  std::mt19937_64 random(1);
  const auto all = crash_combinations({2, 3}, {}, random);
  EXPECT_EQ(std::set(all.begin(), all.end()),
            (std::set<std::vector<size_t>>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
  EXPECT_EQ(crash_combinations({}, {}, random), std::vector<std::vector<size_t>>{{}});
}

TEST(CrashCombinations, of_many_the_extremes_and_a_seeded_sample_are_taken) {
  const std::vector<size_t> outcomes(100, 3);
  std::mt19937_64 random(1), same(1);
  const auto some = crash_combinations(outcomes, {}, random);
  EXPECT_EQ(some, crash_combinations(outcomes, {}, same));
  const std::set<std::vector<size_t>> found(some.begin(), some.end());
  EXPECT_GE(found.size(), 64u + 2 + 4 * 100 - 3);  // three are equal to others
  const std::vector<size_t> lost(100, 0), whole(100, 1);
  EXPECT_TRUE(found.contains(lost));
  EXPECT_TRUE(found.contains(whole));
  for (size_t i = 0; i < 100; ++i) {
    auto missing = whole, torn = whole, present = lost;
    missing[i] = 0, torn[i] = 2, present[i] = 1;
    EXPECT_TRUE(found.contains(missing));
    EXPECT_TRUE(found.contains(torn));
    EXPECT_TRUE(found.contains(present));
  }
}

}  // namespace
}  // namespace stoker
