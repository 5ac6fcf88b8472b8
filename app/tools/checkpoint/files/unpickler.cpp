#include "app/tools/checkpoint/files/unpickler.h"

#include <cstddef>
#include <unordered_map>

#include "app/tools/checkpoint/files/state_pickle.h"
#include "app/tools/checkpoint/files/stored_tensors.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

using Kind = PickleValue::Kind;
using Ref = PickleValue::Ref;

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
  Unpickler(std::string_view bytes, std::deque<PickleValue>& values)
      : bytes_(bytes), values_(values) {}

  Ref run() {
    if (take(1) != std::string_view("\x80", 1) || number(1) != 2) {
      refuse_pickle("it does not begin as a pickle of version 2, which torch.save writes");
    }
    for (;;) {
      const auto code = static_cast<Pickle>(number(1));
      if (code == Pickle::stop) return pop();
      step(code);
    }
  }

 private:
  std::string_view take(uint64_t bytes) {
    if (bytes > bytes_.size() - at_)
      refuse_pickle("the pickle is cut short at byte {}", bytes_.size());
    at_ += bytes;
    return bytes_.substr(at_ - bytes, bytes);
  }
  uint64_t number(size_t bytes) {
    return little_endian(reinterpret_cast<const uint8_t*>(take(bytes).data()), bytes);
  }
  std::string line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos)
      refuse_pickle("the pickle is cut short at byte {}", bytes_.size());
    std::string text(take(end - at_));
    take(1);
    return text;
  }

  Ref make(PickleValue value) {
    if (values_.size() == kMaxPickleValues)
      refuse_pickle("the pickle has more than {} values", kMaxPickleValues);
    values_.push_back(std::move(value));
    return values_.size() - 1;
  }
  void push(PickleValue value) { stack_.push_back(make(std::move(value))); }
  Ref pop() {
    if (stack_.empty()) refuse_pickle("the pickle takes from an empty stack at byte {}", at_);
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
      refuse_pickle("the pickle has no mark at byte {}", at_);
    std::vector<Ref> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                           stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  PickleValue& top(Kind kind) {
    if (stack_.empty() || values_[stack_.back()].kind != kind) {
      refuse_pickle("the pickle has no {} at byte {}", kind == Kind::list ? "list" : "dictionary",
                    at_);
    }
    return values_[stack_.back()];
  }

  void step(Pickle code);
  bool constant(Pickle code);
  bool container(Pickle code);
  bool other(Pickle code);
  void put(uint64_t number) {
    if (stack_.empty()) refuse_pickle("the pickle takes from an empty stack at byte {}", at_);
    memo_[number] = stack_.back();
  }
  void get(uint64_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) refuse_pickle("the pickle has no value {} at byte {}", number, at_);
    stack_.push_back(found->second);
  }
  void hold(size_t items) {
    held_ += items;
    if (held_ > kMaxPickleValues)
      refuse_pickle("the pickle has more than {} values", kMaxPickleValues);
  }
  // Adds items to the list or dictionary on top of the stack.
  void extend(Kind kind, const std::vector<Ref>& items) {
    PickleValue& value = top(kind);
    if (kind == Kind::dictionary && items.size() % 2 != 0) {
      refuse_pickle("the pickle has a key without a value at byte {}", at_);
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

  const std::string_view bytes_;
  size_t at_ = 0;
  std::deque<PickleValue>& values_;  // each stays where it is
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, Ref> memo_;
  uint64_t held_ = 0;  // items of all values
};

void Unpickler::step(Pickle code) {
  if (constant(code) || container(code) || other(code)) return;
  refuse_pickle(
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

// A number below 0, or of more than 63 bits, is no size: a seed, for example.
void Unpickler::long_number() {
  std::string_view digits = take(number(1));
  const bool negative = !digits.empty() && static_cast<int8_t>(digits.back()) < 0;
  while (!digits.empty() && digits.back() == '\0') digits.remove_suffix(1);
  uint64_t value = UINT64_MAX;
  if (!negative && digits.size() <= sizeof(value)) {
    value = little_endian(reinterpret_cast<const uint8_t*>(digits.data()), digits.size());
  }
  if (value > INT64_MAX) {
    push({Kind::other});
  } else {
    push({Kind::integer, static_cast<int64_t>(value)});
  }
}

void Unpickler::global() {
  const std::string module = line();
  const std::string name = module + "." + line();
  if (name != kOrderedDict && name != kRebuildTensor && name != kRebuildParameter &&
      !is_storage(name)) {
    if (name.starts_with("torch._utils._rebuild_") || name.ends_with("Storage")) {
      refuse_pickle(
          "it has a tensor of {}, which is not read here: only dense ones are, of F64, F32, F16, "
          "BF16, I64, I32, I16, I8, U8, BOOL (no float8, no complex, quantized or sparse one): "
          "convert it before",
          printable(name));
    }
    refuse_pickle(
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
  if (!right)
    refuse_pickle("the pickle names something at byte {} that is no storage of a tensor", at_);
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
    // A view whose bytes have yet to be changed ("neg").
    if (items.size() > 6 && !values_[items[6]].items.empty()) {
      refuse_pickle(
          "it has a tensor at byte {} whose bytes are not its values: save what "
          "tensor.resolve_neg() gives",
          at_);
    }
    push({Kind::tensor, 0, {}, std::vector<Ref>(items.begin(), items.begin() + 4)});
  } else if (call && function.text == kRebuildParameter && has(0, Kind::tensor)) {
    stack_.push_back(arguments.items[0]);
  } else {
    refuse_pickle(
        "the pickle calls something at byte {} in a way that no state dict of tensors does{}", at_,
        call ? " (" + function.text + ")" : "");
  }
}

}  // namespace

Unpickled unpickle(std::string_view bytes) {
  Unpickled result;
  result.root = Unpickler(bytes, result.values).run();
  return result;
}

}  // namespace stoker
