#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "io/core/config/config.h"
#include "io/core/config/registry.h"
#include "io/core/error.h"

// How a class becomes an implementation of a kind of component: its part of registry.h, which is
// what to include.

namespace stoker {

// A visitor that finds what a wrapper is around: its first option that is a component of the same
// kind.
template <class T>
struct InnerFinder : FieldVisitor<InnerFinder<T>> {
  Component<T> found;
  template <class V>
  void field(const char*, const V& value, const Help&, Limits, bool) {
    if constexpr (std::is_same_v<V, Component<T>>) {
      if (!found) found = value;
    }
  }
};

// A visitor that finds what options of a component of kind T can take of a mapping.
template <class T>
class OptionTaker : public FieldVisitor<OptionTaker<T>> {
 public:
  explicit OptionTaker(const Section& section) : section_(section) {}
  template <class V>
  void field(const char* key, V& value, const Help&, Limits limits, bool) {
    if (std::is_same_v<V, Component<T>> && taken_.inner.empty()) taken_.inner = key;
    const Node* node = section_.node().find(key);
    if (node == nullptr) return;
    const std::string fallback = to_yaml(Field<V>::dump(value));
    try {
      Field<V>::read(section_.child(key, *node), value, limits);
      taken_.keys[key] = to_yaml(Field<V>::dump(value)) != fallback;
    } catch (const Error&) {  // an option of this name, but of another sort
    }
  }
  TakenOptions take() { return std::move(taken_); }

 private:
  const Section section_;
  TakenOptions taken_;
};

// The plan of a class with `struct Options` and a constructor (Options, const T::Inputs&): it keeps
// a copy of the options and builds from it, however often.
template <class T, class Class>
class OptionsPlan final : public Component<T>::Plan,
                          public registry_detail::Holder<typename Class::Options> {
 public:
  using Options = typename Class::Options;
  explicit OptionsPlan(Options options) : registry_detail::Holder<Options>{std::move(options)} {}
  std::unique_ptr<T> create(const typename T::Inputs& inputs) const override {
    return std::make_unique<Class>(this->options, inputs);
  }
  Node dump() const override { return dump_struct(this->options); }
  InfoOf<T> info() const override {
    if constexpr (requires(const Options& o) { o.info(); }) {
      return this->options.info();
    } else {
      const Component<T> within = inner();
      return within ? within.info() : InfoOf<T>{};
    }
  }
  Component<T> inner() const override {
    InnerFinder<T> finder;
    Options copy = this->options;  // visit() serves readers too and is therefore not const
    copy.visit(finder);
    return finder.found;
  }
  std::vector<std::string> same_result_keys(const std::string& prefix) const override {
    return stoker::same_result_keys(this->options, prefix);
  }
};

// Registers Class, which has `struct Options` and a constructor (Options, const T::Inputs&), by its
// construction: before main, or while a plug-in loads. It throws nothing and never unregisters, as
// plug-ins are not unloaded. `name` and `file` must be literals.
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
         [] { return describe_struct<typename Class::Options>(); },
         [](const Section& section) {
           typename Class::Options options;
           OptionTaker<T> taker(section);
           options.visit(taker);
           return taker.take();
         }});
  }
};

// At namespace scope in the implementation's .cpp, once for each name:
//   STOKER_REGISTER(Storage, "posix", PosixStorage);
#define STOKER_REGISTER(Kind, name, Class) \
  const ::stoker::Registrar<Kind, Class> register_##Class(name, __FILE__)

}  // namespace stoker
