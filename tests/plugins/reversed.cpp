// A whole plug-in, and the tutorial. It adds a storage tier that hands out another tier's objects
// in reverse order of their keys.
//
// 1. Include the interface that you implement. Its header says what callers rely on.
#include <algorithm>
#include <utility>

#include "io/storage/storage.h"

namespace {

using namespace stoker;

// 2. Derive from the interface. Nobody includes this file, so everything is in an anonymous
// namespace.
class Reversed final : public Storage {
 public:
  // 3. Options: members with defaults, and visit() that names them. From this one function come the
  //    reading of the YAML with its error messages, the resolved configuration, and
  //    `stoker describe storage reversed`. A component inside a component is one more field.
  struct Options {
    Component<Storage> inner;
    template <class V>
    void visit(V& v) {
      v.required("inner", inner, "the tier whose objects are handed out in reverse order");
    }
  };

  // 4. The constructor takes the options, checked, and what the interface's Inputs offer.
  Reversed(const Options& options, const Inputs& inputs) : inner_(options.inner.create(inputs)) {}

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    std::vector<ObjectInfo> objects = inner_->list(prefix);
    std::reverse(objects.begin(), objects.end());
    return objects;
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    inner_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return inner_->create(key);
  }
  void remove(const std::string& key) override { inner_->remove(key); }

 private:
  std::unique_ptr<Storage> inner_;
};

// 5. One line makes `storage: {x: {type: reversed, inner: {...}}}` work.
STOKER_REGISTER(Storage, "reversed", Reversed);

}  // namespace

// 6. CMakeLists.txt:  find_package(stoker REQUIRED)
//                     stoker_add_plugin(reversed reversed.cpp)
//    and in the experiment:  plugins: [/absolute/path/of/reversed.so]
