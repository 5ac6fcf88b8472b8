#include "io/metrics/thread_slots.h"

#include <vector>

#include "io/core/error.h"

namespace stoker {
namespace {

class Numbers {
 public:
  size_t take() {
    const std::lock_guard lock(mutex_);
    if (!returned_.empty()) {
      const size_t number = returned_.back();
      returned_.pop_back();
      return number;
    }
    if (next_ == kMaxThreads) throw Error(ExitCode::bug, "metrics: more than 4096 threads");
    return next_++;
  }
  void give_back(size_t number) {
    const std::lock_guard lock(mutex_);
    returned_.push_back(number);
  }

 private:
  std::mutex mutex_;
  std::vector<size_t> returned_;
  size_t next_ = 0;
};

// Shared, as a thread may end after the statics of the program are gone.
std::shared_ptr<Numbers> numbers() {
  static const auto all = std::make_shared<Numbers>();
  return all;
}

struct Holder {
  std::shared_ptr<Numbers> from = numbers();
  size_t number = from->take();
  ~Holder() { from->give_back(number); }
};

}  // namespace

size_t thread_number() {
  thread_local const Holder holder;
  return holder.number;
}

}  // namespace stoker
