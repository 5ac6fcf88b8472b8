#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

namespace stoker {

// The page cache of each node: which objects it holds, least recently used out first. The kernel's
// is only about so: it looks at pages, and at other users of memory. One thread.
class PageCaches {
 public:
  // bytes: the size on each node. 0: nothing is kept.
  PageCaches(int64_t nodes, uint64_t bytes)
      : limit_(bytes), nodes_(bytes == 0 ? 0 : static_cast<size_t>(nodes)) {}

  // Whether the node holds it; from now on it does, if it fits at all.
  bool use(int64_t node, int64_t object, uint64_t bytes) {
    if (limit_ == 0) return false;
    Node& cache = nodes_[static_cast<size_t>(node)];
    const auto found = cache.places.find(object);
    if (found != cache.places.end()) {
      cache.objects.splice(cache.objects.begin(), cache.objects, found->second);
      return true;
    }
    if (bytes > limit_) return false;
    for (cache.held += bytes; cache.held > limit_; cache.objects.pop_back()) {
      cache.held -= cache.objects.back().bytes;
      cache.places.erase(cache.objects.back().object);
    }
    cache.objects.push_front({object, bytes});
    cache.places[object] = cache.objects.begin();
    return false;
  }

 private:
  struct Object {
    int64_t object;
    uint64_t bytes;
  };
  struct Node {
    std::list<Object> objects;  // the last one used first
    std::unordered_map<int64_t, std::list<Object>::iterator> places;
    uint64_t held = 0;
  };

  const uint64_t limit_;
  std::vector<Node> nodes_;
};

}  // namespace stoker
