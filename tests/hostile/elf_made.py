# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes hostile ELF files from a good one (elf(5), of 64 bits and little-endian)."""
import lzma
import os
import struct
import zlib

HEADER_SIZE = 64
SHOFF_AT, SHNUM_AT = 40, 60  # followed by the index of the section of names
SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, info, …
SYMBOL = struct.Struct("<IBBHQQ")
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE = 1, 2, 3, 7
SHF_COMPRESSED = 0x800
ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD = 1, 2
SHN_LORESERVE, SHN_XINDEX = 0xFF00, 0xFFFF
MIB = 1 << 20
ZSTD_BLOCK, ZSTD_REPEATED, ZSTD_LAST = 128 << 10, 1, 1
SET_ADDRESS, SPECIAL_OPCODE = b"\0\x09\2", 0x20  # DWARF 5, 6.2.5: the latter advances address and line by one


def sections(data):
    """[[name, type, flags, …]] with names as numbers, and the index of the section of names."""
    start, = struct.unpack_from("<Q", data, SHOFF_AT)
    n, names = struct.unpack_from("<HH", data, SHNUM_AT)
    return [list(SECTION.unpack_from(data, start + i * SECTION.size)) for i in range(n)], names


def _name(data, table, names, section):
    at = table[names][4] + section[0]
    return data[at:data.index(b"\0", at)]


def _named(data, wanted):
    table, names = sections(data)
    for section in table:
        if _name(data, table, names, section) == wanted:
            return section
    raise AssertionError(f"there is no {wanted}")


def with_table(data, table, names):
    """The file with another section table, at its end."""
    out = bytearray(data)
    out += bytes(-len(out) % 8)
    start, n = len(out), len(table)
    if n >= SHN_LORESERVE:  # section 0 holds the number
        table[0][5], table[0][6] = n, names
        n, names = 0, SHN_XINDEX
    out += b"".join(SECTION.pack(*section) for section in table)
    struct.pack_into("<Q", out, SHOFF_AT, start)
    struct.pack_into("<HH", out, SHNUM_AT, n, names)
    return bytes(out)


def with_section(data, name, content, flags=0):
    """The file with one more section; an existing one loses its name, as libdw would take that one."""
    table, names = sections(data)
    for section in table:
        if _name(data, table, names, section) == name:
            section[0] = 0
    text = data[table[names][4]:][:table[names][5]] + name + b"\0"
    out = bytearray(data) + text
    table[names][4], table[names][5] = len(data), len(text)
    out += bytes(-len(out) % 8)
    table.append([len(text) - len(name) - 1, SHT_PROGBITS, flags, 0, len(out), len(content), 0, 0, 8, 0])
    return with_table(bytes(out) + content, table, names)


def with_compressed(data, name, content):
    """The file with the content of one of its sections replaced by compressed content."""
    table, names = sections(data)
    section = next(section for section in table if _name(data, table, names, section) == name)
    data += bytes(-len(data) % 8)
    section[2] |= SHF_COMPRESSED
    section[4:6] = len(data), len(content)
    return with_table(data + content, table, names)


def with_sparse_section(path, name, size):
    """Makes a section of the file at a path a hole after its end."""
    data = path.read_bytes()
    section = _named(data, name)
    table, names = sections(data)
    index = table.index(section)
    table[index][4:6] = len(data) + len(table) * SECTION.size + 8, size
    path.write_bytes(with_table(data, table, names))
    os.truncate(path, table[index][4] + size)
    return path


def with_many_sections(data, n):
    table, names = sections(data)
    return with_table(data, table + [list(table[-1]) for _ in range(n)], names)


def with_symbol_names(data, renamed):
    """Renames symbols: {old: new}, as bytes."""
    table, _ = sections(data)
    symbols = next(section for section in table if section[1] == SHT_SYMTAB)
    strings = table[symbols[6]]
    text = bytearray(data[strings[4]:][:strings[5]])
    out = bytearray(data)
    for at in range(symbols[4], symbols[4] + symbols[5], SYMBOL.size):
        number, *rest = SYMBOL.unpack_from(data, at)
        name = bytes(text[number:text.index(b"\0", number)])
        if name in renamed:
            SYMBOL.pack_into(out, at, len(text), *rest)
            text += renamed[name] + b"\0"
    _, names = sections(data)
    strings[4], strings[5] = len(out), len(text)
    return with_table(bytes(out + text), table, names)


def with_build_id(data, build_id):
    """Replaces the build-id by one of the same size."""
    note = _named(data, b".note.gnu.build-id")
    at = note[4] + note[5] - len(build_id)
    return data[:at] + build_id + data[at + len(build_id):]


def deflated_zeros(size):
    """Deflate's output per MiB of zeros, repeated (RFC 1951), and an empty last block."""
    compressor = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    block = compressor.compress(bytes(MIB)) + compressor.flush(zlib.Z_FULL_FLUSH)
    return block * (size // MIB) + compressor.flush()


def zlib_bomb(size):
    """That many zeros, compressed as a section; with their Adler-32 (RFC 1950)."""
    check = struct.pack(">HH", size % 65521, 1)
    return struct.pack("<IIQQ", ELFCOMPRESS_ZLIB, 0, size, 1) + b"\x78\xda" + deflated_zeros(size) + check


def zstd(*parts):
    """A section of bytes and of (byte, n), n times the byte: 128 KiB of it take four bytes (RFC 8878)."""
    blocks, size = [], 0
    for part in parts:
        kind, value, n = (ZSTD_REPEATED, bytes([part[0]]), part[1]) if isinstance(part, tuple) else (0, part, len(part))
        size += n
        while n:
            now = min(n, ZSTD_BLOCK)
            blocks.append((now << 3 | kind << 1, value if kind else value[:now]))
            value, n = value if kind else value[now:], n - now
    blocks[-1] = (blocks[-1][0] | ZSTD_LAST, blocks[-1][1])
    frame = struct.pack("<IBQ", 0xFD2FB528, 0xE0, size)  # a single segment, with its content size
    return (struct.pack("<IIQQ", ELFCOMPRESS_ZSTD, 0, size, 1) + frame +
            b"".join(struct.pack("<I", header)[:3] + value for header, value in blocks))


def zstd_bomb(size):
    """That many zeros; 128 KiB of them take four bytes."""
    return zstd((0, size))


def lines_bomb(data, n):
    """A line program that makes that many rows for the same code."""
    section = _named(data, b".debug_line")
    lines = data[section[4]:][:section[5]]
    begin = lines.index(SET_ADDRESS) + len(SET_ADDRESS) + 8
    size, *rest = struct.unpack_from("<IHBB", lines)
    assert rest[0] == 5 and size + 4 <= len(lines)  # DWARF 5
    return zstd(struct.pack("<I", begin + n - 4) + lines[4:begin], (SPECIAL_OPCODE, n))


def zlib_lie(size):
    """A section whose header claims this size."""
    return struct.pack("<IIQQ", ELFCOMPRESS_ZLIB, 0, size, 1) + zlib.compress(b"lie")


def xz_bomb(size):
    compressor = lzma.LZMACompressor(preset=0)
    parts = [compressor.compress(bytes(MIB)) for _ in range(size // MIB)]
    return b"".join(parts) + compressor.flush()


def gzip_bomb(size):
    """An ELF file, compressed as libdwfl accepts it, padded to whole pages."""
    check = 0
    for _ in range(size // MIB):
        check = zlib.crc32(bytes(MIB), check)
    data = (b"\x1f\x8b\x08\0\0\0\0\0\2\xff" + deflated_zeros(size) +  # RFC 1952
            struct.pack("<II", check, size & 0xFFFFFFFF))
    return data + bytes(-len(data) % 4096)
