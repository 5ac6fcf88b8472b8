#pragma once

#include "app/tools/mount/mount_server.h"

namespace stoker {

// What a read through this mount takes in addition to its device. Measured by reads of its own,
// which takes some 50 ms. At most 150 us and 400 us a MiB, because on a busy machine the rest is
// not ours. IoError if a read fails. One thread, none of the server's.
OwnCost measure_own_cost(MountServer& server);

}  // namespace stoker
