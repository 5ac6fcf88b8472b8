#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/device/cuda/nvjpeg_library.h"
#include "io/device/frame_decoder.h"

namespace stoker {
namespace {

void check(nvjpegStatus_t status, const char* what) {
  if (status == NVJPEG_STATUS_SUCCESS) return;
  throw Error(ExitCode::device, std::string("device: nvJPEG: ") + what + " failed (status " +
                                    std::to_string(status) + "); set decoder.on_device=resize");
}

// nvJPEG's types are pointers to what nobody may see.
template <class T>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, nvjpegStatus_t (*)(T)>;

template <class T>
Owned<T> made(nvjpegHandle_t handle, nvjpegStatus_t (*create)(nvjpegHandle_t, T*),
              nvjpegStatus_t (*destroy)(T), const char* what) {
  T object = nullptr;
  check(create(handle, &object), what);
  return {object, destroy};
}

using Images = std::vector<const EncodedImage*>;

// One backend with two states that take turns, so that the batch before this one may still be
// decoded from the first while the second is filled. One thread at a time.
class Backend {
 public:
  Backend(const NvjpegLibrary& library, Owned<nvjpegHandle_t> handle)
      : library_(library),
        handle_(std::move(handle)),
        stream_(
            made(handle_.get(), library.stream_create, library.stream_destroy, "making a parser")),
        params_(made(handle_.get(), library.params_create, library.params_destroy,
                     "making its parameters")) {
    check(library_.set_output_format(params_.get(), NVJPEG_OUTPUT_RGBI), "asking for RGB");
    for (int i = 0; i < 2; ++i) {
      turns_.push_back(
          {made(handle_.get(), library.state_create, library.state_destroy, "making a state"),
           c10::Event(c10::DeviceType::CUDA), false});
    }
  }
  ~Backend() {
    for (Turn& turn : turns_) wait(turn);
  }
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // How many engines the GPU has.
  std::string engines() const {
    unsigned engines = 0, cores = 0;
    check(library_.hardware_info(handle_.get(), &engines, &cores), "counting its engines");
    return std::to_string(engines);
  }

  // Queues the decoding on the stream, and returns the images that this backend cannot decode.
  // Asking for each image takes as long as decoding it. So they are asked for only where the
  // library refuses them together.
  Images decode(const Images& images, const c10::Stream& stream) {
    if (decode_all(images, stream)) return {};
    Images able, unable;
    for (const EncodedImage* image : images) {
      (supports(image->file) ? able : unable).push_back(image);
    }
    return decode_all(able, stream) ? unable : images;
  }

 private:
  struct Turn {
    Owned<nvjpegJpegState_t> state;
    c10::Event done;
    bool used;
  };

  static void wait(Turn& turn) {
    if (std::exchange(turn.used, false)) turn.done.synchronize();
  }

  bool supports(Bytes file) {
    int unsupported = 1;
    return library_.parse_header(handle_.get(), file.data(), file.size(), stream_.get()) ==
               NVJPEG_STATUS_SUCCESS &&
           library_.supported(handle_.get(), stream_.get(), params_.get(), &unsupported) ==
               NVJPEG_STATUS_SUCCESS &&
           unsupported == 0;
  }

  // False: the library refused the batch.
  bool decode_all(const Images& images, const c10::Stream& stream) {
    if (images.empty()) return true;
    Turn& turn = turns_[next_++ % turns_.size()];
    wait(turn);
    std::vector<const unsigned char*> data;
    std::vector<size_t> lengths;
    std::vector<nvjpegImage_t> destinations;
    for (const EncodedImage* image : images) {
      data.push_back(image->file.data());
      lengths.push_back(image->file.size());
      destinations.push_back({{image->to}, {static_cast<size_t>(image->width) * 3}});
    }
    const auto count = static_cast<int>(images.size());
    if (library_.batch_initialize(handle_.get(), turn.state.get(), count, 1, NVJPEG_OUTPUT_RGBI) !=
        NVJPEG_STATUS_SUCCESS) {
      return false;
    }
    const nvjpegStatus_t status = library_.decode_batched(
        handle_.get(), turn.state.get(), data.data(), lengths.data(), destinations.data(),
        static_cast<cudaStream_t>(stream.native_handle()));
    turn.done.record(stream);
    turn.used = true;
    return status == NVJPEG_STATUS_SUCCESS;
  }

  const NvjpegLibrary& library_;
  const Owned<nvjpegHandle_t> handle_;
  const Owned<nvjpegJpegStream_t> stream_;
  const Owned<nvjpegDecodeParams_t> params_;
  std::vector<Turn> turns_;
  size_t next_ = 0;
};

// The decoding engines of the GPU where it has them, its cores for what they refuse.
//
//     stream    waits ......................... for each lane ──> cores: what the engines refuse
//     lane 0    images 0, 4, 8, ...  ──> engines ──┘
//     lane 1    images 1, 5, 9, ...  ──> engines ──┘
//
// Each lane has a thread while it submits, for the library parses and waits in the call: one such
// thread leaves engines idle.
class Nvjpeg final : public FrameDecoder {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  Nvjpeg(Options, const Inputs&) {
    while (lanes_.size() < kLanes) {
      auto engines = open(NVJPEG_BACKEND_HARDWARE);
      if (!engines) break;
      lanes_.push_back({std::move(engines), std::nullopt});
    }
    cores_ = open(NVJPEG_BACKEND_GPU_HYBRID);
    if (!cores_) {
      throw Error(ExitCode::device,
                  "device: nvJPEG does not work on this GPU; set decoder.on_device=resize");
    }
  }

  std::string description() const override {
    if (lanes_.empty()) {
      return "by the GPU's cores: it has no JPEG engines, or a container may not use them "
             "(NVIDIA_DRIVER_CAPABILITIES needs video)";
    }
    return "by the GPU's " + lanes_.front().engines->engines() +
           " JPEG engines, and by its cores what these cannot";
  }

  void decode(std::span<const EncodedImage> images, const c10::Stream& stream,
              std::span<bool> refused) override {
    Images left;
    for (const EncodedImage& image : images) left.push_back(&image);
    if (!lanes_.empty()) left = by_engines(left, stream);
    for (const EncodedImage* image : cores_->decode(left, stream)) {
      refused[static_cast<size_t>(image - images.data())] = true;
    }
  }

 private:
  static constexpr size_t kLanes = 4;

  struct Lane {
    std::unique_ptr<Backend> engines;
    std::optional<c10::Stream> stream;  // of the device of the first batch
  };

  // Returns what the engines cannot decode. They do not wait for the stream: on an H100 they write
  // while work that was queued before still reads (pytorch/vision, pull request 9606).
  Images by_engines(const Images& images, const c10::Stream& stream) {
    const c10::impl::VirtualGuardImpl guard(stream.device_type());
    stream.synchronize();
    std::vector<std::future<Images>> submitting;
    for (size_t i = 0; i < lanes_.size(); ++i) {
      Images share;
      for (size_t k = i; k < images.size(); k += lanes_.size()) share.push_back(images[k]);
      Lane& lane = lanes_[i];
      if (!lane.stream) lane.stream = guard.getStreamFromGlobalPool(stream.device(), true);
      submitting.push_back(std::async(std::launch::async, [&lane, share = std::move(share)] {
        const c10::DeviceGuard on_device(lane.stream->device());
        return lane.engines->decode(share, *lane.stream);
      }));
    }
    for (const auto& lane : submitting) lane.wait();  // none may be left behind by an error
    Images refused;
    for (size_t i = 0; i < lanes_.size(); ++i) {
      const Images of_lane = submitting[i].get();
      refused.insert(refused.end(), of_lane.begin(), of_lane.end());
      c10::Event done(stream.device_type());
      done.record(*lanes_[i].stream);
      done.block(stream);
    }
    return refused;
  }

  // Null: this GPU has no such thing.
  std::unique_ptr<Backend> open(nvjpegBackend_t backend) {
    nvjpegHandle_t handle = nullptr;
    if (library_.create(backend, nullptr, nullptr, 0, &handle) != NVJPEG_STATUS_SUCCESS)
      return nullptr;
    return std::make_unique<Backend>(library_, Owned<nvjpegHandle_t>(handle, library_.destroy));
  }

  const NvjpegLibrary library_;
  std::vector<Lane> lanes_;
  std::unique_ptr<Backend> cores_;
};

STOKER_REGISTER(FrameDecoder, "nvjpeg", Nvjpeg);

}  // namespace
}  // namespace stoker
