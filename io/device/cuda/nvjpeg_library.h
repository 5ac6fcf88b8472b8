#pragma once

#include <cstddef>

namespace stoker {

// The types of nvJPEG's C interface (nvjpeg.h) that are used here, so that neither the header nor
// the library is needed to build.
namespace nvjpeg {

using Status = int;  // an enum
inline constexpr Status kSuccess = 0;
inline constexpr int kBackendGpuHybrid = 2;
inline constexpr int kBackendHardware = 3;
inline constexpr int kOutputRgbi = 5;
struct Handle;
struct State;
struct Stream;
struct Params;
using Data = const unsigned char*;
struct Image {
  unsigned char* channel[4];
  size_t pitch[4];
};

// libnvjpeg's functions, loaded at run time and never unloaded. A value; any thread. The
// constructor throws Error(ExitCode::device), which says what to install, where the library is not
// here or lacks one of these functions.
class Library {
  // The address of a function; it becomes a pointer of whatever type it is assigned to.
  struct Symbol {
    void* address;
    template <class F>
    operator F*() const {
      return reinterpret_cast<F*>(address);
    }
  };
  // dlopen() of the first of the library's known names that is there.
  static void* open();
  // Throws where the library has no such function.
  Symbol find(const char* name) const;

  void* library_ = open();

 public:
  // Named and used as in nvjpeg.h. Whatever a *_create gives is the caller's, and goes back by the
  // *_destroy below it. One backend: handle.
  Status (*create)(int backend, void* device_allocator, void* pinned_allocator, unsigned flags,
                   Handle**) = find("nvjpegCreateEx");
  Status (*destroy)(Handle*) = find("nvjpegDestroy");
  // What one batch at a time is decoded with. It must not be destroyed, nor used for the next
  // batch, while the device still decodes.
  Status (*state_create)(Handle*, State**) = find("nvjpegJpegStateCreate");
  Status (*state_destroy)(State*) = find("nvjpegJpegStateDestroy");
  // A parsed file: headers only.
  Status (*stream_create)(Handle*, Stream**) = find("nvjpegJpegStreamCreate");
  Status (*stream_destroy)(Stream*) = find("nvjpegJpegStreamDestroy");
  Status (*parse_header)(Handle*, Data, size_t, Stream*) = find("nvjpegJpegStreamParseHeader");
  // What the output shall look like.
  Status (*params_create)(Handle*, Params**) = find("nvjpegDecodeParamsCreate");
  Status (*params_destroy)(Params*) = find("nvjpegDecodeParamsDestroy");
  Status (*set_output_format)(Params*, int) = find("nvjpegDecodeParamsSetOutputFormat");
  // Can this backend decode the parsed file? 0 in the last argument: yes.
  Status (*supported)(Handle*, Stream*, Params*, int*) = find("nvjpegDecodeBatchedSupportedEx");
  // Before each decode_batched() of another number of images.
  Status (*batch_initialize)(Handle*, State*, int batch, int cpu_threads,
                             int format) = find("nvjpegDecodeBatchedInitialize");
  // Queues the decoding on the CUDA stream. The bytes must stay until it is done.
  Status (*decode_batched)(Handle*, State*, const Data* data, const size_t* lengths,
                           Image* destinations, void* stream) = find("nvjpegDecodeBatched");
};

}  // namespace nvjpeg
}  // namespace stoker
