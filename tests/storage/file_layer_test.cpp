#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <iterator>

#include "io/core/error.h"
#include "io/storage/file_tree.h"
#include "tests/support/file_layers.h"
#include "tests/support/temporary_directory.h"

// What holds for every operation of a FileTree: it can be observed, slowed down and broken.
namespace stoker {
namespace {

using Op = FileCall::Op;
namespace fs = std::filesystem;

// Every operation once, on a tree that holds "old" and "folder/file".
const std::vector<std::pair<Op, std::function<void(const FileTree&)>>>& operations() {
  static const std::vector<std::pair<Op, std::function<void(const FileTree&)>>> all = {
      {Op::open, [](auto& t) { t.open("old", FileAccess::buffered); }},
      {Op::create, [](auto& t) { t.create("new", FileAccess::buffered); }},
      {Op::lock, [](auto& t) { EXPECT_TRUE(t.lock("lock")); }},
      {Op::read, [](auto& t) { EXPECT_EQ(t.read_text("old", 9), "text"); }},
      {Op::map,
       [](auto& t) { EXPECT_EQ(t.open("old", FileAccess::buffered).map()->bytes().size(), 4u); }},
      {Op::write, [](auto& t) { t.write_text("new", "text", false); }},
      {Op::reserve, [](auto& t) { t.create("new", FileAccess::buffered).reserve(9); }},
      {Op::truncate, [](auto& t) { t.create("new", FileAccess::buffered).truncate(9); }},
      {Op::sync, [](auto& t) { t.write_text("new", "text", true); }},
      {Op::make_directory, [](auto& t) { t.make_directories("new"); }},
      {Op::rename, [](auto& t) { t.rename("old", "new"); }},
      {Op::replace, [](auto& t) { t.replace("old", "folder/file"); }},
      {Op::remove, [](auto& t) { t.remove("old"); }},
      {Op::remove_directory, [](auto& t) { t.remove_directory("folder"); }},
      {Op::list, [](auto& t) { EXPECT_EQ(t.list("folder").size(), 1u); }},
      {Op::stat, [](auto& t) { EXPECT_TRUE(t.exists("old")); }},
      {Op::sync_directory, [](auto& t) { t.sync_directory(""); }},
  };
  return all;
}

class EveryOperation : public testing::TestWithParam<size_t> {
 protected:
  EveryOperation() {
    root.write("old", "text");
    root.write("folder/file", "x");
  }
  FileTree with(Fault fault) {
    faults = std::make_shared<FaultLayer>(std::move(fault));
    return tree.behind(faults);
  }
  TemporaryDirectory root;
  FileTree tree{root.path()};
  std::shared_ptr<FaultLayer> faults;
  const Op op = operations()[GetParam()].first;
  const std::function<void(const FileTree&)> run = operations()[GetParam()].second;
};

INSTANTIATE_TEST_SUITE_P(all, EveryOperation, testing::Range(size_t{0}, operations().size()),
                         [](const auto& info) {
                           std::string name = to_string(operations()[info.param].first);
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name + "_" + std::to_string(info.param);
                         });

TEST_P(EveryOperation, passes_the_layers_once) {
  const FileTree counted = with({.op = op, .skip = 99, .error = EIO});
  run(counted);
  EXPECT_EQ(faults->matching(), 1u);
}

TEST_P(EveryOperation, is_repeated_after_eintr) {
  const FileTree faulty = with({.op = op, .times = 3, .error = EINTR});
  run(faulty);
  EXPECT_EQ(faults->struck(), 3u);
}

TEST_P(EveryOperation, fails_with_its_name_the_path_and_the_cause) {
  for (int error : {EIO, ENOSPC, EDQUOT, EROFS}) {
    const FileTree faulty = with({.op = op, .error = error});
    try {
      run(faulty);
      ADD_FAILURE() << "no exception was thrown";
    } catch (const IoError& caught) {
      EXPECT_EQ(caught.errno_value(), error);
      const std::string what = caught.what();
      EXPECT_TRUE(what.starts_with(std::string(to_string(op)) + " " + root.path())) << what;
      EXPECT_TRUE(what.ends_with(std::string(": ") + std::strerror(error))) << what;
    }
    tree.remove("new");  // of the operations that come after a create
  }
}

TEST_P(EveryOperation, loses_no_descriptor_where_a_layer_says_that_it_failed) {
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();
  EXPECT_THROW(run(with({.op = op, .error = EIO, .after = true})), IoError);
  EXPECT_EQ(open_files(), before);
}

TEST(FileLayers, a_layer_sees_a_call_before_those_that_it_was_put_upon) {
  TemporaryDirectory root;
  const FileTree tree(root.path());
  const auto inner = std::make_shared<FaultLayer>();
  const FileTree both = tree.behind(inner).behind(
      std::make_shared<FaultLayer>(Fault{.op = Op::remove, .error = EIO}));
  EXPECT_THROW(both.remove("a"), IoError);
  EXPECT_EQ(inner->calls(), 0u);
  both.remove("a");
  EXPECT_EQ(inner->calls(), 1u);
}

TEST(FileLayers, a_recording_has_what_succeeded_in_order_and_with_its_bytes) {
  TemporaryDirectory root;
  const auto log = std::make_shared<CallLog>();
  const FileTree bare(root.path());
  const FileTree tree = bare.behind(std::make_shared<FaultLayer>(Fault{.op = Op::write}))
                            .behind(std::make_shared<RecordingLayer>(log, "fast"));
  tree.write_text("a", "text", true);
  log->mark("saved");
  EXPECT_THROW(tree.rename("none", "b"), IoError);
  tree.replace("a", "b");
  tree.remove("none");
  EXPECT_EQ(tree.read_text("b", 4), "text");
  std::string calls;
  for (const RecordedCall& call : log->calls()) {
    calls += std::string(call.op ? to_string(*call.op) : "mark") + " " + call.path +
             (call.to.empty() ? "" : " " + call.to) +
             (call.data.empty() ? "" : " " + std::to_string(call.offset) + ":" + call.data) + "\n";
  }
  EXPECT_EQ(calls,
            "create fast/a\nwrite fast/a 0:te\nwrite fast/a 2:xt\nsync fast/a\nmark saved\n"
            "rename fast/a fast/b\nopen fast/b\n");
}

TEST(FileLayers, a_fault_that_strikes_may_do_more) {
  TemporaryDirectory root;
  const auto lose = [&](const FileCall& call) { root.write(call.path, ""); };
  const FileTree tree =
      FileTree(root.path())
          .behind(std::make_shared<FaultLayer>(
              Fault{.op = Op::sync, .path = "data", .skip = 1, .error = EIO, .hook = lose}));
  tree.write_text("data-1", "text", true);
  EXPECT_THROW(tree.write_text("data-2", "text", true), IoError);
  EXPECT_EQ(root.read("data-1"), "text");
  EXPECT_EQ(root.read("data-2"), "");
}

}  // namespace
}  // namespace stoker
