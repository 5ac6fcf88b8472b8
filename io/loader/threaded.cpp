#include "io/loader/pipeline.h"

namespace stoker {
namespace {

// The 2018 study's parallel map: workers fill the batch that is being asked for, and nothing ahead.
class Threaded final : public Loader {
 public:
  using Options = LoaderOptions;
  Threaded(Options options, const Inputs& inputs) : pipeline_(options, inputs, 0) {}

  int64_t batches() const override { return pipeline_.batches(); }
  void start(int64_t epoch, int64_t first_batch) override { pipeline_.start(epoch, first_batch); }
  std::optional<Batch> next() override { return pipeline_.next(); }

 private:
  Pipeline pipeline_;
};

STOKER_REGISTER(Loader, "threaded", Threaded);

}  // namespace
}  // namespace stoker
