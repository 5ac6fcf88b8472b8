#include "app/experiment/kinds.h"

#include "app/experiment/options.h"

namespace stoker {
namespace {

template <class T>
std::vector<FieldHelp> describe(const std::string& type) {
  const auto* entry = Registry<T>::global().find(type);
  if (entry == nullptr) {
    throw Error(ExitCode::config, std::string("unknown ") + T::kKind + " '" + type + "'" +
                                      suggestion(type, Registry<T>::global().names()));
  }
  return entry->describe();
}

template <class T>
Kind kind() {
  return {T::kKind, Registry<T>::global().names(), describe<T>};
}

}  // namespace

std::vector<Kind> kinds() {
  return {kind<Storage>(),      kind<Dataset>(),    kind<Decoder>(),   kind<Loader>(),
          kind<Device>(),       kind<Model>(),      kind<Optimizer>(), kind<Schedule>(),
          kind<Checkpointer>(), kind<MetricsSink>()};
}

Kind find_kind(const std::string& name) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  throw Error(ExitCode::config, "unknown kind '" + name + "'" + suggestion(name, names));
}

}  // namespace stoker
