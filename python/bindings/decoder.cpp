#include "io/decoder/decoder.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <utility>

#include "io/core/threads.h"
#include "python/bindings/arrays.h"
#include "python/bindings/configuration.h"
#include "python/bindings/module.h"
#include "python/bindings/process.h"

namespace nb = nanobind;

namespace stoker::python {
namespace {

// The bytes of an object that has the buffer protocol, while it lives. With the GIL held.
class BufferView {
 public:
  explicit BufferView(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~BufferView() { PyBuffer_Release(&view_); }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  Bytes bytes() const {
    return {static_cast<const uint8_t*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

// stoker._core.Decoder: a decoder, with as many sessions as threads use it at once.
class DecoderHandle {
 public:
  explicit DecoderHandle(nb::handle options)
      : decoder_(make(options)), sessions_([this] { return decoder_->open(); }) {}

  nb::object decode(nb::handle encoded) {
    const SampleSpec spec = decoder_->spec();
    const BufferView view(encoded);
    HostMemory memory;
    {
      const Released without;
      memory = allocate_huge(spec.bytes(), false);
      sessions_.with([&](std::unique_ptr<DecoderSession>& session) {
        session->decode(view.bytes(), {}, memory.data.get());
      });
    }
    const auto height = static_cast<size_t>(spec.height), width = static_cast<size_t>(spec.width),
               channels = static_cast<size_t>(spec.channels);
    const bool planes = spec.type == PixelType::float32;
    uint8_t* const pixels = memory.data.get();
    return array_of(
        std::move(memory.data), pixels, planes ? ArrayType::float32 : ArrayType::uint8,
        planes ? std::vector{channels, height, width} : std::vector{height, width, channels});
  }

 private:
  static std::unique_ptr<Decoder> make(nb::handle options) {
    const auto decoder = parse_component<Decoder>(configuration(options));
    require_pixels(decoder.info());
    return decoder.create({});
  }

  const std::unique_ptr<Decoder> decoder_;
  IdlePool<std::unique_ptr<DecoderSession>> sessions_;
};

}  // namespace

void bind_decoder(nb::module_& module) {
  nb::class_<DecoderHandle>(module, "Decoder")
      .def(nb::init<nb::handle>(), nb::arg("options"))
      .def("decode", &DecoderHandle::decode, nb::arg("encoded"));
}

}  // namespace stoker::python
