#include "python/bindings/configuration.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <utility>

#include "io/core/error.h"
#include "io/experiment/data_options.h"

namespace nb = nanobind;

namespace stoker::python {
namespace {

// A text of Python's, with the bytes of a file name that is no UTF-8.
std::string text_of(nb::handle text) {
  const auto bytes = nb::steal(PyUnicode_EncodeFSDefault(text.ptr()));
  if (!bytes.is_valid()) throw nb::python_error();
  const auto& held = nb::borrow<nb::bytes>(bytes);
  return {held.c_str(), held.size()};
}

Node tree(nb::handle value, const std::string& place) {
  if (value.is_none()) return {};
  if (nb::isinstance<nb::dict>(value)) {
    Node node = Node::map();
    for (const auto& [key, below] : nb::borrow<nb::dict>(value)) {
      if (!nb::isinstance<nb::str>(key)) {
        throw Error(ExitCode::config,
                    fmt::format("configuration: keys{} must be text, got {}",
                                place.empty() ? "" : " of " + place, nb::repr(key).c_str()));
      }
      auto name = text_of(key);
      Node child = tree(below, place.empty() ? name : place + "." + name);
      node.entries.push_back({std::move(name), {}, std::move(child)});
    }
    return node;
  }
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    Node node(Node::Kind::sequence, {});
    for (const nb::handle item : value) node.items.push_back(tree(item, place));
    return node;
  }
  if (nb::isinstance<nb::bool_>(value)) return Node::text(nb::cast<bool>(value) ? "true" : "false");
  if (nb::isinstance<nb::int_>(value) || nb::isinstance<nb::float_>(value)) {
    return Node::text(nb::str(value).c_str());
  }
  if (nb::isinstance<nb::str>(value)) return {Node::Kind::scalar, {}, text_of(value), true};
  if (nb::isinstance<nb::bytes>(value)) {
    const auto& path = nb::borrow<nb::bytes>(value);
    return {Node::Kind::scalar, {}, std::string(path.c_str(), path.size()), true};
  }
  // A number of NumPy's or PyTorch's becomes Python's own.
  if (nb::hasattr(value, "item") && nb::hasattr(value, "shape") &&
      nb::len(nb::object(value.attr("shape"))) == 0) {
    return tree(value.attr("item")(), place);
  }
  if (nb::hasattr(value, "__fspath__")) return tree(value.attr("__fspath__")(), place);
  throw Error(ExitCode::config, fmt::format("configuration: {} must be what YAML has, got {}",
                                            place, nb::repr(value).c_str()));
}

}  // namespace

Node configuration(nb::handle source) {
  if (nb::isinstance<nb::str>(source)) return load_experiment(text_of(source));
  if (nb::isinstance<nb::dict>(source)) return tree(source, "");
  throw Error(ExitCode::config, "the configuration must be the path of a YAML file, or a dict");
}

void require_pixels(const DecoderInfo& decoder) {
  if (!decoder.frames) return;
  throw Error(ExitCode::config,
              "decoder: work is left to a device (on_device), and Python gets whole pixels: set "
              "decoder.on_device=nothing");
}

}  // namespace stoker::python
