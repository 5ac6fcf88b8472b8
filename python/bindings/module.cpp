#include "python/bindings/module.h"

#include <stoker_version.h>

#include <exception>
#include <string_view>

#include "io/core/error.h"
#include "python/bindings/process.h"

namespace nb = nanobind;

namespace stoker::python {
namespace {

constexpr const char* kHelp =
    "Something that the caller can mend: the message names the thing, what was expected and the "
    "next "
    "action.\n\n`code` is the exit code that the program `stoker` would end with: 2 configuration, "
    "3 "
    "environment (missing file, permission, space), 4 bad samples, 5 storage or checkpoint, 6 "
    "device.";

// Lives as long as the interpreter.
PyObject* error_type = nullptr;

void raise(const Error& error) {
  // A name of a file in it may be no UTF-8.
  const std::string_view what = error.what();
  const nb::object text = nb::steal(
      PyUnicode_DecodeUTF8(what.data(), static_cast<Py_ssize_t>(what.size()), "backslashreplace"));
  if (!text.is_valid()) return;
  const nb::object made = nb::steal(PyObject_CallFunctionObjArgs(error_type, text.ptr(), nullptr));
  if (!made.is_valid()) return;
  made.attr("code") = static_cast<int>(error.code());
  PyErr_SetObject(error_type, made.ptr());
}

}  // namespace

void bind_errors(nb::module_& module) {
  error_type = PyErr_NewExceptionWithDoc("stoker.Error", kHelp, PyExc_RuntimeError, nullptr);
  if (error_type == nullptr) throw nb::python_error();
  module.attr("Error") = nb::handle(error_type);
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      raise(error);
    } catch (const BadSample& sample) {
      raise(Error(ExitCode::data, sample.what()));
    }
  });
}

}  // namespace stoker::python

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
