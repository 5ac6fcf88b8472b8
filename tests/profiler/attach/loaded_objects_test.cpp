#include "io/profiler/attach/loaded_objects.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <stdexcept>
#include <thread>

namespace stoker {
namespace {

const LoadedObject* object_of(const std::vector<LoadedObject>& objects, const char* function) {
  return object_at(objects, dlsym(RTLD_DEFAULT, function));
}

TEST(LoadedObjects, have_the_role_that_their_functions_say) {
  std::vector<LoadedObject> objects;
  under_loader_lock([&] { objects = loaded_objects({}); });
  const LoadedObject* const libc = object_of(objects, "gnu_get_libc_version");
  ASSERT_NE(libc, nullptr);
  EXPECT_EQ(libc->role, ObjectRole::libc);
  const LoadedObject* const loader = object_of(objects, "_dl_mcount");
  ASSERT_NE(loader, nullptr);
  EXPECT_EQ(loader->role, ObjectRole::loader);
  const LoadedObject* const other = object_of(objects, "_ZSt9terminatev");  // libstdc++
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->role, ObjectRole::program);
  EXPECT_EQ(object_at(objects, nullptr), nullptr);
}

TEST(LoadedObjects, that_were_preloaded_are_known_by_their_file_name) {
  under_loader_lock([] {
    for (const LoadedObject& object : loaded_objects({"libz.so.1"})) {
      EXPECT_EQ(object.role == ObjectRole::preloaded, object.file_name() == "libz.so.1");
    }
  });
}

TEST(LoadedObjects, that_only_a_preloaded_one_leads_to_are_its) {
  under_loader_lock([] {
    std::string archive;
    for (const LoadedObject& object : loaded_objects({})) {
      if (object.file_name().starts_with("libarchive.so")) archive = object.file_name();
    }
    ASSERT_FALSE(archive.empty());
    bool acl = false;
    for (const LoadedObject& object : loaded_objects({archive})) {
      if (object.file_name().starts_with("libacl.so")) {
        acl = true;
        EXPECT_EQ(object.role, ObjectRole::preloaded);
      }
      if (object.file_name().starts_with("libstdc++.so")) {
        EXPECT_EQ(object.role, ObjectRole::program);
      }
    }
    EXPECT_TRUE(acl);
  });
}

TEST(LoadedObjects, are_counted_when_they_are_loaded) {
  const uint64_t before = loads_so_far();
  void* const library = dlopen(PROBE_LAZY, RTLD_LAZY);
  EXPECT_EQ(loads_so_far(), before + 1);
  dlclose(library);
  EXPECT_EQ(loads_so_far(), before + 1);
}

TEST(LoaderLock, lets_no_other_thread_load_until_the_work_is_done) {
  std::atomic<bool> loaded{false};
  std::thread other;
  under_loader_lock([&] {
    other = std::thread([&] {
      dlclose(dlopen(PROBE_LAZY, RTLD_LAZY));
      loaded = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(loaded);
  });
  other.join();
  EXPECT_TRUE(loaded);
}

TEST(LoaderLock, is_free_again_where_the_work_throws) {
  EXPECT_THROW(under_loader_lock([] { throw std::runtime_error("no"); }), std::runtime_error);
  std::thread([] { dlclose(dlopen(PROBE_LAZY, RTLD_LAZY)); }).join();
}

TEST(LoaderLock, may_be_nested) {
  int done = 0;
  under_loader_lock([&] {
    ++done;
    under_loader_lock([&] { ++done; });
  });
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace stoker
