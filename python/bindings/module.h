#pragma once

#include <nanobind/nanobind.h>

// The subjects of the module stoker._core, a file each. What Python code can do better than C++ is
// in the package (python/stoker); the module is not for users. All is called with the GIL held, and
// releases it where it waits.

namespace stoker::python {

// Error of the core becomes stoker.Error, a RuntimeError with the message as it is and `code`.
void bind_errors(nanobind::module_& module);
void bind_loader(nanobind::module_& module);
void bind_decoder(nanobind::module_& module);
void bind_checkpointer(nanobind::module_& module);
void bind_meetings(nanobind::module_& module);
void bind_sets(nanobind::module_& module);
void bind_profile(nanobind::module_& module);
void bind_tensor_load(nanobind::module_& module);
void bind_watch(nanobind::module_& module);

}  // namespace stoker::python
