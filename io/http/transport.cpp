#include "io/http/transport.h"

#include <cerrno>

#include "io/core/error.h"

namespace stoker {

template <>
Registry<HttpTransport>& Registry<HttpTransport>::global() {
  static Registry<HttpTransport> registry;
  return registry;
}

HttpAnswer HttpTransport::get(std::future<HttpAnswer> answer) {
  HttpAnswer got = answer.get();
  if (got.errno_value == ECANCELED) throw_if_interrupted();
  if (!got.failure.empty()) throw IoError(got.failure, got.errno_value);
  return got;
}

void load_http_transport() {
  try {
    (void)Registry<HttpTransport>::global().need("curl");
  } catch (const Error& error) {
    throw Error(ExitCode::environment, error.what());  // no configuration names it
  }
}

std::unique_ptr<HttpTransport> new_http_transport(const HttpTransport::Inputs& inputs) {
  load_http_transport();
  return default_component<HttpTransport>("curl").create(inputs);
}

}  // namespace stoker
