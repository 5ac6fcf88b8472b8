#pragma once

#include <cstdint>

#include "io/decoder/image_header.h"

namespace stoker {

// libpng: a PNG file -> rows of RGB without padding, in `rgb`, which the caller owns and which has
// room for the header's size. Levels of 16 bits lose their lower half, and transparency is left
// out, as OpenCV does. Any thread. Throws BadSample(corrupt), with what libpng says of the file;
// its warnings are of parts that no pixel depends on, and nobody is told.
//
// Not OpenCV, which leaves it to libpng to print warnings and errors on the terminal.
void decode_png(Bytes file, const ImageHeader& header, uint8_t* rgb);

}  // namespace stoker
