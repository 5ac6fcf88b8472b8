#include <dlfcn.h>
#include <gmock/gmock.h>

#include <set>
#include <span>
#include <string>

#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {
namespace {

// The library is loaded as an attached process loads it: without a folder it counts nothing.
class PreloadExports : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = std::string(STOKER_PLUGIN_DIR) + "/stoker_preload.so";
    library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
  }
  void* library_ = nullptr;
};

TEST_F(PreloadExports, every_function_of_libc_that_is_wrapped_is_exported) {
  for (const WrappedFunction& function : wrapped_functions()) {
    const std::string name = function.name;
    if (function.library != nullptr) continue;                           // liburing's
    if (name.starts_with("aio_") || name.starts_with("lio_")) continue;  // not preloaded
    void* const exported = ::dlsym(library_, function.name);
    ASSERT_NE(exported, nullptr) << name;
    Dl_info where{};
    ASSERT_NE(::dladdr(exported, &where), 0);
    EXPECT_NE(std::string(where.dli_fname).find("stoker_preload"), std::string::npos) << name;
  }
}

TEST_F(PreloadExports, a_folder_that_is_not_there_is_refused) {
  const auto attach =
      reinterpret_cast<int (*)(const char*)>(::dlsym(library_, "stoker_preload_attach"));
  ASSERT_NE(attach, nullptr);
  EXPECT_EQ(attach("/nowhere/at/all"), -1);
}

}  // namespace
}  // namespace stoker
