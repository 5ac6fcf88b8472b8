#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>

#include "io/core/error.h"

namespace stoker {

// The message of the exception that `f` throws; a failure of the test where it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "no exception was thrown";
  return {};
}

// The exit code of the Error that `f` throws; `ok` where it throws none.
template <class F>
ExitCode code_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::ok;
}

}  // namespace stoker
