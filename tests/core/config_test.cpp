#include "io/core/config/config.h"

#include <gtest/gtest.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "io/core/config/plugin.h"
#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

enum class Fit { stretch, center_crop };
EnumNames<Fit> enum_names(Fit) {
  return {{"stretch", Fit::stretch}, {"center_crop", Fit::center_crop}};
}

struct Inner {
  bool flip = false;
  template <class V>
  void visit(V& v) {
    v("flip", flip, "mirror half of the images");
  }
};

struct Sample {
  std::string root;
  int64_t queue_depth = 1;
  double rate = 0.5;
  Fit fit = Fit::stretch;
  ByteSize limit{64 << 10};
  std::optional<int64_t> steps;
  std::vector<std::string> exclude;
  Inner augment;
  template <class V>
  void visit(V& v) {
    v.required("root", root, "directory that holds the data");
    v("queue_depth", queue_depth, "reads in flight", Limits{1, 1024});
    v("rate", rate, "a rate");
    v("fit", fit, "how");
    v("limit", limit, "how much");
    v("steps", steps, "how many");
    v("exclude", exclude, "names");
    v("augment", augment, "inner");
  }
  void check(const Section& section) const {
    if (steps && *steps > queue_depth) section.fail("steps", "must not exceed 'queue_depth'");
  }
};

struct UsesTier {
  TierName tier;
  template <class V>
  void visit(V& v) {
    v.required("storage", tier, "where");
  }
};

Sample read(const std::string& text) {
  const Node node = parse_yaml(text, "t.yaml");
  Sample sample;
  read_struct(Section(node, "", "storage", nullptr), sample);
  return sample;
}

std::string read_error(const std::string& text) {
  return error_of([&] { read(text); });
}

TEST(Config, reads_every_kind_of_field) {
  const Sample s = read(
      "root: /data\nqueue_depth: 8\nrate: 1e-3\nfit: center_crop\nlimit: 2MiB\nsteps: 3\n"
      "exclude: [a, b]\naugment: {flip: true}\n");
  EXPECT_EQ(s.root, "/data");
  EXPECT_EQ(s.queue_depth, 8);
  EXPECT_DOUBLE_EQ(s.rate, 1e-3);
  EXPECT_EQ(s.fit, Fit::center_crop);
  EXPECT_EQ(s.limit.bytes, 2u << 20);
  EXPECT_EQ(s.steps, 3);
  EXPECT_EQ(s.exclude, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(s.augment.flip);
}

TEST(Config, messages_name_place_thing_and_way_out) {
  EXPECT_EQ(read_error("root: x\nqueue_dept: 8\n"),
            "t.yaml:2:1: storage: unknown key 'queue_dept' (did you mean 'queue_depth'?)");
  EXPECT_EQ(read_error("root: x\nzzz: 8\n"),
            "t.yaml:2:1: storage: unknown key 'zzz' (known: root, queue_depth, rate, fit, limit, "
            "steps, exclude, augment)");
  EXPECT_EQ(read_error("rate: 1\n"), "t.yaml:1:1: storage: missing key 'root'");
  EXPECT_EQ(read_error("root: x\nqueue_depth: eight\n"),
            "t.yaml:2:14: storage: 'queue_depth' must be an integer, got 'eight'");
  EXPECT_EQ(read_error("root: x\nqueue_depth: \"8\"\n"),
            "t.yaml:2:14: storage: 'queue_depth' must be an integer, got the text \"8\": leave out "
            "the quotes");
  EXPECT_EQ(read_error("root: x\nqueue_depth: 010\n"),
            "t.yaml:2:14: storage: 'queue_depth' must be an integer, got '010' (a leading zero is "
            "ambiguous: drop it)");
  EXPECT_EQ(read_error("root: x\nqueue_depth: 0\n"),
            "t.yaml:2:14: storage: 'queue_depth' must be an integer from 1 to 1024, got 0");
  EXPECT_EQ(read_error("root: x\nqueue_depth: [1]\n"),
            "t.yaml:2:14: storage: 'queue_depth' must be an integer, got a list");
  EXPECT_EQ(read_error("root: x\nrate: nan\n"),
            "t.yaml:2:7: storage: 'rate' must be a number, got nan");
  EXPECT_EQ(read_error("root: x\nfit: squash\n"),
            "t.yaml:2:6: storage: 'fit' must be one of stretch, center_crop, got 'squash'");
  EXPECT_EQ(read_error("root: x\nlimit: 5 apples\n"),
            "t.yaml:2:8: storage: 'limit' must be a size such as 4096, 64KiB, 2MiB or 1GiB, got "
            "'5 apples'");
  EXPECT_EQ(read_error("root: x\nexclude: a\n"),
            "t.yaml:2:10: storage: 'exclude' must be a list, e.g. [a, b]");
  EXPECT_EQ(read_error("root: x\naugment: {flip: yes}\n"),
            "t.yaml:2:17: storage.augment: 'flip' must be true or false, got 'yes'");
  EXPECT_EQ(read_error("root: x\naugment: 3\n"),
            "t.yaml:2:10: storage: 'augment' must be a mapping, e.g. {key: value}");
  EXPECT_EQ(read_error("root: x\nsteps: 5\n"),
            "t.yaml:2:8: storage: 'steps' must not exceed 'queue_depth'");
}

TEST(Config, names_that_are_close_are_suggested) {
  const std::vector<std::string> known = {"batch_size", "prefetch_batches", "lr", "jpeg"};
  const auto meant = [&](const char* given) { return did_you_mean(given, known); };
  for (const char* slip : {"batch_siez", "batchsize", "bach_size", "batch", "BATCH_SIZE"}) {
    EXPECT_EQ(meant(slip), " (did you mean 'batch_size'?)") << slip;
  }
  EXPECT_EQ(meant("JPEG"), " (did you mean 'jpeg'?)");
  EXPECT_EQ(meant("jpegjpeg"), " (did you mean 'jpeg'?)");
  EXPECT_EQ(meant("l"), " (did you mean 'lr'?)");
  EXPECT_EQ(meant("workers"), "");
  EXPECT_EQ(did_you_mean("layer", {"layer_size", "layer_count"}), "") << "which of the two?";
}

TEST(Config, words_of_other_programs_are_understood_where_their_meaning_is_known) {
  EXPECT_EQ(did_you_mean("gpu", {"auto", "cpu", "cuda", "emulated"}), " (did you mean 'cuda'?)");
  EXPECT_EQ(did_you_mean("gpu", {"cpu", "emulated"}), " (did you mean 'cpu'?)");
  EXPECT_EQ(did_you_mean("Async", {"sync", "threaded", "prefetched"}),
            " (did you mean 'prefetched'?)");
  const std::vector<std::string> options{"batch_size", "workers", "prefetch_batches", "threads"};
  for (const char* word : {"num_workers", "num_parallel_calls"}) {
    EXPECT_EQ(did_you_mean(word, options), " (did you mean 'workers'?)") << word;
  }
}

TEST(Config, words_among_values_are_suggested) {
  EXPECT_EQ(read_error("root: x\nfit: strech\n"),
            "t.yaml:2:6: storage: 'fit' must be one of stretch, center_crop, got 'strech' (did you "
            "mean 'stretch'?)");
  EXPECT_EQ(read_error("root: x\naugment: {flip: True}\n"),
            "t.yaml:2:17: storage.augment: 'flip' must be true or false, got 'True' (did you mean "
            "'true'?)");
}

TEST(Config, a_slip_goes_before_what_it_makes_wrong_or_missing) {
  EXPECT_EQ(read_error("root: x\nsteps: 3\nqueue_dept: 8\n"),
            "t.yaml:3:1: storage: unknown key 'queue_dept' (did you mean 'queue_depth'?)");
  EXPECT_EQ(read_error("rate: x\nrot: x\n"),
            "t.yaml:2:1: storage: unknown key 'rot' (did you mean 'root'?)");
  EXPECT_EQ(read_error("rate: x\n"), "t.yaml:1:7: storage: 'rate' must be a number, got 'x'");
  EXPECT_EQ(read_error("rot: x\n"),
            "t.yaml:1:1: storage: unknown key 'rot' (did you mean 'root'?)");
}

TEST(Config, resolved_options_read_back_as_the_same_options) {
  const Node once = dump_struct(read("root: \"17\"\nsteps: 1\nexclude: [a, \"true\"]\n"));
  const std::string text = to_yaml(once);
  const Node again = dump_struct(read(text));
  EXPECT_EQ(to_yaml(again), text);
  EXPECT_EQ(read(text).root, "17");
}

TEST(Config, what_other_readers_of_yaml_take_for_no_text_is_quoted) {
  using config_detail::dump;
  for (const char* text : {"no",  "On",   "YES",     "off",        "Null",
                           "~",   "",     "1_000",   "0x1f",       "0o17",
                           "012", "1:30", "-1:30.5", "2026-01-02", "2026-01-02 03:04:05",
                           "1e5", ".5",   ".inf",    "-.INF",      ".NaN",
                           "=",   "<<",   "-"}) {
    EXPECT_TRUE(dump(std::string(text)).quoted) << text;
    EXPECT_EQ(Field<Path>::dump(Path{text}).quoted, true) << text;
  }
  for (const char* text :
       {"none", "nobody", "one", "./runs", "../1", "10.jpg", "v1.0", "a:1", "1/2"}) {
    EXPECT_FALSE(dump(std::string(text)).quoted) << text;
    EXPECT_FALSE(Field<Path>::dump(Path{text}).quoted) << text;
  }
  Node names = Node::map();
  names.entries.push_back({"no", {}, dump(std::string("yes"))});
  EXPECT_EQ(to_yaml(names), "\"no\": \"yes\"");
}

TEST(Config, numbers_with_an_exponent_have_a_point) {
  using config_detail::dump;
  EXPECT_EQ(dump(3e-5).scalar, "3.0e-05");
  EXPECT_EQ(dump(-1e20).scalar, "-1.0e+20");
  EXPECT_EQ(dump(1.5e-7).scalar, "1.5e-07");
  EXPECT_EQ(dump(0.25).scalar, "0.25");
  EXPECT_EQ(dump(2.0).scalar, "2");
}

TEST(Config, shares_above_one_have_the_sign) {
  Share share;
  EXPECT_TRUE(Scalar<Share>::parse("5%", share));
  EXPECT_DOUBLE_EQ(share.value, 0.05);
  EXPECT_TRUE(Scalar<Share>::parse("0.05", share));
  EXPECT_DOUBLE_EQ(share.value, 0.05);
  EXPECT_TRUE(Scalar<Share>::parse("1", share));
  EXPECT_TRUE(Scalar<Share>::parse("150%", share));
  EXPECT_DOUBLE_EQ(share.value, 1.5);
  for (const char* text : {"5", "1.01", "-1%", "nan", "inf%", "%", "", "5 %"}) {
    EXPECT_FALSE(Scalar<Share>::parse(text, share)) << text;
    EXPECT_DOUBLE_EQ(share.value, 1.5);
  }
}

TEST(Config, descriptions_have_type_default_and_nested_names) {
  const std::vector<FieldHelp> rows = describe_struct<Sample>();
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_TRUE(rows[0].required);
  EXPECT_EQ(rows[1].type, "integer from 1 to 1024");
  EXPECT_EQ(rows[1].fallback, "1");
  EXPECT_EQ(rows[3].type, "stretch|center_crop");
  EXPECT_EQ(rows[4].fallback, "64KiB");
  EXPECT_EQ(rows[7].key, "augment.flip");
}

// Shares the options of Sample, as types of one kind do.
struct Sharing : Sample {
  static constexpr std::array kIdle{"queue_depth", "augment"};
};
struct SharingNothing : Sample {
  static constexpr std::array kIdle{"*"};
};

TEST(Config, options_without_a_meaning_for_a_type_are_read_and_written_as_others_and_marked) {
  const std::vector<FieldHelp> rows = describe_struct<Sharing>();
  std::vector<std::string> idle;
  for (const FieldHelp& row : rows) {
    if (row.idle) idle.push_back(row.key);
  }
  EXPECT_EQ(idle, (std::vector<std::string>{"queue_depth", "augment.flip"}));
  EXPECT_EQ(rows.size(), describe_struct<Sample>().size());
  EXPECT_TRUE(std::ranges::none_of(describe_struct<Sample>(), &FieldHelp::idle));
  EXPECT_TRUE(std::ranges::all_of(describe_struct<SharingNothing>(), &FieldHelp::idle));

  const Node node = parse_yaml("root: x\nsteps: 1\nqueue_depth: 7\n", "t.yaml");
  Sharing options;
  read_struct(Section(node, "", "storage", nullptr), options);
  EXPECT_EQ(options.queue_depth, 7);
  EXPECT_NE(to_yaml(dump_struct(options)).find("queue_depth: 7"), std::string::npos);
}

TEST(Config, sizes_take_binary_and_decimal_units) {
  ByteSize size;
  const auto bytes = [&](const char* text) {
    EXPECT_TRUE(Scalar<ByteSize>::parse(text, size)) << text;
    return size.bytes;
  };
  EXPECT_EQ(bytes("0"), 0u);
  EXPECT_EQ(bytes("5k"), 5000u);
  EXPECT_EQ(bytes("3KiB"), 3072u);
  EXPECT_EQ(bytes("1g"), 1000000000u);
  for (const char* bad : {"", "k", "-1", "1.5MiB", "1 MiB", "010", "99999999999GiB"}) {
    EXPECT_FALSE(Scalar<ByteSize>::parse(bad, size)) << bad;
  }
}

TEST(Config, times_have_a_unit) {
  Duration time;
  for (const auto& [text, ms] : {std::pair("500ms", 500), {"60s", 60'000}, {"2min", 120'000}}) {
    EXPECT_TRUE(Scalar<Duration>::parse(text, time)) << text;
    EXPECT_EQ(time.ms, ms) << text;
  }
  for (const char* bad : {"", "60", "s", "-1s", "1.5s", "1 s", "9223372036854775807min"}) {
    EXPECT_FALSE(Scalar<Duration>::parse(bad, time)) << bad;
  }
  for (const char* same : {"0ms", "1500ms", "90s", "2min"}) {
    EXPECT_TRUE(Scalar<Duration>::parse(same, time)) << same;
    EXPECT_EQ(Scalar<Duration>::format(time), same);
  }
}

TEST(Config, paths_take_environment_variables) {
  setenv("STOKER_TEST_ROOT", "/mnt/x", 1);
  Path path;
  EXPECT_TRUE(Scalar<Path>::parse("${STOKER_TEST_ROOT}/a", path));
  EXPECT_EQ(path.value, "/mnt/x/a");
  EXPECT_TRUE(Scalar<Path>::parse("${STOKER_TEST_UNSET:-data}/a", path));
  EXPECT_EQ(path.value, "data/a");
  EXPECT_FALSE(Scalar<Path>::parse("${STOKER_TEST_UNSET}/a", path));
  EXPECT_TRUE(Scalar<Path>::parse("${STOKER_SHARE}/a", path));
  EXPECT_EQ(path.value, share_of_library() + "/a");
  EXPECT_FALSE(Scalar<Path>::parse("${STOKER", path));
}

struct Place {
  Path root;
  template <class V>
  void visit(V& v) {
    v.required("root", root, "where");
  }
};

TEST(Config, a_home_that_yaml_takes_for_nothing_is_told_how_to_be_written) {
  const std::string said = error_of([] {
    Place place;
    const Node node = parse_yaml("root: ~", "t.yaml");
    read_struct(Section(node, "", "storage", nullptr), place);
  });
  EXPECT_NE(said.find("got nothing, as ~ alone is in YAML: the home directory is ~/"), said.npos)
      << said;
}

TEST(Config, paths_begin_in_a_home_as_a_shell_has_it) {
  const auto read = [](const std::string& text) {
    Path path;
    EXPECT_TRUE(Scalar<Path>::parse(text, path)) << text;
    return path.value;
  };
  setenv("STOKER_TEST_ROOT", "~/x", 1);
  const std::string home = std::getenv("HOME") == nullptr ? "/" : std::getenv("HOME");
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(read("~/data"), "/home/me/data");
  EXPECT_EQ(read("~"), "/home/me");
  EXPECT_EQ(read("${STOKER_TEST_ROOT}"), "/home/me/x");
  EXPECT_EQ(read("~nobody-has-this-name/data"), "~nobody-has-this-name/data");
  EXPECT_EQ(read("data/~/x"), "data/~/x");
  EXPECT_EQ(read("./~/x"), "./~/x");
  const passwd* const root = ::getpwuid(0);
  if (root != nullptr) {
    EXPECT_EQ(read(std::string("~") + root->pw_name + "/data"),
              root->pw_dir + std::string("/data"));
  }
  setenv("HOME", home.c_str(), 1);
}

TEST(Config, a_tier_name_must_be_one_of_storage) {
  UsesTier options;
  const ConfigContext context{{"data", "fast"}};
  const Node node = parse_yaml("storage: dta\n", "t.yaml");
  EXPECT_EQ(error_of([&] { read_struct(Section(node, "", "dataset", &context), options); }),
            "t.yaml:1:10: dataset: 'storage' names no tier under storage:, got 'dta' (did you mean "
            "'data'?)");
}

TEST(WhatIsThere, the_nearest_name_comes_first_of_at_most_five) {
  EXPECT_EQ(some_of({}), "");
  EXPECT_EQ(some_of({"a"}), "'a'");
  EXPECT_EQ(some_of({"a", "b", "c"}), "'a', 'b' and 'c'");
  EXPECT_EQ(some_of({"a", "b", "c", "d", "e", "f", "g"}), "'a', 'b', 'c', 'd', 'e' and 2 more");
  EXPECT_EQ(what_is_there("image", {}), "; there are none");
  EXPECT_EQ(what_is_there("pixels", {"image"}), "; there is 'image'");
  EXPECT_EQ(what_is_there("images", {"label", "image"}),
            " (did you mean 'image'?); there are 'image' and 'label'");
}

}  // namespace
}  // namespace stoker
