#include "app/tools/bench_checkpoint/shapes.h"

#include <gtest/gtest.h>

#include <set>

#include "app/tools/bench_checkpoint/shape_run.h"
#include "tests/support/errors.h"

// The sizes against those that MLPerf Storage publishes.

namespace stoker {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

double whole_gib(const std::string& name) {
  const CheckpointShape& shape = find_shape(name);
  return static_cast<double>(bytes_of_all_ranks(shape, shape.parallel, "adamw", 1)) / kGiB;
}

uint64_t bytes_of(const std::string& name, int64_t rank) {
  const CheckpointShape& shape = find_shape(name);
  uint64_t bytes = 0;
  for (const TensorInfo& tensor : tensors_of_rank(shape, shape.parallel, rank, "adamw", 1)) {
    bytes += tensor.bytes;
  }
  return bytes;
}

double gib_of(const std::string& name, int64_t rank) {
  return static_cast<double>(bytes_of(name, rank)) / kGiB;
}

TEST(Shapes, parameters_are_those_of_the_models) {
  EXPECT_EQ(find_shape("llama3-8b").parameters(), 8'030'261'248u);
  EXPECT_NEAR(1e-9 * static_cast<double>(find_shape("llama3-70b").parameters()), 69.9, 0.1);
  EXPECT_NEAR(1e-9 * static_cast<double>(find_shape("llama3-405b").parameters()), 405.9, 0.1);
}

// Table 2 of its rules: 105 GB, 912 GB, 5.29 TB, where a GB is 2^30 bytes and a TB 1,000 of these.
// The size of the fourth there, 18 TB, is not what its rules give.
TEST(Shapes, whole_checkpoints_have_the_published_sizes) {
  EXPECT_NEAR(whole_gib("llama3-8b"), 105, 0.5);
  EXPECT_NEAR(whole_gib("llama3-70b"), 912, 1);
  EXPECT_NEAR(whole_gib("llama3-405b"), 5290, 5);
  EXPECT_NEAR(whole_gib("llama3-1t"), 15427, 5);
}

// "256x 11.8GB, 256x 8.85GB" of 405B, and "8x 14.23GB" of 70B.
TEST(Shapes, ranks_have_the_published_sizes) {
  EXPECT_NEAR(gib_of("llama3-405b", 8 * 16), 11.8, 0.05);
  EXPECT_NEAR(gib_of("llama3-405b", 256), 8.85, 0.02);
  EXPECT_NEAR(gib_of("llama3-70b", 5), 14.23, 0.05);
  EXPECT_NEAR(gib_of("llama3-8b", 0), 13.1, 0.05);
}

// What DLIO's rules give, computed by themselves; to the byte.
TEST(Shapes, the_first_rank_has_every_byte_that_dlio_gives_it) {
  EXPECT_EQ(bytes_of("llama3-8b", 0), 14'053'202'944u);
  EXPECT_EQ(bytes_of("llama3-70b", 0), 15'287'602'688u);
  EXPECT_EQ(bytes_of("llama3-405b", 0), 13'226'441'600u);
  EXPECT_EQ(bytes_of("llama3-1t", 0), 19'290'292'860u);
}

TEST(Shapes, the_sum_over_all_ranks_is_the_checkpoint) {
  const CheckpointShape& shape = find_shape("llama3-405b");
  uint64_t sum = 0;
  for (int64_t rank = 0; rank < shape.parallel.ranks(); ++rank)
    sum += bytes_of("llama3-405b", rank);
  EXPECT_EQ(sum, bytes_of_all_ranks(shape, shape.parallel, "adamw", 1));
}

TEST(Shapes, stages_of_the_pipeline_share_the_layers) {
  const CheckpointShape& shape = find_shape("llama3-8b");
  std::set<std::string> layers;
  for (const int64_t stage : {0, 1, 2, 3, 4}) {
    std::set<std::string> own;
    for (const TensorInfo& tensor : tensors_of_rank(shape, {1, 5, 1}, stage, "none", 1)) {
      own.insert(tensor.name.substr(0, tensor.name.rfind('.')));
      EXPECT_EQ(tensor.dtype, "F16");
    }
    for (const std::string& layer : own) EXPECT_TRUE(layers.insert(layer).second) << layer;
  }
  EXPECT_EQ(layers.size(), 35u);  // 32, the embedding, the head, and the last norm
}

TEST(Shapes, a_scale_keeps_names_and_types) {
  const CheckpointShape& shape = find_shape("llama3-8b");
  const auto whole = tensors_of_rank(shape, shape.parallel, 3, "adamw", 1);
  const auto small = tensors_of_rank(shape, shape.parallel, 3, "adamw", 1e-6);
  ASSERT_EQ(whole.size(), small.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(whole[i].name, small[i].name);
    EXPECT_EQ(whole[i].dtype, small[i].dtype);
    EXPECT_GE(small[i].shape[0], 1);
    EXPECT_LT(small[i].bytes, 100'000u);
  }
  EXPECT_EQ(tensors_of_rank(shape, shape.parallel, 0, "sgd", 1).size(), whole.size() - 2);
}

TEST(Shapes, a_parallelism_is_read_and_what_is_none_is_refused) {
  EXPECT_EQ(parse_parallel("tp=8,pp=4,dp=2", {}), (Parallel{8, 4, 2}));
  EXPECT_EQ(parse_parallel("dp=3", {8, 4, 2}), (Parallel{8, 4, 3}));
  EXPECT_EQ(parse_parallel("", {8, 4, 2}), (Parallel{8, 4, 2}));
  for (const char* text : {"tp", "tp=", "tp=0", "tp=-1", "xp=2", "tp=2x", "tp=99999999999999999999",
                           ",", "tp=60000,pp=60000"}) {
    EXPECT_EQ(code_of([&] { parse_parallel(text, {}); }), ExitCode::config) << text;
  }
  EXPECT_NE(error_of([] { find_shape("llama3-8B"); }).find("llama3-8b"), std::string::npos);
}

ShapePlan planned(const std::function<void(CheckpointBenchArguments&)>& change) {
  CheckpointBenchArguments arguments;
  arguments.shape = "llama3-405b";
  arguments.rounds = 10;
  arguments.rank = {0, 1, 2, 3, 4, 5, 6, 7};
  change(arguments);
  return plan_shape(arguments, {.durability = "fsync"});
}

TEST(Shapes, closed_is_what_the_rules_allow) {
  EXPECT_EQ(planned([](auto&) {}).deviations, std::vector<std::string>{});  // a subset of 8
  const auto refuse = [](const std::function<void(CheckpointBenchArguments&)>& change) {
    EXPECT_EQ(planned(change).deviations.size(), 1u);
    return code_of([&] {
      planned([&](CheckpointBenchArguments& arguments) {
        arguments.closed = true;
        change(arguments);
      });
    });
  };
  EXPECT_EQ(refuse([](auto& a) { a.scale = 0.5; }), ExitCode::config);
  EXPECT_EQ(refuse([](auto& a) { a.rounds = 5; }), ExitCode::config);
  EXPECT_EQ(refuse([](auto& a) { a.rank = {0, 1}; }), ExitCode::config);
  EXPECT_EQ(refuse([](auto& a) { a.ranks = 1024; }), ExitCode::config);
  EXPECT_EQ(refuse([](auto& a) { a.optimizer = "sgd"; }), ExitCode::config);
  EXPECT_EQ(refuse([](auto& a) { a.in_turns = true; }), ExitCode::config);
}

TEST(Shapes, ranks_and_parallelism_have_to_go_together) {
  EXPECT_EQ(planned([](auto& a) { a.ranks = 1024; }).parallel, (Parallel{8, 32, 4}));
  EXPECT_EQ(code_of([] { planned([](auto& a) { a.ranks = 100; }); }), ExitCode::config);
  EXPECT_EQ(code_of([] { planned([](auto& a) { a.ranks = 512, a.parallel = "dp=3"; }); }),
            ExitCode::config);
  EXPECT_EQ(code_of([] { planned([](auto& a) { a.rank = {512}; }); }), ExitCode::config);
  EXPECT_EQ(planned([](auto& a) { a.rank = {3, 1, 3}; }).ranks, (std::vector<int64_t>{1, 3}));
}

}  // namespace
}  // namespace stoker
