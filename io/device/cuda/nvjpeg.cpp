#include <c10/core/Event.h>
#include <dlfcn.h>
#include <nvjpeg.h>

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/device/frame_upload.h"

namespace stoker {
namespace {

// libnvjpeg's functions, loaded at run time and never unloaded. A value; any thread. The
// constructor throws Error(ExitCode::device), which says what to install, where the library is not
// here or lacks one of these functions.
class NvjpegLibrary {
  // The address of a function; it becomes a pointer of whatever type it is assigned to.
  struct Symbol {
    void* address;
    template <class F>
    operator F*() const {
      return reinterpret_cast<F*>(address);
    }
  };
  // dlopen() of the library of the header's major version.
  static void* open();
  // Throws where the library has no such function.
  Symbol find(const char* name) const;

  void* library_ = open();

 public:
  // As nvjpeg.h has them. Whatever a *_create gives is the caller's, and goes back by the *_destroy
  // below it. One backend: handle.
  decltype(&nvjpegCreateEx) create = find("nvjpegCreateEx");
  decltype(&nvjpegDestroy) destroy = find("nvjpegDestroy");
  // How many engines for JPEG the GPU has; only of NVJPEG_BACKEND_HARDWARE.
  decltype(&nvjpegGetHardwareDecoderInfo) hardware_info = find("nvjpegGetHardwareDecoderInfo");
  // What one batch at a time is decoded with. It must not be destroyed, nor used for the next
  // batch, while the device still decodes.
  decltype(&nvjpegJpegStateCreate) state_create = find("nvjpegJpegStateCreate");
  decltype(&nvjpegJpegStateDestroy) state_destroy = find("nvjpegJpegStateDestroy");
  // A parsed file: headers only.
  decltype(&nvjpegJpegStreamCreate) stream_create = find("nvjpegJpegStreamCreate");
  decltype(&nvjpegJpegStreamDestroy) stream_destroy = find("nvjpegJpegStreamDestroy");
  decltype(&nvjpegJpegStreamParseHeader) parse_header = find("nvjpegJpegStreamParseHeader");
  // What the output shall look like.
  decltype(&nvjpegDecodeParamsCreate) params_create = find("nvjpegDecodeParamsCreate");
  decltype(&nvjpegDecodeParamsDestroy) params_destroy = find("nvjpegDecodeParamsDestroy");
  decltype(&nvjpegDecodeParamsSetOutputFormat) set_output_format =
      find("nvjpegDecodeParamsSetOutputFormat");
  // Can this backend decode the parsed file? 0 in the last argument: yes.
  decltype(&nvjpegDecodeBatchedSupportedEx) supported = find("nvjpegDecodeBatchedSupportedEx");
  // Before each decode_batched() of another number of images.
  decltype(&nvjpegDecodeBatchedInitialize) batch_initialize = find("nvjpegDecodeBatchedInitialize");
  // Queues the decoding on the CUDA stream. The bytes must stay until it is done.
  decltype(&nvjpegDecodeBatched) decode_batched = find("nvjpegDecodeBatched");
};

[[noreturn]] void fail(const std::string& what) {
  throw Error(
      ExitCode::device,
      "device: decoder.on_device: decode: " + what +
          "; install libnvjpeg (pip's nvidia-nvjpeg, or the CUDA toolkit's) where the loader "
          "finds it (LD_LIBRARY_PATH), or set decoder.on_device=resize");
}

void* NvjpegLibrary::open() {
  const std::string name = "libnvjpeg.so." + std::to_string(NVJPEG_VER_MAJOR);
  if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  fail(std::string("nvJPEG could not be loaded (") + dlerror() + ")");
}

NvjpegLibrary::Symbol NvjpegLibrary::find(const char* name) const {
  void* const address = dlsym(library_, name);
  if (address == nullptr) fail(std::string("this libnvjpeg has no ") + name);
  return {address};
}

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

// One backend with two states that take turns, so that the batch before this one may still be
// decoded from the first while the second is filled.
class Backend {
 public:
  // ordered: its work waits for what is queued on the stream before it.
  Backend(const NvjpegLibrary& library, Owned<nvjpegHandle_t> handle, bool ordered)
      : library_(library),
        ordered_(ordered),
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

  bool supports(Bytes file) {
    int unsupported = 1;
    return library_.parse_header(handle_.get(), file.data(), file.size(), stream_.get()) ==
               NVJPEG_STATUS_SUCCESS &&
           library_.supported(handle_.get(), stream_.get(), params_.get(), &unsupported) ==
               NVJPEG_STATUS_SUCCESS &&
           unsupported == 0;
  }

  // How many there are.
  std::string engines() const {
    unsigned engines = 0, cores = 0;
    check(library_.hardware_info(handle_.get(), &engines, &cores), "counting its engines");
    return std::to_string(engines);
  }

  // False: the library refused the batch.
  bool decode(const std::vector<const EncodedImage*>& images, const c10::Stream& stream) {
    if (images.empty()) return true;
    Turn& turn = turns_[next_++ % turns_.size()];
    wait(turn);
    if (!ordered_) stream.synchronize();
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

 private:
  struct Turn {
    Owned<nvjpegJpegState_t> state;
    c10::Event done;
    bool used;
  };
  static void wait(Turn& turn) {
    if (std::exchange(turn.used, false)) turn.done.synchronize();
  }

  const NvjpegLibrary& library_;
  const bool ordered_;
  const Owned<nvjpegHandle_t> handle_;
  const Owned<nvjpegJpegStream_t> stream_;
  const Owned<nvjpegDecodeParams_t> params_;
  std::vector<Turn> turns_;
  size_t next_ = 0;
};

// The decoding engines of the GPU where it has them, its cores for what they refuse.
class Nvjpeg final : public FrameDecoder {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  Nvjpeg(Options, const Inputs&) {
    engines_ = open(NVJPEG_BACKEND_HARDWARE);
    if (!open(NVJPEG_BACKEND_GPU_HYBRID)) {
      throw Error(ExitCode::device,
                  "device: nvJPEG does not work on this GPU; set decoder.on_device=resize");
    }
  }

  std::string description() const override {
    if (!engines_) {
      return "by the GPU's cores: it has no JPEG engines, or a container may not use them "
             "(NVIDIA_DRIVER_CAPABILITIES needs video)";
    }
    return "by the GPU's " + backends_.front()->engines() +
           " JPEG engines, and by its cores what these refuse";
  }

  // Asking for each image costs as much time as decoding it, so that the engines are asked only
  // where they refuse the whole.
  void decode(std::span<const EncodedImage> images, const c10::Stream& stream,
              std::span<bool> refused) override {
    if (engines_) {
      std::vector<const EncodedImage*> all;
      for (const EncodedImage& image : images) all.push_back(&image);
      if (backends_.front()->decode(all, stream)) return;
    }
    std::vector<std::vector<const EncodedImage*>> groups(backends_.size());
    for (size_t i = 0; i < images.size(); ++i) {
      const auto able = std::ranges::find_if(
          backends_, [&](const auto& backend) { return backend->supports(images[i].file); });
      if (able == backends_.end()) {
        refused[i] = true;
      } else {
        groups[static_cast<size_t>(able - backends_.begin())].push_back(&images[i]);
      }
    }
    for (size_t i = 0; i < groups.size(); ++i) {
      if (backends_[i]->decode(groups[i], stream)) continue;
      for (const EncodedImage* image : groups[i]) {
        refused[static_cast<size_t>(image - images.data())] = true;
      }
    }
  }

 private:
  // False: this GPU has no such thing.
  bool open(nvjpegBackend_t backend) {
    nvjpegHandle_t handle = nullptr;
    if (library_.create(backend, nullptr, nullptr, 0, &handle) != NVJPEG_STATUS_SUCCESS)
      return false;
    Owned<nvjpegHandle_t> owned(handle, library_.destroy);
    // The engines do not wait for the stream: on an H100 they write while work that was queued
    // before still reads (pytorch/vision pull request 9606).
    const bool ordered = backend != NVJPEG_BACKEND_HARDWARE;
    backends_.push_back(std::make_unique<Backend>(library_, std::move(owned), ordered));
    return true;
  }

  const NvjpegLibrary library_;
  std::vector<std::unique_ptr<Backend>> backends_;  // in the order in which they are asked
  bool engines_ = false;                            // the first backend is the engines
};

STOKER_REGISTER(FrameDecoder, "nvjpeg", Nvjpeg);

}  // namespace
}  // namespace stoker
