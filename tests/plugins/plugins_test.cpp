#include <gtest/gtest.h>

#include "io/core/config/plugin.h"
#include "io/core/error.h"
#include "io/storage/storage.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

const std::string kPlugin = STOKER_TEST_PLUGIN_DIR "/reversed.so";

std::unique_ptr<Storage> make(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "t.yaml");
  return Registry<Storage>::global().parse(Section(node, "", "storage", nullptr)).create({});
}

void put(Storage& tier, const std::string& key) {
  const auto writer = tier.create(key);
  const uint8_t byte = 1;
  writer->append({&byte, 1});
  writer->commit();
}

TEST(Plugins, a_tier_from_a_plug_in_is_a_tier) {
  load_plugin(kPlugin);
  load_plugin(kPlugin);  // a second time changes nothing
  const auto tier = make("{type: reversed, inner: {type: memory}}");
  put(*tier, "a");
  put(*tier, "b");
  const auto objects = tier->list("");
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].key, "b");
  EXPECT_EQ(objects[1].key, "a");
}

TEST(Plugins, its_options_are_checked_like_all_others) {
  load_plugin(kPlugin);
  EXPECT_EQ(error_of([] { make("{type: reversed, iner: {type: memory}}"); }),
            "t.yaml:1:18: storage: unknown key 'iner' (did you mean 'inner'?)");
  EXPECT_EQ(error_of([] { make("{type: revrsed}"); }),
            "t.yaml:1:8: storage: unknown storage 'revrsed' (did you mean 'reversed'?)");
}

// An error thrown inside the plug-in is caught by its type outside.
TEST(Plugins, errors_cross_the_border) {
  load_plugin(kPlugin);
  const auto tier = make("{type: reversed, inner: {type: memory}}");
  Buffer buffer;
  EXPECT_THROW(tier->read("absent", buffer, {}), IoError);
}

TEST(Plugins, a_missing_file_is_an_error_of_the_environment) {
  try {
    load_plugin("/no/such/plugin.so");
    FAIL() << "no exception was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_STREQ(error.what(), "/no/such/plugin.so: cannot be read (is the plug-in built?)");
  }
}

TEST(Plugins, a_directory_is_none) {
  EXPECT_EQ(code_of([] { load_plugin(STOKER_TEST_PLUGIN_DIR); }), ExitCode::environment);
}

// Where it has its stamp already, and dlopen() would map beyond its end.
TEST(Plugins, a_file_cut_short_is_refused) {
  const TemporaryDirectory directory;
  const std::string whole = directory / "whole.so", cut = directory / "cut.so";
  std::filesystem::copy_file(kPlugin, whole);
  const std::string bytes = directory.read("whole.so");
  for (size_t size = bytes.find("stoker-plugin ") + 200; size < bytes.size();
       size += bytes.size() / 50) {
    directory.write("cut.so", bytes.substr(0, size));
    EXPECT_EQ(code_of([&] { load_plugin(cut); }), ExitCode::environment) << size;
  }
  directory.write("cut.so", bytes.substr(0, bytes.size() - 1));
  EXPECT_EQ(code_of([&] { load_plugin(cut); }), ExitCode::environment);
}

}  // namespace
}  // namespace stoker
