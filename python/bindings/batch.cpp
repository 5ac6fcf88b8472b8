#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "io/core/digest.h"
#include "python/bindings/arrays.h"
#include "python/bindings/loader.h"

namespace nb = nanobind;

namespace stoker::python {
namespace {

// [N, H, W, C] of uint8 or [N, C, H, W] of float32. Where a map follows each sample, places are
// further apart than samples are large.
nb::object images(const BatchHandle& self) {
  const SampleSpec& spec = self.spec;
  const auto count = static_cast<size_t>(self.batch.size);
  const auto height = static_cast<size_t>(spec.height), width = static_cast<size_t>(spec.width),
             channels = static_cast<size_t>(spec.channels);
  const bool planes = spec.type == PixelType::float32;
  const size_t value = planes ? sizeof(float) : 1;
  const std::vector<size_t> shape = planes ? std::vector{count, channels, height, width}
                                           : std::vector{count, height, width, channels};
  std::vector<int64_t> strides(4, 1);
  for (size_t i = 3; i > 1; --i) strides[i - 1] = strides[i] * static_cast<int64_t>(shape[i]);
  strides[0] = static_cast<int64_t>(spec.bytes() / value);
  return array_of(self.batch.pixels, self.batch.pixels.get(),
                  planes ? ArrayType::float32 : ArrayType::uint8, shape, strides);
}

// [N, H, W] of uint8, or None.
nb::object targets(const BatchHandle& self) {
  const SampleSpec& spec = self.spec;
  if (spec.target == 0) return nb::none();
  return array_of(self.batch.pixels, self.batch.pixels.get() + spec.value_bytes(), ArrayType::uint8,
                  {static_cast<size_t>(self.batch.size), static_cast<size_t>(spec.height),
                   static_cast<size_t>(spec.width)},
                  {static_cast<int64_t>(spec.bytes()), spec.width, 1});
}

nb::object labels(const BatchHandle& self) {
  return array_of(self.batch.labels, self.batch.labels->data(), ArrayType::int64,
                  {self.batch.labels->size()});
}

nb::list skipped(const BatchHandle& self) {
  nb::list rows;
  for (const SkippedSample& sample : self.batch.skipped) {
    rows.append(
        nb::make_tuple(sample.key, to_string(sample.reason), sample.message, sample.replaced_by));
  }
  return rows;
}

nb::list tolerated(const BatchHandle& self) {
  nb::list rows;
  for (const ToleratedSample& sample : self.batch.tolerated) {
    rows.append(nb::make_tuple(sample.key, sample.message));
  }
  return rows;
}

}  // namespace

void bind_batch(nb::module_& module) {
  nb::class_<BatchHandle>(module, "Batch")
      .def_prop_ro("images", images)
      .def_prop_ro("targets", targets)
      .def_prop_ro("labels", labels)
      .def_prop_ro("skipped", skipped)
      .def_prop_ro("tolerated", tolerated)
      .def_prop_ro("epoch", [](const BatchHandle& self) { return self.batch.epoch; })
      .def_prop_ro("index", [](const BatchHandle& self) { return self.batch.index; })
      .def_prop_ro("size", [](const BatchHandle& self) { return self.batch.size; })
      .def_prop_ro("whole", [](const BatchHandle& self) { return self.batch.whole; })
      .def_prop_ro("filler", [](const BatchHandle& self) { return self.batch.filler; })
      .def_prop_ro("digests",
                   [](const BatchHandle& self) {
                     return nb::bytes(self.batch.digests.data(), self.batch.digests.size());
                   })
      .def_prop_ro("digest",
                   [](const BatchHandle& self) {
                     return self.batch.digests.empty() ? "" : xxh3_128(self.batch.digests);
                   })
      .def_prop_ro("read_s",
                   [](const BatchHandle& self) {
                     return 1e-9 * static_cast<double>(self.batch.cost.read_ns);
                   })
      .def_prop_ro("decode_s",
                   [](const BatchHandle& self) {
                     return 1e-9 * static_cast<double>(self.batch.cost.decode_ns);
                   })
      .def_prop_ro("bytes_read",
                   [](const BatchHandle& self) { return self.batch.cost.bytes_read; });
  // Batch.digest of Batch.digests.
  module.def("digest", [](const nb::bytes& digests) {
    return xxh3_128({static_cast<const char*>(digests.data()), digests.size()});
  });
}

}  // namespace stoker::python
