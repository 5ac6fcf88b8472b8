#pragma once

#include "io/core/system/memory.h"

namespace stoker {

// The orientation (1 to 8) in a TIFF structure, which is what EXIF data are after their "Exif\0\0";
// 1 (as stored) if it is missing or damaged. Any thread; never throws. CIPA DC-008 (Exif 2.32),
// 4.6.4 A, tag 0x0112.
int exif_orientation(Bytes tiff);

}  // namespace stoker
