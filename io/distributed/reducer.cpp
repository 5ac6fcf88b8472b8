#include <algorithm>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <utility>

#include "io/distributed/c10d.h"

namespace stoker {
namespace {

// The first bucket is small, so that its exchange begins early.
constexpr int64_t kFirstBucketBytes = 1 << 20;

// What the Reducer would do by itself, and a word when nothing but the exchange is left.
class Mean final : public c10d::CppCommHookInterface<c10::intrusive_ptr<c10d::ProcessGroup>> {
 public:
  Mean(c10::intrusive_ptr<c10d::ProcessGroup> group, std::function<void()> ready)
      : CppCommHookInterface(std::move(group)), ready_(std::move(ready)) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    if (bucket.isLast()) ready_();
    std::vector<at::Tensor> tensors{bucket.getBufferRef().div_(state_->getSize())};
    return state_->allreduce(tensors)->getFuture();
  }

 private:
  const std::function<void()> ready_;
};

class ReducedGradients final : public GradientExchange {
 public:
  ReducedGradients(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                   const std::vector<at::Tensor>& parameters, int64_t bucket_bytes,
                   std::function<void()> ready)
      : group_(group) {
    const std::vector<bool> dense(parameters.size(), false);
    auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
        parameters, {static_cast<size_t>(kFirstBucketBytes), static_cast<size_t>(bucket_bytes)},
        dense);
    std::reverse(buckets.begin(), buckets.end());  // backward begins at the end
    constexpr bool kFindUnused = false, kViews = true, kSkipUnused = false, kPython = false;
    reducer_ = std::make_shared<c10d::Reducer>(
        parameters, std::move(buckets), group, dense, bucket_bytes, kFindUnused, kViews,
        std::unordered_map<size_t, std::string>(), kFirstBucketBytes, kSkipUnused, kPython,
        std::vector<int64_t>());
    reducer_->register_comm_hook(std::make_unique<Mean>(group, std::move(ready)));
  }
  void before_forward() override {
    reducer_->rebuild_buckets();
    reducer_->prepare_for_forward();
  }
  void backward(const at::Tensor& loss) override {
    reducer_->prepare_for_backward({});
    loss.backward();
  }
  // As PyTorch's Join does it for a rank that has run out of data.
  void stand_in() override {
    before_forward();
    std::vector<c10::intrusive_ptr<c10d::Work>> work;
    for (c10d::GradBucket& bucket : reducer_->get_grad_buckets(/*return_zero_tensors=*/true)) {
      std::vector<at::Tensor> tensors{bucket.getBufferRef()};
      work.push_back(group_->allreduce(tensors));
    }
    for (const auto& each : work) each->wait();
  }

 private:
  const c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::shared_ptr<c10d::Reducer> reducer_;
};

}  // namespace

std::unique_ptr<GradientExchange> make_reducer(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                                               const std::vector<at::Tensor>& parameters,
                                               int64_t bucket_bytes, std::function<void()> ready) {
  return std::make_unique<ReducedGradients>(group, parameters, bucket_bytes, std::move(ready));
}

}  // namespace stoker
