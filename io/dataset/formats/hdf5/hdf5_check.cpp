#include "io/core/config/part_check.h"
#include "io/dataset/formats/hdf5/process.h"

namespace stoker {
namespace {

class Hdf5Check final : public PartCheck {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  Hdf5Check(Options, const Inputs&) {}
  std::string use() override { return hdf5_program() + ", libhdf5 " + hdf5_version(); }
};

STOKER_REGISTER(PartCheck, "hdf5", Hdf5Check);

}  // namespace
}  // namespace stoker
