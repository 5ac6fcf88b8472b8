#include "python/bindings/configuration.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <utility>

#include "io/core/error.h"
#include "io/experiment/data_options.h"

namespace nb = nanobind;

namespace stoker::python {
namespace {

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
      auto name = nb::cast<std::string>(key);
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
  if (nb::isinstance<nb::str>(value)) {
    return {Node::Kind::scalar, {}, nb::cast<std::string>(value), true};
  }
  if (nb::hasattr(value, "__fspath__")) return tree(value.attr("__fspath__")(), place);
  throw Error(ExitCode::config, fmt::format("configuration: {} must be what YAML has, got {}",
                                            place, nb::repr(value).c_str()));
}

}  // namespace

Node configuration(nb::handle source) {
  if (nb::isinstance<nb::str>(source)) return load_experiment(nb::cast<std::string>(source));
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
