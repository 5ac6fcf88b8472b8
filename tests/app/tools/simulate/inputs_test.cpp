#include "app/tools/simulate/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "io/loader/loader_options.h"
#include "tests/app/tools/simulate/simulations.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

std::string refusal_of(const std::string& yaml) {
  const auto read = [&] { simulation_of(yaml); };
  EXPECT_EQ(code_of(read), ExitCode::config);
  return error_of(read);
}

InputOrigin origin(const SimulationInputs& inputs, const std::string& key) {
  const auto found = std::ranges::find(inputs.origins, key, &InputOrigin::key);
  return found == inputs.origins.end() ? InputOrigin{} : *found;
}

constexpr const char* kData = "workload: {data: {samples: 100}}\n";

TEST(SimulationInputs, say_where_each_is_from) {
  const TemporaryDirectory directory;
  directory.write("machine.yaml", "machine:\n  nodes: 4\n  network: {gb_per_s: 10}\n");
  Node run = Node::map();
  const Position at{std::make_shared<const std::string>("RUN/summary.json: decode"), 0, 0};
  apply_override(run, Word("workload.costs.decode_ms=1.5", at, at));
  apply_override(run, Word("workload.data.samples=1000", at, at));
  apply_override(run, Word("machine.nodes=1", at, at));
  const SimulationInputs inputs = read_simulation(
      merge_inputs(run, directory / "machine.yaml", {"workload.loader.batch_size=32"}));
  EXPECT_THAT(origin(inputs, "workload.costs.decode_ms").from,
              HasSubstr("RUN/summary.json: decode"));
  EXPECT_EQ(origin(inputs, "workload.costs.decode_ms").value, "1.5");
  EXPECT_THAT(origin(inputs, "machine.nodes").from, EndsWith("machine.yaml:2:10"));
  EXPECT_THAT(origin(inputs, "workload.loader.batch_size").from, HasSubstr("override"));
  EXPECT_EQ(origin(inputs, "workload.costs.step_ms").from, "default");
  EXPECT_EQ(inputs.options.machine.nodes, 4);
  EXPECT_EQ(simulated_loader(inputs.options.workload).batch_size, 32);
}

TEST(SimulationInputs, are_read_strictly) {
  EXPECT_THAT(refusal_of(std::string(kData) + "machine: {node: 4}\n"),
              HasSubstr("did you mean 'nodes'?"));
  EXPECT_THAT(refusal_of("machine: {nodes: 4}\n"), HasSubstr("workload"));
  EXPECT_THAT(refusal_of("workload: {data: {samples: 100, tier: dta}}\nmachine: {storage: {data: "
                         "{profile: hdd}}}\n"),
              HasSubstr("did you mean 'data'?"));
  EXPECT_THAT(refusal_of(std::string(kData) + "machine: {storage: {data: {read_mb_per_s: 5}}}\n"),
              HasSubstr("write_mb_per_s"));
  EXPECT_THAT(refusal_of(std::string(kData) +
                         "machine: {storage: {data: {profile: hdd, stripe_count: 2}}}\n"),
              HasSubstr("'stripe_count' must be at most stripes"));
}

TEST(SimulationInputs, refuse_what_cannot_be) {
  EXPECT_THAT(refusal_of("workload: {data: {samples: 10}}\n"),
              HasSubstr("a batch_size of at most data.samples"));
  EXPECT_THAT(refusal_of(std::string(kData) + "machine: {nodes: 65}\n"),
              HasSubstr("at least one sample for each rank"));
  EXPECT_THAT(refusal_of("workload: {data: {samples: 100, whole_files: true}, loader: {type: "
                         "prefetched, workers: 2}}\n"),
              HasSubstr("workers: 1"));
  EXPECT_THAT(refusal_of("workload: {data: {samples: 100}, checkpoint: {type: direct, slow: "
                         "s}}\nmachine: {storage: {s: {profile: hdd}}}\n"),
              HasSubstr("bytes of a set"));
  EXPECT_THAT(refusal_of("workload: {data: {samples: 100}, loader: {type: lmdbio}}\n"),
              HasSubstr("loader"));
}

// Of published studies.
TEST(SimulationInputs, every_file_in_configs_is_valid) {
  int64_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(STOKER_SOURCE_DIR "/configs/paper/simulate")) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_NO_THROW(read_simulation(load_yaml(entry.path().string()))) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 3);
}

}  // namespace
}  // namespace stoker
