#include <stoker_version.h>

#include "python/bindings/bindings.h"
#include "python/bindings/released.h"

NB_MODULE(_core, module) {
  namespace python = stoker::python;
  // What a program still holds when it ends is no leak of ours.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = STOKER_VERSION;
  module.def("leave", &python::leave_interpreter,
             "For atexit: no other thread comes back from a wait.");
  python::bind_errors(module);
  python::bind_loader(module);
  python::bind_decoder(module);
  python::bind_sets(module);
  python::bind_meetings(module);
  python::bind_checkpointer(module);
  python::bind_profile(module);
  python::bind_tensor_load(module);
  python::bind_watch(module);
}
