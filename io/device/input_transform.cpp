#include "io/device/input_transform.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "io/decoder/framing.h"
#include "io/decoder/normalise_pixels.h"
#include "io/decoder/pixels.h"
#include "io/device/frame_upload.h"

namespace stoker {
namespace {

using Inputs = InputTransform::Inputs;

at::MemoryFormat format(const Inputs& inputs) {
  return inputs.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

// What the decoder has normalised.
class Ready final : public InputTransform {
 public:
  explicit Ready(const Inputs& inputs) : inputs_(inputs) {}
  at::Tensor operator()(const DeviceBatch& batch) const override {
    return batch.images.to(inputs_.type).contiguous(format(inputs_));
  }

 private:
  const Inputs inputs_;
};

// LibTorch's operators, on any device: three passes.
class Operators final : public InputTransform {
 public:
  explicit Operators(const Inputs& inputs) : inputs_(inputs) {
    const auto options = at::TensorOptions(at::kFloat).device(inputs.device);
    const int64_t channels = inputs.spec.channels;
    const auto of_channels = [&](const double* values) {
      return at::tensor(at::ArrayRef<double>(values, static_cast<size_t>(channels)), options)
          .view({1, channels, 1, 1});
    };
    mean_ = of_channels(means(channels));
    scale_ = of_channels(scales(channels));
  }

  at::Tensor operator()(const DeviceBatch& batch) const override {
    return batch.images.permute({0, 3, 1, 2})
        .to(mean_.options(), false, true, format(inputs_))
        .sub_(mean_)
        .mul_(scale_)
        .to(inputs_.type);
  }

 private:
  const Inputs inputs_;
  at::Tensor mean_;
  at::Tensor scale_;
};

// What a thread at work needs: a frame reader, and the sample between resizing and normalisation.
struct Bench {
  FrameReader reader;
  Buffer sample;
};

// Images side by side on LibTorch's threads, each in one pass while its pixels are in the cache.
class OnCpu final : public InputTransform {
 public:
  explicit OnCpu(const Inputs& inputs)
      : inputs_(inputs), benches_([size = inputs.spec.height] {
          return Bench{FrameReader(size), {}};
        }) {}

  at::Tensor operator()(const DeviceBatch& batch) const override {
    return inputs_.type == at::kBFloat16 ? make<Bf16>(batch) : make<float>(batch);
  }

 private:
  template <class T>
  at::Tensor make(const DeviceBatch& batch) const {
    const SampleSpec& spec = inputs_.spec;
    const at::Tensor images = batch.images.contiguous();
    const int64_t count = images.size(0), pixels = spec.height * spec.width;
    at::Tensor values = at::empty({count, 3, spec.height, spec.width},
                                  at::TensorOptions(inputs_.type), format(inputs_));
    const auto* in = images.const_data_ptr<uint8_t>();
    auto* out = static_cast<T*>(values.mutable_data_ptr());
    const int64_t plane = inputs_.channels_last ? kInterleaved : pixels;
    at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
      benches_.with([&](Bench& bench) {
        for (int64_t i = begin; i < end; ++i) {
          const uint8_t* place = in + static_cast<size_t>(i) * spec.bytes();
          normalise_pixels(sample(bench, batch, i, place), pixels, plane, out + i * pixels * 3,
                           Store::cached);
        }
      });
    });
    return values;
  }

  const uint8_t* sample(Bench& bench, const DeviceBatch& batch, int64_t i,
                        const uint8_t* place) const {
    if (inputs_.spec.frame == 0) return place;
    const int64_t size = inputs_.spec.height;
    uint8_t* pixels = bench.sample.resize(static_cast<size_t>(size * size * 3));
    try {
      bench.reader.read(place, pixels);
    } catch (const BadSample& bad) {
      throw damaged_frame(batch.host, i, bad);
    }
    return pixels;
  }

  const Inputs inputs_;
  mutable IdlePool<Bench> benches_;
};

// A batch's places, one a row.
at::Tensor places(const DeviceBatch& batch) { return batch.images.flatten(1); }

// Hands only the values of samples with a target behind them to another transform.
class BesideTarget final : public InputTransform {
 public:
  explicit BesideTarget(const Inputs& inputs) : spec_(inputs.spec) {
    Inputs values = inputs;
    values.spec.target = 0;
    inner_ = make_input_transform(values);
  }
  at::Tensor operator()(const DeviceBatch& batch) const override {
    const bool floats = spec_.type == PixelType::float32;
    DeviceBatch values = batch;
    at::Tensor rows = places(batch).narrow(1, 0, static_cast<int64_t>(spec_.value_bytes()));
    if (floats) {
      // Floats can be seen where they lie if all places begin at a multiple of their size.
      if (spec_.bytes() % sizeof(float) != 0) rows = rows.clone(at::MemoryFormat::Contiguous);
      rows = rows.view(at::kFloat);
      values.images = rows.view({rows.size(0), spec_.channels, spec_.height, spec_.width});
    } else {
      values.images = rows.view({rows.size(0), spec_.height, spec_.width, spec_.channels});
    }
    return (*inner_)(values);
  }

 private:
  const SampleSpec spec_;
  std::unique_ptr<InputTransform> inner_;
};

}  // namespace

at::Tensor targets(const DeviceBatch& batch, const SampleSpec& spec) {
  if (spec.target == 0) return batch.labels;
  const at::Tensor rows = places(batch);
  const auto begin = static_cast<int64_t>(spec.value_bytes());
  return rows.narrow(1, begin, spec.height * spec.width)
      .view({rows.size(0), spec.height, spec.width});
}

template <>
Registry<InputTransform>& Registry<InputTransform>::global() {
  static Registry registry;
  return registry;
}

std::unique_ptr<InputTransform> make_input_transform(const Inputs& inputs) {
  if (inputs.spec.target != 0) return std::make_unique<BesideTarget>(inputs);
  if (inputs.spec.type == PixelType::float32) return std::make_unique<Ready>(inputs);
  const bool colours = inputs.spec.channels == 3;
  if (inputs.device.is_cpu() && colours) return std::make_unique<OnCpu>(inputs);
  if (inputs.device.is_cuda() && colours &&
      Registry<InputTransform>::global().find("cuda_kernels")) {
    return default_component<InputTransform>("cuda_kernels").create(inputs);
  }
  if (inputs.spec.frame != 0 && !inputs.device.is_meta()) {
    throw Error(ExitCode::device,
                "device: decoder.on_device needs the plug-in stoker_cuda.so beside the program "
                "(built where a CUDA toolkit is found); without it set decoder.on_device=nothing");
  }
  return std::make_unique<Operators>(inputs);
}

}  // namespace stoker
