#include <nanobind/nanobind.h>
#include <stoker_version.h>

namespace nb = nanobind;

NB_MODULE(_core, module) { module.attr("__version__") = STOKER_VERSION; }
