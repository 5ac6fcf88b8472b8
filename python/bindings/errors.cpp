#include <exception>

#include "io/core/error.h"
#include "python/bindings/bindings.h"

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
  const nb::object made = nb::steal(PyObject_CallFunction(error_type, "s", error.what()));
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
