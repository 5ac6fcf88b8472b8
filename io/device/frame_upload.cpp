#include "io/device/frame_upload.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <cstring>
#include <utility>

#include "io/core/error.h"
#include "io/core/sample_spec.h"
#include "io/decoder/jpeg_codec.h"

namespace stoker {
namespace {

// Where pixels start: a cache line of the device, so that neighbours share none.
constexpr uint64_t kAlignment = 128;

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

const uint8_t* place(const Batch& batch, const SampleSpec& spec, int64_t i) {
  return batch.pixels.get() + static_cast<size_t>(i) * spec.bytes();
}

FrameHeader header_at(const uint8_t* frame) {
  FrameHeader header;
  std::memcpy(&header, frame, sizeof header);
  return header;
}

// What the header says once the image is decoded as it is stored.
FrameHeader decoded(FrameHeader header) {
  if (header.kind == FrameKind::pixels) return header;
  header.kind = FrameKind::pixels;
  header.reduction = 1;
  header.image_width = header.width;
  header.image_height = header.height;
  header.bytes = static_cast<uint32_t>(int64_t{header.width} * header.height * 3);
  return header;
}

void copy_bytes(const uint8_t* from, uint64_t bytes, uint64_t to, const at::Tensor& frames) {
  const auto size = static_cast<int64_t>(bytes);
  // The memory is only read; from_blob has no other form.
  const at::Tensor host =
      at::from_blob(const_cast<uint8_t*>(from), {size}, at::TensorOptions(at::kByte));
  frames.narrow(0, static_cast<int64_t>(to), size).copy_(host, true);
}

// Where the pixels of frame i start in the tensor.
uint64_t start_of(const FrameHeader& header, int64_t i) {
  return header.offset + static_cast<uint64_t>(i) * kFrameHeader;
}

}  // namespace

FrameUpload::FrameUpload(at::Device device, HostAllocator allocate,
                         std::function<std::unique_ptr<FrameDecoder>()> make_decoder)
    : device_(device), allocate_(std::move(allocate)), make_decoder_(std::move(make_decoder)) {}

FrameUpload::Started FrameUpload::start(const Batch& batch, const SampleSpec& spec,
                                        const c10::Stream& stream) {
  Started started;
  const auto count = static_cast<uint64_t>(batch.size);
  started.keep.push_back(allocate_(count * kFrameHeader));
  auto* headers = reinterpret_cast<FrameHeader*>(started.keep.front().data.get());
  uint64_t end = aligned(count * kFrameHeader);
  std::vector<int64_t> encoded;
  for (int64_t i = 0; i < batch.size; ++i) {
    const FrameHeader header = header_at(place(batch, spec, i));
    if (header.kind == FrameKind::jpeg) encoded.push_back(i);
    headers[i] = decoded(header);
    headers[i].offset = end - static_cast<uint64_t>(i) * kFrameHeader;
    end = aligned(end + headers[i].bytes);
  }
  started.frames =
      at::empty({static_cast<int64_t>(end)}, at::TensorOptions(at::kByte).device(device_));
  copy_bytes(started.keep.front().data.get(), count * kFrameHeader, 0, started.frames);
  for (int64_t i = 0; i < batch.size; ++i) {
    const uint8_t* frame = place(batch, spec, i);
    const FrameHeader header = header_at(frame);
    if (header.kind != FrameKind::pixels) continue;
    copy_bytes(frame + header.offset, header.bytes, start_of(headers[i], i), started.frames);
  }
  if (!encoded.empty()) decode(batch, encoded, spec, stream, started);
  return started;
}

void FrameUpload::decode(const Batch& batch, const std::vector<int64_t>& encoded,
                         const SampleSpec& spec, const c10::Stream& stream, Started& started) {
  if (!decoder_) decoder_ = make_decoder_();
  const auto* headers = reinterpret_cast<const FrameHeader*>(started.keep.front().data.get());
  auto* const base = static_cast<uint8_t*>(started.frames.mutable_data_ptr());
  std::vector<EncodedImage> images;
  for (const int64_t i : encoded) {
    const uint8_t* frame = place(batch, spec, i);
    const FrameHeader header = header_at(frame);
    images.push_back({Bytes(frame + header.offset, header.bytes), header.width, header.height,
                      base + start_of(headers[i], i)});
  }
  const auto refused = std::make_unique<bool[]>(images.size());
  decoder_->decode(images, stream, {refused.get(), images.size()});
  JpegCodec codec;
  for (size_t k = 0; k < images.size(); ++k) {
    if (!refused[k]) continue;
    const int64_t i = encoded[k];
    const auto& [file, width, height, to] = images[k];
    started.keep.push_back(allocate_(headers[i].bytes));
    uint8_t* pixels = started.keep.back().data.get();
    try {
      codec.decode(file, read_jpeg_header(file), width, height, pixels);
    } catch (const BadSample& bad) {
      throw damaged_frame(batch, i, bad);
    }
    copy_bytes(pixels, headers[i].bytes, start_of(headers[i], i), started.frames);
  }
}

Error damaged_frame(const Batch& batch, int64_t place, const BadSample& bad) {
  return {ExitCode::data,
          "device: sample " + std::to_string(place) + " of batch " + std::to_string(batch.index) +
              ", epoch " + std::to_string(batch.epoch) + ": " + to_string(bad.reason()) + ": " +
              bad.what() +
              " (the loader skips or names such files with decoder.on_device: resize)"};
}

template <>
Registry<FrameDecoder>& Registry<FrameDecoder>::global() {
  static Registry registry;
  return registry;
}

}  // namespace stoker
