"""Small images in the formats that decoders read, and files that are no images, made without any library."""
import struct
import zlib


def rows(width, height, seed=0):
    """Rows of RGB bytes."""
    return [bytes((x * 7 + y * 13 + channel * 61 + seed * 37) % 256 for x in range(width) for channel in range(3))
            for y in range(height)]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


# Where the seven passes of an interlaced PNG begin, and how far their pixels lie apart: x, y, x, y.
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def png(width=24, height=16, seed=0, before=b"", packed=None, interlaced=False):
    """before: chunks in front of the pixels. packed: the compressed pixels, where they are not right."""
    all_rows = rows(width, height, seed)
    pixels = b""
    for left, top, right, down in PASSES if interlaced else ((0, 0, 1, 1),):
        for row in all_rows[top::down]:
            pixels += b"\0" + b"".join(row[3 * x:3 * x + 3] for x in range(left, width, right))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, interlaced)) + before +
            chunk(b"IDAT", zlib.compress(pixels) if packed is None else packed) + chunk(b"IEND", b""))


# libpng warns of both, and of the second one that it does not hold what its checksum says.
WRONG_PROFILE = chunk(b"iCCP", b"wrong\0\0" + zlib.compress(bytes(200)))
WRONG_CHECKSUM = chunk(b"tEXt", b"Title\0x")[:-1] + b"!"


def bmp(width=24, height=16, seed=0):
    data = b"".join(bytes(row[i + 2 - 2 * (i % 3)] if i % 3 != 1 else row[i] for i in range(len(row)))
                    + bytes(-len(row) % 4) for row in reversed(rows(width, height, seed)))
    return (b"BM" + struct.pack("<IHHI", 54 + len(data), 0, 0, 54) +
            struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(data), 2835, 2835, 0, 0) + data)


def tiff(width=24, height=16, seed=0, orientation=None, order="<"):
    """orientation: (type, the four bytes of the value)."""
    pixels = b"".join(rows(width, height, seed))
    bits = struct.pack(order + "HHH", 8, 8, 8)
    at = 8 + len(bits)

    def short(value):
        return struct.pack(order + "HH", value, 0)
    fields = [(256, 3, 1, short(width)), (257, 3, 1, short(height)), (258, 3, 3, struct.pack(order + "I", 8)),
              (259, 3, 1, short(1)), (262, 3, 1, short(2)), (273, 4, 1, struct.pack(order + "I", at)),
              (277, 3, 1, short(3)), (278, 3, 1, short(height)), (279, 4, 1, struct.pack(order + "I", len(pixels)))]
    if orientation:
        fields.insert(6, (274, orientation[0], 1, orientation[1]))
    directory = struct.pack(order + "H", len(fields))
    for tag, kind, count, value in fields:
        directory += struct.pack(order + "HHI", tag, kind, count) + value
    mark = b"II" if order == "<" else b"MM"
    return mark + struct.pack(order + "HI", 42, at + len(pixels)) + bits + pixels + directory + bytes(4)


def ppm(width=24, height=16, seed=0):
    return b"P6\n# made by a test\n%d %d\n255\n" % (width, height) + b"".join(rows(width, height, seed))


# One pixel, without loss.
WEBP = bytes.fromhex("524946461a000000574542505650384c0d0000002f00000010071011118888fe0700")
# What is no image, or none that a decoder here reads, under the word that a message says of it.
OTHERS = {
    "GIF": b"GIF89a\x10\0\x10\0" + bytes(40), "HEIC": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(40),
    "AVIF": b"\0\0\0\x18ftypavif\0\0\0\0avifmif1" + bytes(40), "JPEG XL": b"\xff\x0a" + bytes(range(60)),
    "JPEG 2000": b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(40), "HTML": b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>",
    "Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "gzip": zlib.compress(b"x", wbits=31),
    "SVG": b"<?xml version='1.0'?>\n<svg xmlns='http://www.w3.org/2000/svg'/>", "JSON": b'{"error": "no such image"}',
    "zeros": bytes(500), "PDF": b"%PDF-1.4\n%\xe2\xe3\xcf\xd3", "AppleDouble": b"\0\5\x16\7\0\2\0\0Mac OS X" + bytes(40),
}
