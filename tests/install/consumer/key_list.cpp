// A format that `stoker dataset convert` writes: one line of each sample, with its label and its
// key.
#include <string>

#include "io/dataset/shards/shard_writer.h"

namespace {

using namespace stoker;

class Keys final : public ShardWriter {
 public:
  Keys(Storage& to, const std::string& key) : to_(to), key_(key) {}
  void add(const SampleToWrite& sample) override {
    lines_ += std::to_string(sample.label) + " " + std::string(sample.key) + "\n";
  }
  void commit() override {
    const std::unique_ptr<ObjectWriter> writer = to_.create(key_);
    writer->append({reinterpret_cast<const uint8_t*>(lines_.data()), lines_.size()});
    writer->commit();
  }

 private:
  Storage& to_;
  const std::string key_;
  std::string lines_;
};

class KeyList final : public ShardFormatWriter {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
    WritableInfo info() const { return {.extension = ".keys"}; }
  };
  KeyList(Options, const Inputs&) {}
  std::unique_ptr<ShardWriter> create(Storage& to, const std::string& key) const override {
    return std::make_unique<Keys>(to, key);
  }
};

STOKER_REGISTER(ShardFormatWriter, "key_list", KeyList);

}  // namespace
