#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "io/storage/file_tree.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// As a file system that takes O_DIRECT when a file is opened, and refuses to read and write by it.
class NoDirectIo final : public FileLayer {
 public:
  int64_t call(const FileCall& call, const Next& next) override {
    const bool transfer = call.op == FileCall::Op::read || call.op == FileCall::Op::write;
    if (!transfer || call.accepted != EINVAL) return next(call);
    ++refused;
    return -EINVAL;
  }
  int refused = 0;
};

TEST(RefusedDirectIo, goes_through_the_page_cache_from_then_on) {
  const TemporaryDirectory root;
  const auto layer = std::make_shared<NoDirectIo>();
  const FileTree plain(root.path()), tree = plain.behind(layer);
  const bool direct = plain.create("probe", FileAccess::direct).direct();
  alignas(kDirectAlignment) std::array<uint8_t, kDirectAlignment> block{};
  block.fill('p');
  const TreeFile file = tree.create("a", FileAccess::direct);
  EXPECT_EQ(file.direct(), direct);
  file.write_at(0, block);
  file.write_at(block.size(), block);
  EXPECT_FALSE(file.direct());
  EXPECT_EQ(root.read("a"), std::string(2 * block.size(), 'p'));
  block.fill('?');
  const TreeFile again = tree.open("a", FileAccess::direct);
  again.read_at(block.size(), block);
  EXPECT_FALSE(again.direct());
  EXPECT_EQ(block.front(), 'p');
  EXPECT_EQ(block.back(), 'p');
  EXPECT_EQ(layer->refused, direct ? 2 : 0);  // once for each file
}

}  // namespace
}  // namespace stoker
