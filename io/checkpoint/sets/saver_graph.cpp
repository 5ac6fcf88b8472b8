#include "io/checkpoint/sets/saver_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "io/checkpoint/sets/tensor_bundle.h"
#include "io/core/wire/protobuf.h"

// The messages' fields have their numbers from TensorFlow's .proto files, by these names:
// MetaGraphDef, SaverDef, CollectionDef, VariableDef, GraphDef, NodeDef, AttrValue, TensorProto.
// The graph:
//
//   variables          VariableV2, one for each tensor
//   save/Const         the set's prefix, which a Saver replaces
//   save/RestoreV2 ──> save/Assign_i ──> save/restore_all
//   save/SaveV2    ──> save/control_dependency

namespace stoker {
namespace {

constexpr uint64_t kString = 7;     // DT_STRING
constexpr uint64_t kProducer = 26;  // of a graph: TensorFlow 1.10, which the study of 2018 used
constexpr uint64_t kSaverV2 = 2;

bool may_be_node(std::string_view name) {
  const auto alphanumeric = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto allowed = [&](char c) {
    return alphanumeric(c) || std::string_view("._/\\-").find(c) != std::string_view::npos;
  };
  return !name.empty() && (alphanumeric(name[0]) || name[0] == '.') &&
         std::ranges::all_of(name, allowed) && !name.starts_with("save/") &&
         !name.starts_with("tensor_");
}

// An attribute of a node, from a field of AttrValue.
std::string attribute(std::string_view name, const std::string& value) {
  return wire_bytes(5, wire_bytes(1, name) + wire_bytes(2, value));
}

std::string type_attribute(std::string_view name, uint64_t type) {
  return attribute(name, wire_number(6, WireType::varint, type));
}

std::string types_attribute(const std::vector<uint64_t>& types) {
  std::string list;
  for (const uint64_t type : types) list += wire_number(6, WireType::varint, type);
  return attribute("dtypes", wire_bytes(1, list));
}

// A node of a GraphDef.
std::string node(std::string_view name, std::string_view op, const std::vector<std::string>& inputs,
                 const std::string& attributes) {
  std::string message = wire_bytes(1, name) + wire_bytes(2, op);
  for (const std::string& input : inputs) message += wire_bytes(3, input);
  return wire_bytes(1, message + attributes);
}

// A constant of texts; without a shape: a scalar.
std::string constant(std::string_view name, const std::vector<std::string>& texts,
                     const std::vector<int64_t>& shape) {
  std::string tensor =
      wire_number(1, WireType::varint, kString) + wire_bytes(2, shape_proto(shape));
  for (const std::string& text : texts) tensor += wire_bytes(8, text);
  return node(name, "Const", {},
              type_attribute("dtype", kString) + attribute("value", wire_bytes(8, tensor)));
}

struct Variable {
  std::string name;
  uint64_t type;
  std::string assign;  // the node that restores it
};

std::string variable_node(const Variable& variable, const std::vector<int64_t>& shape) {
  const std::string nothing = wire_bytes(2, "");
  return node(variable.name, "VariableV2", {},
              type_attribute("dtype", variable.type) +
                  attribute("shape", wire_bytes(7, shape_proto(shape))) +
                  attribute("container", nothing) + attribute("shared_name", nothing));
}

// The part of the graph that saves and restores.
std::string saver_nodes(const std::vector<Variable>& variables,
                        const std::vector<std::string>& tensors) {
  const auto count = static_cast<int64_t>(variables.size());
  const std::string yes = wire_number(5, WireType::varint, 1);
  std::vector<uint64_t> types;
  std::vector<std::string> saved = {"save/Const", "save/tensor_names", "save/shape_and_slices"};
  const std::vector<std::string> restored = saved;
  std::vector<std::string> assigned;
  std::string assigns;
  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable& variable = variables[i];
    types.push_back(variable.type);
    saved.push_back(variable.name);
    assigned.push_back("^" + variable.assign);
    assigns += node(variable.assign, "Assign", {variable.name, fmt::format("save/RestoreV2:{}", i)},
                    type_attribute("T", variable.type) + attribute("use_locking", yes) +
                        attribute("validate_shape", yes));
  }
  const std::vector<std::string> slices(tensors.size());
  return constant("save/Const", {kBundlePrefix}, {}) +
         constant("save/tensor_names", tensors, {count}) +
         constant("save/shape_and_slices", slices, {count}) +
         node("save/RestoreV2", "RestoreV2", restored, types_attribute(types)) + assigns +
         node("save/restore_all", "NoOp", assigned, "") +
         node("save/SaveV2", "SaveV2", saved, types_attribute(types)) +
         node("save/control_dependency", "Identity", {"save/Const", "^save/SaveV2"},
              type_attribute("T", kString));
}

std::string saver_def() {
  return wire_bytes(1, "save/Const:0") + wire_bytes(2, "save/control_dependency:0") +
         wire_bytes(3, "save/restore_all") + wire_number(4, WireType::varint, 5) +
         wire_number(7, WireType::varint, kSaverV2);
}

// The collection "variables": what global_variables() lists.
std::string variables_collection(const std::vector<Variable>& variables) {
  std::string list;
  for (const Variable& variable : variables) {
    const std::string tensor = variable.name + ":0";
    list += wire_bytes(
        1, wire_bytes(1, tensor) + wire_bytes(2, variable.assign) + wire_bytes(3, tensor));
  }
  return wire_bytes(4, wire_bytes(1, "variables") + wire_bytes(2, wire_bytes(2, list)));
}

}  // namespace

std::string meta_graph(const SetLayout& layout) {
  std::vector<Variable> variables;
  std::vector<std::string> names;
  std::string nodes;
  for (const TensorInfo& tensor : layout.tensors) {
    const size_t i = variables.size();
    variables.push_back({may_be_node(tensor.name) ? tensor.name : fmt::format("tensor_{}", i),
                         bundle_dtype(tensor.dtype), fmt::format("save/Assign_{}", i)});
    names.push_back(tensor.name);
    nodes += variable_node(variables.back(), tensor.shape);
  }
  if (!variables.empty()) nodes += saver_nodes(variables, names);
  const std::string versions = wire_bytes(4, wire_number(1, WireType::varint, kProducer));
  return wire_bytes(2, nodes + versions) + wire_bytes(3, saver_def()) +
         variables_collection(variables);
}

}  // namespace stoker
