#pragma once

#include <string>
#include <vector>

#include "io/core/config/registry.h"

namespace stoker {

// A kind of component with what is registered for it by now, as `stoker list` and `stoker describe`
// show it. A value.
struct ComponentKind {
  std::string name;
  std::vector<std::string> types;
  // The options that have a meaning for a type. Error(ExitCode::config): it is unknown.
  std::vector<FieldHelp> (*describe)(const std::string& type);
  // The path of the plug-in that has a type; empty: none.
  std::string (*plugin)(const std::string& type);
};

template <class T>
ComponentKind component_kind() {
  return {T::kKind, Registry<T>::global().names(),
          [](const std::string& type) {
            std::vector<FieldHelp> rows = Registry<T>::global().need(type).describe();
            std::erase_if(rows, [](const FieldHelp& row) { return row.idle; });
            return rows;
          },
          [](const std::string& type) { return Registry<T>::global().need(type).name.plugin; }};
}

// What an experiment has beside the half that loads data. Its library fills it when it is loaded;
// until then both are null.
struct OtherHalf {
  std::vector<ComponentKind> (*kinds)() = nullptr;
  // The keys of a whole experiment file; those of its components are not among them.
  std::vector<FieldHelp> (*keys)() = nullptr;
};
OtherHalf& other_half();

}  // namespace stoker
