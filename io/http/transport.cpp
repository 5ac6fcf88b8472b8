#include "io/http/transport.h"

#include "io/core/error.h"

namespace stoker {

template <>
Registry<HttpTransport>& Registry<HttpTransport>::global() {
  static Registry<HttpTransport> registry;
  return registry;
}

HttpAnswer HttpTransport::get(std::future<HttpAnswer> answer) {
  HttpAnswer got = answer.get();
  if (!got.failure.empty()) throw IoError(got.failure, got.errno_value);
  return got;
}

std::unique_ptr<HttpTransport> new_http_transport(const HttpTransport::Inputs& inputs) {
  return default_component<HttpTransport>("curl").create(inputs);
}

}  // namespace stoker
