#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace stoker {

// Objects that are costly to make and that one thread uses at a time: scratch memory, handles. As
// many are made as are in use at once. Any thread; T must be move-constructible.
template <class T>
class IdlePool {
 public:
  // `make` is called where no object is idle, outside of any lock.
  explicit IdlePool(std::function<T()> make) : make_(std::move(make)) {}

  // Calls use(T&) with an object that nobody else uses. What `use` throws is passed on, and its
  // object is not used again.
  template <class Use>
  void with(const Use& use) {
    std::optional<T> object;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        object.emplace(std::move(idle_.back()));
        idle_.pop_back();
      }
    }
    if (!object) object.emplace(make_());
    use(*object);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(*object));
  }

 private:
  const std::function<T()> make_;
  std::mutex mutex_;
  std::vector<T> idle_;
};

}  // namespace stoker
