#pragma once

#include <cstddef>

namespace stoker {

// The part of the C interface of nvJPEG (nvjpeg.h) that is used here, so that neither the header
// nor the library is needed to build.
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

using CreateEx = Status(int backend, void* device_allocator, void* pinned_allocator, unsigned flags,
                        Handle**);
using Destroy = Status(Handle*);
using StateCreate = Status(Handle*, State**);
using StateDestroy = Status(State*);
using StreamCreate = Status(Handle*, Stream**);
using StreamDestroy = Status(Stream*);
using StreamParseHeader = Status(Handle*, const unsigned char*, size_t, Stream*);
using ParamsCreate = Status(Handle*, Params**);
using ParamsDestroy = Status(Params*);
using ParamsSetOutputFormat = Status(Params*, int format);
using BatchedSupportedEx = Status(Handle*, Stream*, Params*, int* is_supported);
using BatchedInitialize = Status(Handle*, State*, int batch, int cpu_threads, int format);
using DecodeBatched = Status(Handle*, State*, const unsigned char* const* data,
                             const size_t* lengths, Image* destinations, void* stream);

}  // namespace nvjpeg_abi

// libnvjpeg's functions, loaded at run time and never unloaded. A value; any thread.
struct NvjpegLibrary {
  nvjpeg_abi::CreateEx* create = nullptr;
  nvjpeg_abi::Destroy* destroy = nullptr;
  nvjpeg_abi::StateCreate* state_create = nullptr;
  nvjpeg_abi::StateDestroy* state_destroy = nullptr;
  nvjpeg_abi::StreamCreate* stream_create = nullptr;
  nvjpeg_abi::StreamDestroy* stream_destroy = nullptr;
  nvjpeg_abi::StreamParseHeader* parse_header = nullptr;
  nvjpeg_abi::ParamsCreate* params_create = nullptr;
  nvjpeg_abi::ParamsDestroy* params_destroy = nullptr;
  nvjpeg_abi::ParamsSetOutputFormat* set_output_format = nullptr;
  // 0: supported.
  nvjpeg_abi::BatchedSupportedEx* supported = nullptr;
  nvjpeg_abi::BatchedInitialize* batch_initialize = nullptr;
  nvjpeg_abi::DecodeBatched* decode_batched = nullptr;

  // Error(ExitCode::device): not here, or without one of these functions; says what to install.
  static NvjpegLibrary load();
};

}  // namespace stoker
