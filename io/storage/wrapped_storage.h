#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/storage/file_tree.h"
#include "io/storage/storage.h"

namespace stoker {

// One operation on an object, as a wrapper of its tier sees it. Valid during the operation.
struct ObjectCall {
  FileCall::Op op;         // list, read, create, write (an append), sync (a commit) or remove
  const std::string& key;  // of list: the prefix
  uint64_t offset = 0;     // of a read or an append, in the object
  uint64_t bytes = 0;      // that were moved; for a read they are known only when it is done
};

// Another tier, wrapped: something is done around every operation on its objects and its files,
// such as a clock that measures, or a model that lets the caller wait. Objects and files have
// separate ways in, and an operation passes one of them only: a commit is not seen as the calls
// that it makes.
//
// Wrap is a type that is cheap to copy, with `template <class F> void operator()(const
// ObjectCall&, const F& operation) const`. It has to call operation() exactly once, and lets
// through what that throws; nothing after the call happens then. It is copied into writers and
// called by several threads at once; what it refers to must outlive the tier and its writers. No
// allocation is made per read.
//
// Owns the other tier. Any thread; fails as that tier does.
template <class Wrap>
class WrappedStorage : public Storage, public KeepsFiles {
 public:
  // `layer` is to the tier's files what `wrap` is to its objects; it is not used if the tier has no
  // files.
  WrappedStorage(std::unique_ptr<Storage> inner, Wrap wrap, std::shared_ptr<FileLayer> layer)
      : inner_(std::move(inner)), wrap_(std::move(wrap)) {
    if (const FileTree* files = files_of(*inner_)) files_ = files->behind(std::move(layer));
  }

  std::vector<ObjectInfo> list(const std::string& prefix) const final {
    std::vector<ObjectInfo> objects;
    wrap_({FileCall::Op::list, prefix}, [&] { objects = inner_->list(prefix); });
    return objects;
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    ObjectCall call{FileCall::Op::read, key, range.offset};
    wrap_(call, [&] {
      inner_->read(key, out, range);
      call.bytes = out.size();
    });
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) final {
    std::unique_ptr<ObjectWriter> writer;
    wrap_({FileCall::Op::create, key},
          [&] { writer = std::make_unique<Writer>(key, inner_->create(key), wrap_); });
    return writer;
  }
  void remove(const std::string& key) final {
    wrap_({FileCall::Op::remove, key}, [&] { inner_->remove(key); });
  }
  void expect(std::span<const ObjectRange> reads) const final { inner_->expect(reads); }
  const FileTree* files() const final { return files_ ? &*files_ : nullptr; }

 protected:
  const Storage& inner() const { return *inner_; }

 private:
  // As any writer: one thread at a time, and not beyond its tier.
  class Writer final : public ObjectWriter {
   public:
    Writer(std::string key, std::unique_ptr<ObjectWriter> inner, Wrap wrap)
        : key_(std::move(key)), inner_(std::move(inner)), wrap_(std::move(wrap)) {}
    void append(Bytes bytes) override {
      wrap_({FileCall::Op::write, key_, written_, bytes.size()}, [&] { inner_->append(bytes); });
      written_ += bytes.size();
    }
    void commit() override {
      wrap_({FileCall::Op::sync, key_}, [&] { inner_->commit(); });
    }

   private:
    const std::string key_;
    const std::unique_ptr<ObjectWriter> inner_;
    const Wrap wrap_;
    uint64_t written_ = 0;
  };

  const std::unique_ptr<Storage> inner_;
  const Wrap wrap_;
  std::optional<FileTree> files_;
};

}  // namespace stoker
