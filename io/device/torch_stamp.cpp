#include "io/core/config/plugin.h"

namespace stoker {
namespace {

const TorchStamp torch_stamp(STOKER_PLUGIN_STAMP);

}  // namespace
}  // namespace stoker
