#include <fmt/format.h>

#include <cstddef>
#include <deque>
#include <unordered_map>
#include <utility>

#include "app/tools/checkpoint/files/input_file.h"
#include "app/tools/checkpoint/files/pickle_codes.h"
#include "app/tools/checkpoint/files/safetensors_source.h"
#include "app/tools/checkpoint/files/state_pickle.h"
#include "io/core/error.h"
#include "io/core/text/text.h"

// read_state_pickle(): the machine, and what is left on its stack. Values lie in one place and name
// each other by number, so that a value in itself, or one that is nested a million times, can be
// made, and does no harm.

namespace stoker {
namespace {

constexpr uint64_t kMaxValues = 5'000'000;
constexpr int kMaxDepth = 32;
constexpr size_t kMaxName = 4096;  // of a tensor

using Ref = size_t;  // a value's number

enum class Kind { none, integer, text, other, global, tuple, list, dictionary, storage, tensor };

// `items`: of a tuple or a list; of a dictionary keys and values in turns. Of a storage and a
// tensor the arguments that it was made of.
struct PickleValue {
  Kind kind = Kind::none;
  int64_t integer = 0;
  std::string text = {};
  std::vector<Ref> items = {};
};

template <class... A>
[[noreturn]] void refuse(fmt::format_string<A...> what, A&&... values) {
  throw Error(ExitCode::storage, fmt::format(what, std::forward<A>(values)...));
}

// All that may be asked for, beside the classes of storages.
const char* const kOrderedDict = "collections.OrderedDict";
const char* const kRebuildTensor = "torch._utils._rebuild_tensor_v2";
const char* const kRebuildParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kStorageModule = "torch.";

bool is_storage(std::string_view global) {
  return global.starts_with(kStorageModule) &&
         !dtype_of_storage(global.substr(kStorageModule.size())).empty();
}

class Unpickler {
 public:
  explicit Unpickler(std::string_view bytes) : bytes_(bytes) {}

  PickledState run() {
    if (take(1) != std::string_view("\x80", 1) || number(1) != 2) {
      refuse("it does not begin as a pickle of version 2, which torch.save writes");
    }
    for (;;) {
      const auto code = static_cast<Pickle>(number(1));
      if (code == Pickle::stop) break;
      step(code);
    }
    const Ref root = pop();
    if (values_[root].kind != Kind::dictionary) {
      refuse("it holds no state dict: save what model.state_dict() gives");
    }
    collect("", root, 0);
    return std::move(result_);
  }

 private:
  std::string_view take(uint64_t bytes) {
    if (bytes > bytes_.size() - at_) refuse("the pickle is cut short at byte {}", bytes_.size());
    at_ += bytes;
    return bytes_.substr(at_ - bytes, bytes);
  }
  uint64_t number(size_t bytes) {
    return little_endian(reinterpret_cast<const uint8_t*>(take(bytes).data()), bytes);
  }
  std::string line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) refuse("the pickle is cut short at byte {}", bytes_.size());
    std::string text(take(end - at_));
    take(1);
    return text;
  }

  Ref make(PickleValue value) {
    if (values_.size() == kMaxValues) refuse("the pickle has more than {} values", kMaxValues);
    values_.push_back(std::move(value));
    return values_.size() - 1;
  }
  void push(PickleValue value) { stack_.push_back(make(std::move(value))); }
  Ref pop() {
    if (stack_.empty()) refuse("the pickle takes from an empty stack at byte {}", at_);
    const Ref top = stack_.back();
    stack_.pop_back();
    return top;
  }
  std::vector<Ref> pop(size_t count) {
    std::vector<Ref> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }
  // All above the last mark.
  std::vector<Ref> pop_marked() {
    if (marks_.empty() || marks_.back() > stack_.size())
      refuse("the pickle has no mark at byte {}", at_);
    std::vector<Ref> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                           stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  PickleValue& top(Kind kind) {
    if (stack_.empty() || values_[stack_.back()].kind != kind) {
      refuse("the pickle has no {} at byte {}", kind == Kind::list ? "list" : "dictionary", at_);
    }
    return values_[stack_.back()];
  }

  void step(Pickle code);
  bool constant(Pickle code);
  bool container(Pickle code);
  bool other(Pickle code);
  void put(uint64_t number) {
    if (stack_.empty()) refuse("the pickle takes from an empty stack at byte {}", at_);
    memo_[number] = stack_.back();
  }
  void get(uint64_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) refuse("the pickle has no value {} at byte {}", number, at_);
    stack_.push_back(found->second);
  }
  void hold(size_t items) {
    held_ += items;
    if (held_ > kMaxValues) refuse("the pickle has more than {} values", kMaxValues);
  }
  // Adds items to the list or dictionary on top of the stack.
  void extend(Kind kind, const std::vector<Ref>& items) {
    PickleValue& value = top(kind);
    if (kind == Kind::dictionary && items.size() % 2 != 0) {
      refuse("the pickle has a key without a value at byte {}", at_);
    }
    hold(items.size());
    value.items.insert(value.items.end(), items.begin(), items.end());
  }
  void tuple(std::vector<Ref> items) {
    hold(items.size());
    push({Kind::tuple, 0, {}, std::move(items)});
  }
  void long_number();
  void global();
  void persistent();
  void reduce();
  void collect(const std::string& name, Ref ref, int depth);
  PickledTensor tensor(const std::string& name, const PickleValue& value) const;
  std::vector<int64_t> numbers(const std::string& name, Ref ref) const;

  const std::string_view bytes_;
  size_t at_ = 0;
  std::deque<PickleValue> values_;  // stays where it is
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, Ref> memo_;
  uint64_t held_ = 0;     // items of all values
  uint64_t visited_ = 0;  // by collect()
  PickledState result_;
};

void Unpickler::step(Pickle code) {
  if (constant(code) || container(code) || other(code)) return;
  refuse(
      "the pickle has instruction 0x{:02x} at byte {}, which no state dict of tensors needs: save "
      "what model.state_dict() gives, and nothing else",
      static_cast<unsigned>(code), at_ - 1);
}

// These do what their instruction is, and return false for another's.
bool Unpickler::constant(Pickle code) {
  switch (code) {
    case Pickle::none:
      push({Kind::none});
      return true;
    case Pickle::new_true:
    case Pickle::new_false:
      push({Kind::integer, code == Pickle::new_true ? 1 : 0});
      return true;
    case Pickle::int4:
      push({Kind::integer, static_cast<int32_t>(number(4))});
      return true;
    case Pickle::int2:
      push({Kind::integer, static_cast<int64_t>(number(2))});
      return true;
    case Pickle::int1:
      push({Kind::integer, static_cast<int64_t>(number(1))});
      return true;
    case Pickle::long1:
      long_number();
      return true;
    case Pickle::floating:
      take(8);
      push({Kind::other});
      return true;
    case Pickle::unicode:
      push({Kind::text, 0, std::string(take(number(4)))});
      return true;
    case Pickle::short_string:
      push({Kind::text, 0, std::string(take(number(1)))});
      return true;
    default:
      return false;
  }
}

bool Unpickler::container(Pickle code) {
  switch (code) {
    case Pickle::empty_tuple:
      tuple({});
      return true;
    case Pickle::tuple:
      tuple(pop_marked());
      return true;
    case Pickle::tuple1:
      tuple(pop(1));
      return true;
    case Pickle::tuple2:
      tuple(pop(2));
      return true;
    case Pickle::tuple3:
      tuple(pop(3));
      return true;
    case Pickle::empty_list:
      push({Kind::list});
      return true;
    case Pickle::append:
      extend(Kind::list, pop(1));
      return true;
    case Pickle::appends:
      extend(Kind::list, pop_marked());
      return true;
    case Pickle::empty_dictionary:
      push({Kind::dictionary});
      return true;
    case Pickle::set_item:
      extend(Kind::dictionary, pop(2));
      return true;
    case Pickle::set_items:
      extend(Kind::dictionary, pop_marked());
      return true;
    default:
      return false;
  }
}

bool Unpickler::other(Pickle code) {
  switch (code) {
    case Pickle::mark:
      marks_.push_back(stack_.size());
      return true;
    case Pickle::global:
      global();
      return true;
    case Pickle::reduce:
      reduce();
      return true;
    case Pickle::persistent:
      persistent();
      return true;
    case Pickle::build:  // the state of an OrderedDict: _metadata, the versions of modules
      pop();
      top(Kind::dictionary);
      return true;
    case Pickle::put:
      put(number(1));
      return true;
    case Pickle::long_put:
      put(number(4));
      return true;
    case Pickle::get:
      get(number(1));
      return true;
    case Pickle::long_get:
      get(number(4));
      return true;
    default:
      return false;
  }
}

void Unpickler::long_number() {
  const uint64_t bytes = number(1);
  const std::string_view digits = take(bytes);
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    const auto digit = static_cast<uint8_t>(digits[i]);
    if (i < 8) value |= uint64_t{digit} << (8 * i);
    if (i >= 8 && digit != 0)
      refuse("the pickle has a number of more than 63 bits at byte {}", at_);
  }
  // A number whose highest bit is set is below 0, and no size.
  const bool negative = bytes > 0 && static_cast<int8_t>(digits[bytes - 1]) < 0;
  if (value > INT64_MAX || negative) {
    push({Kind::other});
    return;
  }
  push({Kind::integer, static_cast<int64_t>(value)});
}

void Unpickler::global() {
  const std::string module = line();
  const std::string name = module + "." + line();
  if (name != kOrderedDict && name != kRebuildTensor && name != kRebuildParameter &&
      !is_storage(name)) {
    refuse(
        "the pickle asks for {}, which is no part of a state dict of tensors (and a program may do "
        "anything when it is loaded): nothing was called; save what model.state_dict() gives",
        printable(name));
  }
  push({Kind::global, 0, name});
}

// ("storage", class, key, where it was, elements)
void Unpickler::persistent() {
  const PickleValue& id = values_[pop()];
  const auto item = [&](size_t i) -> const PickleValue& { return values_[id.items[i]]; };
  const bool right = id.kind == Kind::tuple && id.items.size() == 5 && item(0).kind == Kind::text &&
                     item(0).text == "storage" && item(1).kind == Kind::global &&
                     is_storage(item(1).text) && item(2).kind == Kind::text &&
                     item(4).kind == Kind::integer && item(4).integer >= 0;
  if (!right) refuse("the pickle names something at byte {} that is no storage of a tensor", at_);
  const std::string dtype =
      dtype_of_storage(std::string_view(item(1).text).substr(kStorageModule.size()));
  std::vector<Ref> items{make({Kind::text, 0, dtype}), id.items[2], id.items[4]};
  push({Kind::storage, 0, {}, std::move(items)});
}

void Unpickler::reduce() {
  const PickleValue& arguments = values_[pop()];
  const PickleValue& function = values_[pop()];
  const bool call = function.kind == Kind::global && arguments.kind == Kind::tuple;
  const auto has = [&](size_t i, Kind kind) {
    return i < arguments.items.size() && values_[arguments.items[i]].kind == kind;
  };
  if (call && function.text == kOrderedDict && arguments.items.empty()) {
    push({Kind::dictionary});
  } else if (call && function.text == kRebuildTensor && arguments.items.size() >= 4 &&
             has(0, Kind::storage) && has(1, Kind::integer) && has(2, Kind::tuple) &&
             has(3, Kind::tuple)) {
    const std::vector<Ref>& items = arguments.items;
    push({Kind::tensor, 0, {}, std::vector<Ref>(items.begin(), items.begin() + 4)});
  } else if (call && function.text == kRebuildParameter && has(0, Kind::tensor)) {
    stack_.push_back(arguments.items[0]);
  } else {
    refuse("the pickle calls something at byte {} in a way that no state dict of tensors does{}",
           at_, call ? " (" + function.text + ")" : "");
  }
}

// Finds the tensors below a value.
void Unpickler::collect(const std::string& name, Ref ref, int depth) {
  const PickleValue& value = values_[ref];
  if (name.size() > kMaxName) refuse("a name has {} bytes; at most {}", name.size(), kMaxName);
  if (depth > kMaxDepth) refuse("{}: nested more than {} deep", printable(name), kMaxDepth);
  if (++visited_ > kMaxValues) refuse("the pickle has more than {} values", kMaxValues);
  const std::string before = name.empty() ? "" : name + ".";
  if (value.kind == Kind::tensor) {
    if (result_.tensors.size() == kMaxForeignTensors) {
      refuse("it has more than {} tensors", kMaxForeignTensors);
    }
    result_.tensors.push_back(tensor(name, value));
  } else if (value.kind == Kind::dictionary) {
    for (size_t i = 0; i < value.items.size(); i += 2) {
      const PickleValue& key = values_[value.items[i]];
      if (key.kind != Kind::text && key.kind != Kind::integer) {
        refuse("{}: a key is neither text nor a whole number", printable(name));
      }
      const std::string word = key.kind == Kind::text ? key.text : std::to_string(key.integer);
      collect(before + word, value.items[i + 1], depth + 1);
    }
  } else if (value.kind == Kind::tuple || value.kind == Kind::list) {
    for (size_t i = 0; i < value.items.size(); ++i) {
      collect(before + std::to_string(i), value.items[i], depth + 1);
    }
  } else if (result_.others.size() < kMaxForeignTensors) {
    result_.others.push_back(name);
  }
}

std::vector<int64_t> Unpickler::numbers(const std::string& name, Ref ref) const {
  std::vector<int64_t> result;
  if (values_[ref].items.size() > kMaxDimensions) {
    refuse("tensor {}: {} dimensions; at most {}", printable(name), values_[ref].items.size(),
           kMaxDimensions);
  }
  for (const Ref item : values_[ref].items) {
    const PickleValue& value = values_[item];
    if (value.kind != Kind::integer || value.integer < 0) {
      refuse("tensor {}: a size or a stride is no whole number from 0 on", printable(name));
    }
    result.push_back(value.integer);
  }
  return result;
}

PickledTensor Unpickler::tensor(const std::string& name, const PickleValue& value) const {
  const std::vector<Ref>& storage = values_[value.items[0]].items;
  const int64_t offset = values_[value.items[1]].integer;
  PickledTensor tensor{name,
                       values_[storage[0]].text,
                       numbers(name, value.items[2]),
                       numbers(name, value.items[3]),
                       static_cast<uint64_t>(offset),
                       values_[storage[1]].text,
                       static_cast<uint64_t>(values_[storage[2]].integer)};
  if (!is_text(name) || name.empty()) refuse("a tensor has no name, or one that is no UTF-8");
  if (offset < 0 || tensor.shape.size() != tensor.strides.size()) {
    refuse("tensor {}: its offset or its strides are impossible", printable(name));
  }
  return tensor;
}

}  // namespace

PickledState read_state_pickle(std::string_view bytes) { return Unpickler(bytes).run(); }

}  // namespace stoker
