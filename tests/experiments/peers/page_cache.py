"""Empties the page cache of some files, and no others, and proves it by mincore(2)."""
import ctypes
import mmap
import os

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
FAILED = ctypes.c_void_p(-1).value


def cached_bytes(file, size):
    """Of the first `size` bytes of an open file."""
    if size == 0:
        return 0
    address = LIBC.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
    if address == FAILED:
        raise OSError(ctypes.get_errno(), "mmap")
    try:
        pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
        if LIBC.mincore(address, size, pages) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
        return min(size, mmap.PAGESIZE * sum(page & 1 for page in pages.raw))
    finally:
        LIBC.munmap(address, size)


def drop(paths):
    """The share of the files' bytes that the kernel still has afterwards."""
    total = kept = 0
    for path in paths:
        file = os.open(path, os.O_RDONLY)
        try:
            os.fsync(file)  # dirty pages would stay
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            size = os.fstat(file).st_size
            total, kept = total + size, kept + cached_bytes(file, size)
        finally:
            os.close(file)
    return kept / max(total, 1)
