#pragma once

#include "app/tools/mount/mount_server.h"

namespace stoker {

// What a read through this mount takes beside its device: by some reads of its own, some 50 ms. At
// most 150 us and 400 us a MiB: on a busy machine more may be measured that is not ours. IoError
// where they fail. One thread, none of the server's.
OwnCost measure_own_cost(MountServer& server);

}  // namespace stoker
