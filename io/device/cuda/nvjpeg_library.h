#pragma once

#include <nvjpeg.h>

namespace stoker {

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

}  // namespace stoker
