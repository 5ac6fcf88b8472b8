#include <arrow/config.h>

#include "io/core/config/part_check.h"
#include "io/core/config/plugin.h"

namespace stoker {
namespace {

class ParquetCheck final : public PartCheck {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  ParquetCheck(Options, const Inputs&) {}
  std::string use() override {
    return plugin_beside_library("stoker_parquet") + ", libparquet " +
           arrow::GetBuildInfo().version_string;
  }
};

STOKER_REGISTER(PartCheck, "parquet", ParquetCheck);

}  // namespace
}  // namespace stoker
