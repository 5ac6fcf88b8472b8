// A tier that hides the files of another one: what a bucket is, without a server.
#include <memory>
#include <string>
#include <vector>

#include "io/storage/storage.h"

namespace {

using namespace stoker;

class ObjectsOnly final : public Storage {
 public:
  struct Options {
    Component<Storage> inner;
    template <class V>
    void visit(V& v) {
      v.required("inner", inner, "the tier whose objects are shown, and nothing else of it");
    }
  };

  ObjectsOnly(const Options& options, const Inputs& inputs)
      : inner_(options.inner.create(inputs)) {}

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return inner_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    inner_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return inner_->create(key);
  }
  void remove(const std::string& key) override { inner_->remove(key); }

 private:
  const std::unique_ptr<Storage> inner_;
};

STOKER_REGISTER(Storage, "objects_only", ObjectsOnly);

}  // namespace
