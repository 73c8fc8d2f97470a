# SPDX-License-Identifier: GPL-3.0-or-later
"""zstd, by the library that the stages use."""
import ctypes
import struct

LIBRARY = ctypes.CDLL("libzstd.so.1")
for function in "ZSTD_compress", "ZSTD_decompress", "ZSTD_compressBound", "ZSTD_findFrameCompressedSize":
    getattr(LIBRARY, function).restype = ctypes.c_size_t
LIBRARY.ZSTD_compress.argtypes = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
LIBRARY.ZSTD_decompress.argtypes = LIBRARY.ZSTD_compress.argtypes[:4]
LIBRARY.ZSTD_compressBound.argtypes = ctypes.c_size_t,
LIBRARY.ZSTD_findFrameCompressedSize.argtypes = ctypes.c_char_p, ctypes.c_size_t
ERRORS = 120  # the last numbers of size_t (zstd_errors.h)
MAGIC = bytes.fromhex("28b52ffd")
SKIPPED_MAGIC, TABLE_MAGIC = 0x184D2A5E, 0x8F92EAB1
TABLE_END = struct.Struct("<IBI")


def check(size):
    assert size < 2 ** 64 - ERRORS, size
    return size


def compress(data, level=3):
    room = ctypes.create_string_buffer(LIBRARY.ZSTD_compressBound(len(data)))
    size = check(LIBRARY.ZSTD_compress(room, len(room), data, len(data), level))
    return room.raw[:size]


def decompress(frame, size):
    room = ctypes.create_string_buffer(size or 1)
    size = check(LIBRARY.ZSTD_decompress(room, size, frame, len(frame)))
    return room.raw[:size]


def frames(data):
    """Each frame that the table at the end tells of, decompressed alone."""
    n, flags, magic = TABLE_END.unpack(data[-TABLE_END.size:])
    assert (flags, magic) == (0, TABLE_MAGIC)
    table = data[-TABLE_END.size - 8 * n - 8:]
    assert struct.unpack_from("<II", table) == (SKIPPED_MAGIC, len(table) - 8)
    found, at = [], 0
    for compressed, size in struct.iter_unpack("<II", table[8:-TABLE_END.size]):
        assert LIBRARY.ZSTD_findFrameCompressedSize(data[at:], len(data) - at) == compressed
        found.append(decompress(data[at:at + compressed], size))
        at += compressed
    assert at == len(data) - len(table)
    return found
