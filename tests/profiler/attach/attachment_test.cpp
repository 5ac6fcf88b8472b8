#include "io/profiler/attach/attachment.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "io/core/error.h"

namespace stoker {
namespace {

// A wrapped function of our own, which counts its calls.
std::atomic<int> parents_asked{0};

template <size_t I>
pid_t counted_getppid();

std::array<WrapperInstance, 2> getppid_instances{};

template <size_t I>
pid_t counted_getppid() {
  ++parents_asked;
  return reinterpret_cast<pid_t (*)()>(getppid_instances[I].original.load())();
}

std::span<const WrappedFunction> wrapped_getppid() {
  getppid_instances[0].wrapper = reinterpret_cast<void*>(&counted_getppid<0>);
  getppid_instances[1].wrapper = reinterpret_cast<void*>(&counted_getppid<1>);
  static const std::array<WrappedFunction, 1> functions{{{"getppid", getppid_instances}}};
  return functions;
}

constexpr int kOwnParent = -7;  // probe.cpp

class Library {
 public:
  explicit Library(const char* path, int flags = 0)
      : handle_(dlopen(path, RTLD_LAZY | RTLD_LOCAL | flags)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  int parent() const { return reinterpret_cast<int (*)()>(dlsym(handle_, "probe_parent"))(); }
  void* address() const { return dlsym(handle_, "probe_parent"); }

 private:
  void* handle_;
};

class AttachmentTest : public testing::Test {
 protected:
  AttachmentTest() { parents_asked = 0; }
  ~AttachmentTest() override { Attachment::instance().detach(); }
  Attachment& attachment_ = Attachment::instance();
};

TEST_F(AttachmentTest, calls_reach_the_wrapper_until_it_is_detached) {
  const pid_t parent = getppid();
  for (int round = 1; round <= 3; ++round) {
    attachment_.attach(wrapped_getppid());
    EXPECT_EQ(getppid(), parent);
    EXPECT_EQ(parents_asked, round);
    attachment_.detach();
    EXPECT_EQ(getppid(), parent);
    EXPECT_EQ(parents_asked, round);
  }
}

TEST_F(AttachmentTest, twice_is_a_bug_of_ours) {
  attachment_.attach(wrapped_getppid());
  EXPECT_THROW(attachment_.attach(wrapped_getppid()), Error);
}

TEST_F(AttachmentTest, without_attach_has_nothing_to_detach) { attachment_.detach(); }

TEST_F(AttachmentTest, says_what_it_did) {
  const Library lazy(PROBE_LAZY), bound(PROBE_NOW);
  attachment_.attach(wrapped_getppid());
  const AttachFigures figures = attachment_.figures();
  EXPECT_GE(figures.objects, 5);
  EXPECT_GE(figures.left_out, 2);
  EXPECT_GT(figures.relocations, figures.slots);
  EXPECT_GE(figures.slots, 3);
  EXPECT_GE(figures.unbound, 1);
  EXPECT_GE(figures.read_only, 1);
  EXPECT_EQ(figures.skipped.damaged, 0);
  EXPECT_EQ(figures.skipped.refused, 0);
  attachment_.detach();
  EXPECT_EQ(attachment_.figures().slots, 0);
}

TEST_F(AttachmentTest, slots_of_a_library_are_replaced_and_put_back_bound_or_not) {
  const pid_t parent = getppid();
  for (const char* path : {PROBE_LAZY, PROBE_NOW}) {
    const Library library(path);
    parents_asked = 0;
    attachment_.attach(wrapped_getppid());
    EXPECT_EQ(library.parent(), parent);
    EXPECT_EQ(library.parent(), parent);
    EXPECT_EQ(parents_asked, 2) << path;
    attachment_.detach();
    EXPECT_EQ(library.parent(), parent);
    EXPECT_EQ(parents_asked, 2) << path;
  }
}

TEST_F(AttachmentTest, a_library_that_is_loaded_later_is_covered_by_its_first_dlsym) {
  attachment_.attach(wrapped_getppid());
  for (int round = 1; round <= 3; ++round) {
    for (const char* path : {PROBE_LAZY, PROBE_NOW}) {
      const Library library(path);
      parents_asked = 0;
      library.parent();
      EXPECT_EQ(parents_asked, 1) << path;
    }
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they allow no RTLD_DEEPBIND
TEST_F(AttachmentTest, a_function_that_a_library_defines_itself_stays) {
  // With its own symbols first, or with those of the process.
  const Library own(PROBE_OWN_PARENT, RTLD_DEEPBIND), lazy(PROBE_OWN_PARENT_TOO, 0);
  const pid_t parent = getppid();
  for (const bool bound : {false, true}) {
    attachment_.attach(wrapped_getppid());
    parents_asked = 0;
    EXPECT_EQ(own.parent(), kOwnParent);
    EXPECT_EQ(parents_asked, 0);
    EXPECT_EQ(lazy.parent(), parent);
    EXPECT_EQ(parents_asked, bound ? 1 : 0);
    EXPECT_GE(attachment_.figures().skipped.other_library, 1);
    attachment_.detach();
  }
}

// Of a process into which a library was preloaded: run by the test below.
TEST_F(AttachmentTest, DISABLED_in_a_preloaded_process) {
  ASSERT_EQ(getppid(), kOwnParent);
  // Loaded so that libc's function comes before the preloaded one, and bound at once.
  const Library other(PROBE_NOW, RTLD_DEEPBIND);
  const int parent = other.parent();
  ASSERT_GT(parent, 0);
  attachment_.attach(wrapped_getppid());
  EXPECT_EQ(getppid(), kOwnParent);
  EXPECT_EQ(parents_asked, 1);
  EXPECT_EQ(other.parent(), parent);
  EXPECT_EQ(parents_asked, 2);
  attachment_.detach();
  EXPECT_EQ(getppid(), kOwnParent);
  EXPECT_EQ(other.parent(), parent);
  EXPECT_EQ(parents_asked, 2);
}

TEST_F(AttachmentTest, each_original_of_a_name_is_called_by_a_wrapper_of_its_own) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "LD_PRELOAD='" PROBE_OWN_PARENT "' '" + program +
                              "' --gtest_also_run_disabled_tests --gtest_brief=1 "
                              "--gtest_filter=AttachmentTest.DISABLED_in_a_preloaded_process";
  EXPECT_EQ(std::system(command.c_str()), 0);
}
#endif

// The access of the page at an address, as in /proc/self/maps.
std::string access_of(const void* address) {
  const auto wanted = reinterpret_cast<uint64_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const uint64_t begin = std::stoull(line, nullptr, 16);
    const uint64_t end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
    if (wanted >= begin && wanted < end) return line.substr(line.find(' ') + 1, 4);
  }
  return "";
}

// Sizes of what is writable of an object: a page left open would add to them.
int64_t writable_bytes(const std::string& object) {
  int64_t bytes = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with(object) || line.substr(line.find(' ') + 1, 2) != "rw") continue;
    const uint64_t begin = std::stoull(line, nullptr, 16);
    bytes +=
        static_cast<int64_t>(std::stoull(line.substr(line.find('-') + 1), nullptr, 16) - begin);
  }
  return bytes;
}

TEST_F(AttachmentTest, read_only_pages_are_read_only_again) {
  const Library library(PROBE_NOW);
  const std::string name = std::string(PROBE_NOW).substr(std::string(PROBE_NOW).rfind('/'));
  const int64_t before = writable_bytes(name);
  attachment_.attach(wrapped_getppid());
  EXPECT_EQ(writable_bytes(name), before);
  attachment_.detach();
  EXPECT_EQ(writable_bytes(name), before);
  EXPECT_EQ(access_of(library.address()), "r-xp");
}

// As tools do that change slots themselves and come back to them (GOTCHA).
TEST_F(AttachmentTest, pages_that_somebody_made_writable_stay_so) {
  const Library library(PROBE_NOW);
  const std::string name = std::string(PROBE_NOW).substr(std::string(PROBE_NOW).rfind('/'));
  const int64_t closed = writable_bytes(name);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with(name) || line.find(" r--p ") == std::string::npos) continue;
    const uint64_t begin = std::stoull(line, nullptr, 16);
    const uint64_t end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
    ASSERT_EQ(mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE), 0);
  }
  const int64_t opened = writable_bytes(name);
  ASSERT_GT(opened, closed);
  attachment_.attach(wrapped_getppid());
  EXPECT_EQ(writable_bytes(name), opened);
  attachment_.detach();
  EXPECT_EQ(writable_bytes(name), opened);
}

TEST_F(AttachmentTest, a_pointer_that_was_taken_goes_on_after_detach) {
  attachment_.attach(wrapped_getppid());
  // The compiler takes it from a slot; volatile, so that it takes it now.
  pid_t (*volatile taken)() = &getppid;
  attachment_.detach();
  EXPECT_EQ(taken(), getppid());
}

TEST_F(AttachmentTest, in_the_child_of_a_fork_it_does_nothing) {
  attachment_.attach(wrapped_getppid());
  const pid_t child = fork();
  if (child == 0) {
    attachment_.detach();
    _exit(getppid() > 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(AttachmentTest, in_the_child_of_a_fork_that_came_when_it_was_detached_it_works) {
  attachment_.attach(wrapped_getppid());
  attachment_.detach();
  const pid_t child = fork();
  if (child == 0) {
    attachment_.attach(wrapped_getppid());
    const int before = parents_asked;
    getppid();
    attachment_.detach();
    _exit(parents_asked == before + 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace stoker
