#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/core/config.h"

namespace stoker {

// A component that was read from a configuration and not built yet: a type name and its options,
// already checked. A value; immutable; any thread. `check` reads a whole experiment in this form
// without touching any data.
template <class T>
class Component {
 public:
  class Plan {
   public:
    virtual ~Plan() = default;
    virtual std::unique_ptr<T> create(const typename T::Inputs& inputs) const = 0;
    virtual Node dump() const = 0;
  };
  Component() = default;
  Component(std::string type, std::shared_ptr<const Plan> plan)
      : type_(std::move(type)), plan_(std::move(plan)) {}

  explicit operator bool() const { return plan_ != nullptr; }
  const std::string& type() const { return type_; }
  std::unique_ptr<T> create(const typename T::Inputs& inputs) const {
    return plan_->create(inputs);
  }
  // {type: ..., every option with its value}
  Node dump() const;

 private:
  std::string type_;
  std::shared_ptr<const Plan> plan_;
};

namespace registry_detail {

struct Name {
  std::string name;
  std::string file;
};
// The parts of Registry<T> that do not depend on T. `clash` holds the first double registration.
std::string describe_clash(const char* kind, const Name& first, const std::string& second_file);
// Reads `type:` of a section, or fails with suggestions.
std::string read_type(const Section& section, const char* kind,
                      const std::vector<std::string>& known);
[[noreturn]] void fail_clash(const std::string& clash);

}  // namespace registry_detail

// The implementations of T by name. Filled before main and by load_plugin, read afterwards; not for
// concurrent use while a plug-in loads. Each kind defines global() once, in its own .cpp, so that
// program and plug-ins share one.
template <class T>
class Registry {
 public:
  struct Entry {
    registry_detail::Name name;
    std::function<Component<T>(const Section&)> parse;
    std::function<std::vector<FieldHelp>()> describe;
  };

  static Registry& global();

  // Never throws: it runs before main. A second registration of a name is remembered and reported
  // by the next parse().
  void add(Entry entry);
  // Error(ExitCode::config) for an unknown type, an unknown key, a bad value.
  Component<T> parse(const Section& section) const;
  std::vector<std::string> names() const;  // sorted
  // Null: unknown.
  const Entry* find(const std::string& name) const;

 private:
  std::vector<Entry> entries_;
  std::string clash_;
};

// A field whose value is a component of its own: {type: ..., ...}.
template <class T>
struct Field<Component<T>> {
  static void read(const Section& at, Component<T>& out, Limits) {
    out = Registry<T>::global().parse(at);
  }
  static Node dump(const Component<T>& value) { return value ? value.dump() : Node{}; }
  static std::string type() { return std::string("{type: <") + T::kKind + ">, ...}"; }
};

// A component with all defaults; `type` must be registered and have no required option.
template <class T>
Component<T> default_component(const std::string& type) {
  Node node = Node::map();
  node.entries.push_back({"type", {}, Node::text(type)});
  return Registry<T>::global().parse(Section(node, "", T::kKind, nullptr));
}

template <class T, class Class>
class OptionsPlan final : public Component<T>::Plan {
 public:
  explicit OptionsPlan(typename Class::Options options) : options_(std::move(options)) {}
  std::unique_ptr<T> create(const typename T::Inputs& inputs) const override {
    return std::make_unique<Class>(options_, inputs);
  }
  Node dump() const override { return dump_struct(options_); }

 private:
  typename Class::Options options_;
};

// Registers Class, which has `struct Options` and a constructor (Options, const T::Inputs&).
template <class T, class Class>
class Registrar {
 public:
  Registrar(const char* name, const char* file) {
    Registry<T>::global().add(
        {{name, file},
         [type = std::string(name)](const Section& section) {
           typename Class::Options options;
           read_struct(section, options, {"type"});
           return Component<T>(type, std::make_shared<OptionsPlan<T, Class>>(std::move(options)));
         },
         [] {
           typename Class::Options options;
           FieldDescriber describer;
           options.visit(describer);
           return describer.take();
         }});
  }
};

// At namespace scope in the implementation's .cpp: STOKER_REGISTER(Storage, "posix", PosixStorage);
#define STOKER_REGISTER(Kind, name, Class) \
  const ::stoker::Registrar<Kind, Class> register_##Class(name, __FILE__)

template <class T>
Node Component<T>::dump() const {
  Node node = Node::map();
  node.entries.push_back({"type", {}, Node::text(type_)});
  Node options = plan_->dump();
  for (Node::Entry& entry : options.entries) node.entries.push_back(std::move(entry));
  return node;
}

template <class T>
void Registry<T>::add(Entry entry) {
  if (const Entry* first = find(entry.name.name)) {
    if (clash_.empty()) {
      clash_ = registry_detail::describe_clash(T::kKind, first->name, entry.name.file);
    }
    return;
  }
  entries_.push_back(std::move(entry));
}

template <class T>
Component<T> Registry<T>::parse(const Section& section) const {
  if (!clash_.empty()) registry_detail::fail_clash(clash_);
  return find(registry_detail::read_type(section, T::kKind, names()))->parse(section);
}

template <class T>
std::vector<std::string> Registry<T>::names() const {
  std::vector<std::string> result;
  for (const Entry& entry : entries_) result.push_back(entry.name.name);
  std::sort(result.begin(), result.end());
  return result;
}

template <class T>
auto Registry<T>::find(const std::string& name) const -> const Entry* {
  for (const Entry& entry : entries_) {
    if (entry.name.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace stoker
