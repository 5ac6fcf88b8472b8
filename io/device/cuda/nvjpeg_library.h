#pragma once

#include <cstddef>

namespace stoker {

// The types of nvJPEG's C interface (nvjpeg.h) that are used here, so that neither the header nor
// the library is needed to build.
namespace nvjpeg_abi {

using Status = int;  // an enum
inline constexpr Status kSuccess = 0;
inline constexpr int kBackendGpuHybrid = 2;
inline constexpr int kBackendHardware = 3;
inline constexpr int kOutputRgbi = 5;
struct Handle;
struct State;
struct Stream;
struct Params;
struct Image {
  unsigned char* channel[4];
  size_t pitch[4];
};

}  // namespace nvjpeg_abi

// libnvjpeg's functions, loaded at run time and never unloaded. A value; any thread. The
// constructor throws Error(ExitCode::device), which says what to install, where the library is not
// here or lacks one of these functions.
class NvjpegLibrary {
  // The address of a function, of whatever type it is assigned to.
  struct Symbol {
    void* address;
    template <class F>
    operator F*() const {
      return reinterpret_cast<F*>(address);
    }
  };
  static void* open();
  Symbol find(const char* name) const;

  void* library_ = open();

  using Status = nvjpeg_abi::Status;
  using Handle = nvjpeg_abi::Handle;
  using State = nvjpeg_abi::State;
  using Stream = nvjpeg_abi::Stream;
  using Params = nvjpeg_abi::Params;
  using Bytes = const unsigned char*;

 public:
  Status (*create)(int backend, void* device_allocator, void* pinned_allocator, unsigned flags,
                   Handle**) = find("nvjpegCreateEx");
  Status (*destroy)(Handle*) = find("nvjpegDestroy");
  Status (*state_create)(Handle*, State**) = find("nvjpegJpegStateCreate");
  Status (*state_destroy)(State*) = find("nvjpegJpegStateDestroy");
  Status (*stream_create)(Handle*, Stream**) = find("nvjpegJpegStreamCreate");
  Status (*stream_destroy)(Stream*) = find("nvjpegJpegStreamDestroy");
  Status (*parse_header)(Handle*, Bytes, size_t, Stream*) = find("nvjpegJpegStreamParseHeader");
  Status (*params_create)(Handle*, Params**) = find("nvjpegDecodeParamsCreate");
  Status (*params_destroy)(Params*) = find("nvjpegDecodeParamsDestroy");
  Status (*set_output_format)(Params*, int) = find("nvjpegDecodeParamsSetOutputFormat");
  // Of the last parameter: 0: supported.
  Status (*supported)(Handle*, Stream*, Params*, int*) = find("nvjpegDecodeBatchedSupportedEx");
  Status (*batch_initialize)(Handle*, State*, int batch, int cpu_threads,
                             int format) = find("nvjpegDecodeBatchedInitialize");
  Status (*decode_batched)(Handle*, State*, const Bytes* data, const size_t* lengths,
                           nvjpeg_abi::Image* destinations,
                           void* stream) = find("nvjpegDecodeBatched");
};

}  // namespace stoker
