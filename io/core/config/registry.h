#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/core/config/config.h"
#include "io/core/config/plugin.h"
#include "io/core/error.h"

// Components by name. A kind of component is an abstract class T with
//
//   static constexpr const char* kKind = "storage";   // in messages
//   struct Inputs { ... };                            // what its makers pass beside the options
//   using Info = ...;                                 // optional: see InfoOf
//
// and one definition of Registry<T>::global(). An implementation is a class in one .cpp that nobody
// includes: a struct Options (config.h), a constructor (Options, const T::Inputs&), and one line,
// STOKER_REGISTER. Nothing else has to name it.

namespace stoker {

// What a type makes of a mapping of options. A value.
struct TakenOptions {
  // The options that it knows and whose values it can read, and whether they differ from the
  // defaults.
  std::map<std::string, bool> keys;
  // The option that holds the component that this one is around; empty: it is around none.
  std::string inner;
};
// By the name of a type. Absent: the type is not known.
using TakesOptions =
    std::function<std::optional<TakenOptions>(const std::string& type, const Section& options)>;

// The mapping of a section whose type overrides have changed (Node::former), as the new type is to
// read it; the other overrides are set in it in their order. An override of a type
//
// 1. takes what has that type already inside a wrapper: `posix` that stood in an `emulated` tier;
// 2. else, if the new type is a wrapper, puts it around what stood there;
// 3. else gives the new type the options that the former one had, a wrapper those of what it is
//    around. Options that the former type takes and the new one does not are dropped, and the note
//    of the context says which, but for those that have their defaults. What neither of them takes
//    is a mistake, and stays to be found.
Node retyped(const Section& section, const std::string& fallback, const TakesOptions& takes);

namespace registry_detail {

struct NoInfo {};
template <class T>
constexpr auto choose_info() {
  if constexpr (requires { typename T::Info; }) {
    return std::type_identity<typename T::Info>{};
  } else {
    return std::type_identity<NoInfo>{};
  }
}

// The options of a plan, where somebody knows their type.
template <class Options>
struct Holder {
  const Options options;
};

}  // namespace registry_detail

// T::Info: what others have to know of a T of any type before it is built. A struct of values whose
// defaults stand for what a type does not say.
template <class T>
using InfoOf = typename decltype(registry_detail::choose_info<T>())::type;

// A component that was read from a configuration and not built yet: a type name and its options,
// already checked. `stoker check` reads a whole experiment in this form without touching any data,
// and a sweep reads hundreds.
//
// A value that shares its immutable plan. Any thread. Empty by default: create() and dump() need
// one that was read.
template <class T>
class Component {
 public:
  // The options of one implementation, and how to build it. Immutable; any thread.
  class Plan {
   public:
    virtual ~Plan() = default;
    // Each is the component's function of that name.
    virtual std::unique_ptr<T> create(const typename T::Inputs& inputs) const = 0;
    // Of the options only, without `type`.
    virtual Node dump() const = 0;
    virtual InfoOf<T> info() const = 0;
    virtual Component inner() const = 0;
    virtual std::vector<std::string> same_result_keys(const std::string& prefix) const = 0;
  };
  Component() = default;
  Component(std::string type, std::shared_ptr<const Plan> plan)
      : type_(std::move(type)), plan_(std::move(plan)) {}

  // Was it read?
  explicit operator bool() const { return plan_ != nullptr; }
  // The name under `type:`.
  const std::string& type() const { return type_; }
  // Builds one; may be called again, for another. The caller owns it; what `inputs` refers to must
  // outlive it. Throws what the implementation's constructor throws: an Error for what the user can
  // mend.
  std::unique_ptr<T> create(const typename T::Inputs& inputs) const {
    return plan_->create(inputs);
  }
  // {type: ..., every option with its value}: to be written down, not to look something up.
  Node dump() const;
  // What its Options say by `T::Info info() const`; of options without it what the inner component
  // says, and without one the defaults of T::Info.
  InfoOf<T> info() const { return plan_->info(); }
  // The component that this one is around: the first option that is a Component<T>. Empty: none.
  Component inner() const { return plan_->inner(); }
  // The options, for those who have to do with one type; null where it is another one.
  template <class Options>
  const Options* options() const {
    const auto* holder = dynamic_cast<const registry_detail::Holder<Options>*>(plan_.get());
    return holder == nullptr ? nullptr : &holder->options;
  }
  // The paths of its options that change no result (config.h), each behind `prefix`.
  std::vector<std::string> same_result_keys(const std::string& prefix) const {
    return plan_->same_result_keys(prefix);
  }

 private:
  std::string type_;
  std::shared_ptr<const Plan> plan_;
};

namespace registry_detail {

// Where a name was registered: in which source, and in which plug-in (its path; empty: none).
struct Name {
  std::string name;
  std::string file;
  std::string plugin = plugin_being_loaded();
};
// The parts of Registry<T> that do not depend on T. The message about a name that two files
// register.
std::string describe_clash(const char* kind, const Name& first, const std::string& second_file);
// Reads `type:` of a section. fallback: the type where none is given; empty: one has to be.
std::string read_type(const Section& section, const std::vector<std::string>& known,
                      const std::string& fallback);
// "unknown decoder 'jepg' (did you mean 'jpeg'?)". Types that plug-ins of ours have are known, too.
std::string unknown_type(const char* kind, const std::string& name, std::vector<std::string> known);
// Fails at the section's `type`, with this text.
[[noreturn]] void fail_at_type(const Section& section, const std::string& text);
// " (the device type 'emulated' has it)"; empty where no type has it.
std::string of_other_types(const char* kind, const std::vector<std::string>& types);

}  // namespace registry_detail

// The implementations of T by name.
//
// Filled before main and by plug-ins, which are loaded when a type is used that nobody has
// registered. Any thread. Each kind defines global() once, in its own .cpp, so that program and
// plug-ins share one.
template <class T>
class Registry {
 public:
  // One implementation: its name, how its options are read, what `stoker describe` says of them,
  // and which of a mapping it can take. parse() throws Error(ExitCode::config); the others throw
  // nothing.
  struct Entry {
    registry_detail::Name name;
    std::function<Component<T>(const Section&)> parse;
    std::function<std::vector<FieldHelp>()> describe;
    std::function<TakenOptions(const Section&)> takes = {};
  };

  // The one registry of this kind in the process.
  static Registry& global();

  // Never throws: it runs before main. A second registration of a name is remembered and reported
  // by the next parse().
  void add(Entry entry);
  // Reads {type: ..., options}; fallback as read_type(). Where overrides changed the type, reads
  // what retyped() makes of it. Error(ExitCode::config) for an unknown type, an unknown key, a bad
  // value; and for a name that was registered twice.
  Component<T> parse(const Section& section, const std::string& fallback = {}) const;
  // All that are registered by now, sorted.
  std::vector<std::string> names() const;
  // Those of them that have this option.
  std::vector<std::string> names_with(const std::string& option) const;
  // Null: unknown. Loads nothing. Valid for ever.
  const Entry* find(const std::string& name) const;
  // The same, after what may bring the type was loaded. Error(ExitCode::config): it is unknown, or
  // its plug-in cannot be used, and why.
  const Entry& need(const std::string& name) const;

 private:
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::string clash_;
};

// A field whose value is a component of its own: {type: ..., ...}. This is how components nest.
// Without `type` it is of its default's, where there is a default.
template <class T>
struct Field<Component<T>> {
  static void read(const Section& at, Component<T>& out, Limits) {
    out = Registry<T>::global().parse(at, out.type());
  }
  static Node dump(const Component<T>& value) { return value ? value.dump() : Node{}; }
  static std::string type() { return std::string("{type: <") + T::kKind + ">, ...}"; }
};

// A component from its mapping, which has to live during the call only. Names of tiers are checked
// where `context` is there. Error(ExitCode::config) as Registry::parse().
template <class T>
Component<T> parse_component(const Node& node, const ConfigContext* context = nullptr) {
  return Registry<T>::global().parse(Section(node, "", T::kKind, context));
}

// A component with all defaults; `type` must be registered and have no required option, else it is
// an Error(ExitCode::config). For defaults of options: it is looked up when the options are made,
// so not before main.
template <class T>
Component<T> default_component(const std::string& type) {
  Node node = Node::map();
  node.entries.push_back({"type", {}, Node::text(type)});
  return parse_component<T>(node);
}

// The component with some of its options changed, as on the command line: "workers=4", "type=sync".
// The options that a new type does not know are dropped. The given component stays as it is.
// Error(ExitCode::config).
template <class T>
Component<T> changed(const Component<T>& component, const std::vector<std::string>& assignments,
                     const ConfigContext* context = nullptr) {
  Node node = component.dump();
  for (const std::string& assignment : assignments) apply_override(node, assignment);
  return parse_component<T>(node, context);
}

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
  const Entry* first = find(entry.name.name);
  const std::lock_guard lock(mutex_);
  if (first == nullptr) {
    entries_.push_back(std::move(entry));
  } else if (clash_.empty()) {
    clash_ = registry_detail::describe_clash(T::kKind, first->name, entry.name.file);
  }
}

template <class T>
Component<T> Registry<T>::parse(const Section& section, const std::string& fallback) const {
  if (section.node().former != nullptr) {
    const auto takes = [this](const std::string& type, const Section& options) {
      try {
        return std::optional(need(type).takes(options));
      } catch (const Error&) {  // parse() says it of the type that counts in the end
        return std::optional<TakenOptions>();
      }
    };
    const Node node = retyped(section, fallback, takes);
    return parse(section.in_place(node), fallback);
  }
  const std::string type = registry_detail::read_type(section, names(), fallback);
  const Entry* entry = nullptr;
  try {
    entry = &need(type);
  } catch (const Error& error) {
    registry_detail::fail_at_type(section, error.what());
  }
  const std::string clash = [this] {
    const std::lock_guard lock(mutex_);
    return clash_;
  }();
  if (!clash.empty()) throw Error(ExitCode::config, clash);
  return entry->parse(section.with_hint([this](const std::string& key) {
    return registry_detail::of_other_types(T::kKind, names_with(key));
  }));
}

template <class T>
std::vector<std::string> Registry<T>::names() const {
  std::vector<std::string> result;
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) result.push_back(entry.name.name);
  std::sort(result.begin(), result.end());
  return result;
}

template <class T>
std::vector<std::string> Registry<T>::names_with(const std::string& option) const {
  std::vector<std::string> result = names();
  std::erase_if(result, [&](const std::string& name) {
    return std::ranges::none_of(find(name)->describe(), [&](const FieldHelp& row) {
      return row.key == option || row.key.starts_with(option + ".");
    });
  });
  return result;
}

template <class T>
auto Registry<T>::find(const std::string& name) const -> const Entry* {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(entries_, name, [](const Entry& e) { return e.name.name; });
  return found == entries_.end() ? nullptr : &*found;
}

template <class T>
auto Registry<T>::need(const std::string& name) const -> const Entry& {
  if (const Entry* entry = find(name)) return *entry;
  const std::string problem = load_type(T::kKind, name);
  if (const Entry* entry = find(name)) return *entry;
  throw Error(ExitCode::config,
              !problem.empty() ? problem : registry_detail::unknown_type(T::kKind, name, names()));
}

}  // namespace stoker

#include "io/core/config/registrar.h"  // IWYU pragma: export
