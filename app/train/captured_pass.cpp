#include "app/train/captured_pass.h"

#include <ATen/ops/empty.h>

#include <utility>

namespace stoker {

CapturedPass::CapturedPass(std::unique_ptr<StepGraph> graph, std::vector<at::Tensor> parameters,
                           Pass pass)
    : graph_(std::move(graph)), parameters_(std::move(parameters)), pass_(std::move(pass)) {}

at::Tensor CapturedPass::operator()(const at::Tensor& images, const at::Tensor& labels) {
  if (!captured_ && warm(images)) capture(images, labels);
  if (captured_ && images.sizes() == shape_) return replay(images, labels);
  return pass_(images, labels);
}

// Whether the passes before this one had its shape, and were enough.
bool CapturedPass::warm(const at::Tensor& images) {
  if (images.sizes() != shape_) {
    shape_ = images.sizes().vec();
    passes_ = 0;
  }
  return passes_++ == kEagerPasses;
}

void CapturedPass::capture(const at::Tensor& images, const at::Tensor& labels) {
  images_ = images.clone();
  labels_ = labels.clone();
  loss_ = at::empty({}, images.options().dtype(at::kFloat));
  graph_->capture([this] { loss_.copy_(pass_(images_, labels_)); });
  // These gradients were made during the capture, so every replay writes to their memory.
  for (const at::Tensor& parameter : parameters_) gradients_.push_back(parameter.grad());
  captured_ = true;
}

// The copies and the replay are queued on one stream, so the replay reads the new batch.
at::Tensor CapturedPass::replay(const at::Tensor& images, const at::Tensor& labels) {
  images_.copy_(images, /*non_blocking=*/true);
  labels_.copy_(labels, /*non_blocking=*/true);
  // A pass of another shape may have replaced them by its own.
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].mutable_grad() = gradients_[i];
  graph_->replay();
  return loss_;
}

}  // namespace stoker
