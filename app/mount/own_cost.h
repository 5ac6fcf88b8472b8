#pragma once

#include "app/mount/mount_server.h"

namespace stoker {

// What a read through this mount takes beside its device: medians of some reads of its own, some
// 50 ms. IoError where they fail. One thread, none of the server's.
OwnCost measure_own_cost(MountServer& server);

}  // namespace stoker
