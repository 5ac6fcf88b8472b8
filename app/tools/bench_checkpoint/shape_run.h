#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/tools/bench/bench_tier.h"
#include "app/tools/bench_checkpoint/bench_checkpoint.h"
#include "app/tools/bench_checkpoint/noise.h"
#include "app/tools/bench_checkpoint/shapes.h"
#include "io/checkpoint/sets/set_store.h"
#include "io/experiment/saving_options.h"

namespace stoker {

// What is to be measured, as the arguments say it. A value.
struct ShapePlan {
  CheckpointShape shape;
  Parallel parallel;
  std::vector<int64_t> ranks;           // that run here
  std::vector<std::string> deviations;  // from what MLPerf's CLOSED division allows, in words
};
// Error(ExitCode::config), also where `closed` is asked for and there are deviations.
ShapePlan plan_shape(const CheckpointBenchArguments& arguments, const CheckpointerInfo& checkpoint);

// The ranks of a plan, each with sets of its own on the tier. One thread; the tier must outlive it.
class ShapeRanks {
 public:
  ShapeRanks(const ShapePlan& plan, const CheckpointBenchArguments& arguments,
             const CheckpointerInfo& checkpoint, const std::string& tier, Storage& storage);

  // All ranks at once; the step is the number of the round. Seconds of each. IoError.
  std::vector<double> save(int64_t step);
  std::vector<double> load(int64_t step);
  void remove(int64_t step);

  uint64_t bytes(size_t rank) const { return ranks_[rank].layout.bytes(); }
  size_t tensors(size_t rank) const { return ranks_[rank].layout.tensors.size(); }
  // Whether loads go past the page cache, so that they come from the tier. True where there are no
  // files.
  bool direct() const { return direct_; }

 private:
  struct Rank {
    int64_t number;
    SetLayout layout;
    std::unique_ptr<SetStore> store;
  };
  template <class Work>
  std::vector<double> all(const Work& work);

  const CheckpointerInfo checkpoint_;
  const BenchFolder folder_;
  std::vector<Rank> ranks_;
  bool direct_ = true;
};

}  // namespace stoker
