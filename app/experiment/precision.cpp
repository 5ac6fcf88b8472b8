#include "app/experiment/precision.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace stoker {

EnumNames<Precision> enum_names(Precision) {
  return {{"fp32", Precision::fp32}, {"bf16", Precision::bf16}};
}

bool cpu_has_bf16_kernels() {
  // The condition under which its convolutions and products take oneDNN; no header declares it.
  const auto op =
      c10::Dispatcher::singleton().findSchema({"mkldnn::_is_mkldnn_bf16_supported", ""});
  return op && op->typed<bool()>().call();
}

PrecisionScope::PrecisionScope(Precision precision, c10::DeviceType device)
    : active_(precision == Precision::bf16), device_(device) {
  if (!active_) return;
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, at::kBFloat16);
  at::autocast::increment_nesting();
}

PrecisionScope::~PrecisionScope() {
  if (!active_) return;
  // The casts of the weights are cached for one pass only, because the next pass has new weights.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, false);
}

}  // namespace stoker
