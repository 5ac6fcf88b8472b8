#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <type_traits>

#include "io/decoder/pixels.h"
#include "io/device/cuda/kernels.h"
#include "io/device/frame_math.h"

namespace stoker {
namespace {

constexpr int kThreads = 256;
constexpr int kTileWidth = 32;  // a warp writes neighbours
constexpr int kTileHeight = kThreads / kTileWidth;

// The constants of pixels.h, handed over by value.
struct Normal {
  float mean[3];
  float scale[3];
};

Normal normal() {
  Normal result;
  for (int c = 0; c < 3; ++c) {
    result.mean[c] = static_cast<float>(kMean[c]);
    result.scale[c] = static_cast<float>(kScale[c]);
  }
  return result;
}

__device__ void put(float value, float* out) { *out = value; }
__device__ void put(float value, __nv_bfloat16* out) { *out = __float2bfloat16_rn(value); }

// One pixel of an image whose values start at `image`.
template <class T, bool kChannelsLast>
__device__ void put_pixel(const uint8_t levels[3], const Normal& normal, int64_t pixel,
                          int64_t pixels, T* image) {
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    const float value = (static_cast<float>(levels[c]) - normal.mean[c]) * normal.scale[c];
    put(value, image + (kChannelsLast ? pixel * 3 + c : c * pixels + pixel));
  }
}

// A thread per pixel; blockIdx.y is the image.
template <class T, bool kChannelsLast>
__global__ void __launch_bounds__(kThreads)
    normalise_batch(const uint8_t* rgb, int64_t pixels, Normal normal, T* out) {
  const int64_t pixel = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pixel >= pixels) return;
  const int64_t image = blockIdx.y;
  const uint8_t* in = rgb + (image * pixels + pixel) * 3;
  const uint8_t levels[3] = {in[0], in[1], in[2]};
  put_pixel<T, kChannelsLast>(levels, normal, pixel, pixels, out + image * pixels * 3);
}

// A block per tile of a sample; blockIdx.z is the image. Its filters are made once and shared.
template <class T, bool kChannelsLast>
__global__ void __launch_bounds__(kThreads)
    resize_batch(const uint8_t* frames, int size, Normal normal, T* out) {
  __shared__ FrameTaps tile_x[kTileWidth];
  __shared__ FrameTaps tile_y[kTileHeight];
  const int64_t image = blockIdx.z;
  const uint8_t* place = frames + image * sizeof(FrameHeader);
  const FrameHeader header = *reinterpret_cast<const FrameHeader*>(place);
  const bool turned = header.transpose != 0;
  const int left = blockIdx.x * kTileWidth, top = blockIdx.y * kTileHeight;
  const int thread = threadIdx.y * kTileWidth + threadIdx.x;
  // Turned: the sample's columns are rows of the image.
  if (thread < kTileWidth) {
    const FrameAxis axis = frame_axis(header, turned, size);
    if (left + thread < size) make_taps(axis, left + thread, tile_x[thread]);
  } else if (thread < kTileWidth + kTileHeight) {
    const int row = thread - kTileWidth;
    const FrameAxis axis = frame_axis(header, !turned, size);
    if (top + row < size) make_taps(axis, top + row, tile_y[row]);
  }
  __syncthreads();
  const int x = left + threadIdx.x, y = top + threadIdx.y;
  if (x >= size || y >= size) return;
  const FrameTaps& across = turned ? tile_y[threadIdx.y] : tile_x[threadIdx.x];
  const FrameTaps& down = turned ? tile_x[threadIdx.x] : tile_y[threadIdx.y];
  uint8_t levels[3];
  make_pixel(header, place + header.offset, across, down, levels);
  const int64_t pixels = static_cast<int64_t>(size) * size;
  put_pixel<T, kChannelsLast>(levels, normal, static_cast<int64_t>(y) * size + x, pixels,
                              out + image * pixels * 3);
}

unsigned blocks(int64_t count, int per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

// Calls f(values, channels_last) with a pointer of the type asked for, and a constant.
template <class F>
const char* with_type(const ValueBatch& out, F f) {
  const auto with_order = [&](auto* values) {
    out.channels_last ? f(values, std::true_type{}) : f(values, std::false_type{});
  };
  if (out.bf16) {
    with_order(static_cast<__nv_bfloat16*>(out.data));
  } else {
    with_order(static_cast<float*>(out.data));
  }
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

// A grid's second and third dimension end here.
constexpr int64_t kMaxImages = 65535;

const char* too_many() { return "more than 65535 samples in a batch"; }

}  // namespace

const char* launch_normalise(const uint8_t* rgb, int64_t images, int64_t pixels,
                             const ValueBatch& out, void* stream) {
  if (images == 0) return nullptr;
  if (images > kMaxImages) return too_many();
  const dim3 grid(blocks(pixels, kThreads), static_cast<unsigned>(images));
  auto* const queue = static_cast<cudaStream_t>(stream);
  return with_type(out, [&](auto* values, auto last) {
    using T = std::remove_pointer_t<decltype(values)>;
    normalise_batch<T, last.value><<<grid, kThreads, 0, queue>>>(rgb, pixels, normal(), values);
  });
}

const char* launch_resize(const uint8_t* frames, int64_t images, int64_t size,
                          const ValueBatch& out, void* stream) {
  if (images == 0) return nullptr;
  if (images > kMaxImages) return too_many();
  const dim3 grid(blocks(size, kTileWidth), blocks(size, kTileHeight),
                  static_cast<unsigned>(images));
  const dim3 block(kTileWidth, kTileHeight);
  auto* const queue = static_cast<cudaStream_t>(stream);
  const int side = static_cast<int>(size);
  return with_type(out, [&](auto* values, auto last) {
    using T = std::remove_pointer_t<decltype(values)>;
    resize_batch<T, last.value><<<grid, block, 0, queue>>>(frames, side, normal(), values);
  });
}

}  // namespace stoker
