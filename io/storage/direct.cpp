#include <utility>

#include "io/storage/file_objects.h"

namespace stoker {
namespace {

// Files below a directory, read past the page cache.
class DirectStorage final : public FileObjects {
 public:
  struct Options {
    Path root;
    template <class V>
    void visit(V& v) {
      v.required("root", root, "The directory that holds the objects.");
    }
    StorageInfo info() const { return {.folders = {root.value}}; }
  };
  DirectStorage(Options options, const Inputs& inputs)
      : FileObjects(std::move(options.root.value), FileAccess::direct, inputs) {}

  void read(const std::string& key, Buffer& out, Range range) const override {
    read_by(pread_file, key, out, range);
  }
};

STOKER_REGISTER(Storage, "direct", DirectStorage);

}  // namespace
}  // namespace stoker
