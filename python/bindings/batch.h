#pragma once

#include <nanobind/nanobind.h>

#include "io/core/batch.h"
#include "io/core/sample_spec.h"

namespace stoker::python {

// stoker._core.Batch: a batch with the shape of its samples.
struct BatchHandle {
  Batch batch;
  SampleSpec spec;
};

void bind_batch(nanobind::module_& module);

}  // namespace stoker::python
