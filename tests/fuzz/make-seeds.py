#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the seeds of the corpora of unwind information; needed when the form of the inputs has changed:

	make-seeds.py DIRECTORY LIBC SMALL.STREAM AARCH64.O DEBUG-FRAME.O

They are cut from real data: unwind information of a C library and of objects (of any C file), samples of a
recorded stream that contains its images. The rest is written by hand, one seed per form of a rule. libFuzzer
found the other files of the corpora, which have names of 40 digits. The rules of `colliding-rules` have the
same hash.
"""
import os
import struct
import sys

EH_FRAME, DEBUG_FRAME, PLT = "eh", "debug", "plt"
PLT_EXPRESSION = bytes.fromhex("0f0b770880003f1a3b2a332422")
SIGNAL_AUGMENTATION = b"zRS\0"
AX, BX, CX, DX, SI, DI, BP, SP, IP = range(9)  # in a sample
R10 = 11
RBP, RSP, RIP = 6, 7, 16  # DWARF's register numbers
NONE = 65535  # instead of a rule


def uleb(number):
    out = bytearray()
    while True:
        out.append(number & 0x7f | (0x80 if number > 0x7f else 0))
        number >>= 7
        if not number:
            return bytes(out)


def sleb(number):
    out = bytearray()
    while True:
        byte, number = number & 0x7f, number >> 7
        if (number, byte >> 6) in ((0, 0), (-1, 1)):
            return bytes(out + bytes([byte]))
        out.append(byte | 0x80)


# Instructions of a program.
def advance(n):
    return bytes([0x40 + n]) if n < 64 else b"\x04" + struct.pack("<I", n)


def offset(register, factored):
    return bytes([0x80 + register]) + uleb(factored)


def def_cfa(register, number):
    return b"\x0c" + uleb(register) + uleb(number)


def def_cfa_register(register):
    return b"\x0d" + uleb(register)


def def_cfa_offset(number):
    return b"\x0e" + uleb(number)


def def_cfa_expression(expression):
    return b"\x0f" + uleb(len(expression)) + expression


def expression(register, operations):
    return b"\x10" + uleb(register) + uleb(len(operations)) + operations


def undefined(register):
    return b"\x07" + uleb(register)


def same_value(register):
    return b"\x08" + uleb(register)


def in_register(register, other):
    return b"\x09" + uleb(register) + uleb(other)


def breg(register, number):
    return bytes([0x70 + register]) + sleb(number)


REMEMBER, RESTORE, DEREF = b"\x0a", b"\x0b", b"\x06"
USUAL = def_cfa(RSP, 8) + offset(RIP, 1)


class Section:
    """A section of unwind information under construction."""

    def __init__(self, kind, address):
        self.kind, self.address, self.bytes = kind, address, b""

        self.cie_at = 0

    def put(self, body):
        """An entry, starting with its id."""
        body += bytes(-(len(body) + 4) % 8)
        self.bytes += struct.pack("<I", len(body)) + body
        return self

    def code(self, digits):
        self.bytes += bytes.fromhex(digits)
        return self

    def cie(self, program=USUAL, augmentation=None, return_address=RIP, data_factor=-8):
        if augmentation is None:
            augmentation = b"zR\0" if self.kind == EH_FRAME else b"\0"
        self.cie_at = len(self.bytes)
        self.put((b"\0\0\0\0" if self.kind == EH_FRAME else b"\xff\xff\xff\xff") + b"\x01" +
                  augmentation + uleb(1) + sleb(data_factor) + bytes([return_address]) +
                  (b"\x01\x1b" if self.kind == EH_FRAME else b"") + program)
        return self

    def fde(self, start, length, program=b""):
        at = len(self.bytes) + 4
        if self.kind == EH_FRAME:
            self.put(struct.pack("<IiI", at - self.cie_at, start - self.address - at - 4, length) +
                      b"\0" + program)
        else:
            self.put(struct.pack("<IQQ", self.cie_at, start, length) + program)
        return self


class Elf:
    """An ELF file of 64 bits."""

    def __init__(self, data):
        self.data = data
        self.entry, phoff, shoff = struct.unpack_from("<QQQ", data, 24)
        n_segments, _, n_sections, names = struct.unpack_from("<HHHH", data, 56)
        headers = [struct.unpack_from("<IIQQQQ", data, shoff + 64 * i) for i in range(n_sections)]
        self.sections = {}
        for name, _, _, address, at, size in headers:
            name = data[headers[names][4] + name:].split(b"\0", 1)[0].decode()
            self.sections[name] = (address, data[at:at + size])
        segments = [struct.unpack_from("<IIQQQQ", data, phoff + 56 * i) for i in range(n_segments)]
        self.segment = next(((at, size, address) for kind, flags, at, address, _, size in segments
                             if kind == 1 and flags & 1), (0, 1 << 20, 0))

    def cut(self, is_wanted, name=".eh_frame", starts=None):
        """The selected FDEs with their CIEs; at `starts` if it is an object."""
        address, data = self.sections[name]
        kind = EH_FRAME if name == ".eh_frame" else DEBUG_FRAME
        out, commons, at = Section(kind, address), {}, 0
        while at + 8 <= len(data):
            size, pointer = struct.unpack_from("<II", data, at)
            if size == 0:
                break
            entry, place, at = data[at:at + 4 + size], at, at + 4 + size
            if pointer == (0 if kind == EH_FRAME else 0xffffffff):
                continue
            common = place + 4 - pointer if kind == EH_FRAME else pointer
            common_size = 4 + struct.unpack_from("<I", data, common)[0]
            if kind == EH_FRAME:
                start = address + place + 8 + struct.unpack_from("<i", entry, 8)[0]
                length = struct.unpack_from("<I", entry, 12)[0]
            else:
                start, length = struct.unpack_from("<QQ", entry, 8)
            if not is_wanted(start, length, entry, data[common:common + common_size]):
                continue
            if starts is not None:
                start, starts = starts, starts + length
            if common not in commons:
                commons[common] = len(out.bytes)
                out.bytes += data[common:common + common_size]
            here = len(out.bytes)
            if kind == EH_FRAME:
                head = struct.pack("<IIi", size, here + 4 - commons[common],
                                   start - address - here - 8)
            else:
                head = struct.pack("<IIQ", size, commons[common], start)
            out.bytes += head + entry[len(head):]
        return out


def rule(cfa, return_address=3, fp=1, register=0, flags=0, cfa_offset=8, addend=0, ra_offset=-8,
         fp_offset=-16):
    return struct.pack("<BBBBIiiii", cfa, register, return_address, fp, flags, cfa_offset, addend,
                       ra_offset, fp_offset)


def table(rules, pages, first_page=0):
    """A compiled unwind table; pages are lists of (low, rule)."""
    rows = [row for page in pages for row in page]
    firsts = [sum(map(len, pages[:i])) for i in range(len(pages) + 1)]
    return (struct.pack("<QIIII", first_page, len(pages), len(rows), len(rules), 0) +
            b"".join(rules) + struct.pack(f"<{len(firsts)}I", *firsts) +
            struct.pack(f"<{len(rows)}H", *(low for low, _ in rows)) +
            struct.pack(f"<{len(rows)}H", *(which for _, which in rows)))


def table_input(sections=(), segments=((0, 1 << 20, 0),), is_aarch64=False, ready_table=b""):
    """An input of fuzz-unwind-table."""
    kinds = [section.kind for section in sections] + [None] * 2
    mode = ((1 if ready_table else 0) | (2 if is_aarch64 else 0) |
            (4 if len(sections) == 2 else 0) | (8 if kinds[0] == DEBUG_FRAME else 0) |
            (16 if kinds[1] == EH_FRAME else 0) | (32 if kinds[1] == PLT else 0))
    addresses = [section.address for section in sections] + [0] * 2
    split = len(sections[0].bytes) if len(sections) == 2 else 0
    flat = [number for segment in segments for number in segment] + [0] * 9
    return (struct.pack("<BBHI11Q", mode, len(segments), split, 1, *addresses[:2], *flat[:9]) +
            b"".join(section.bytes for section in sections) + ready_table)


FILE_SIZE = 408  # struct file
FILE, ANONYMOUS, DATA, UNAVAILABLE, PENDING = range(1, 6)  # images
CODE = 0x7f0000001000  # where offset 0x1000 of the file is mapped
STACK = 0x7ffc00000000


def engine_input(section=None, stack=b"", registers=(), mappings=((CODE, 0x1000, 0x1000, FILE),),
                 entry=0, segment=(0, 0x10000, 0), n_frames=64, ready_table=b"", mode=4):
    """An input of fuzz-engine-table."""
    values = {IP: CODE + 1, SP: STACK, BP: STACK + 64, **dict(registers)}
    mode |= (1 if ready_table else 0) | (2 if section and section.kind == DEBUG_FRAME else 0)
    flat = [number for mapping in mappings for number in mapping] + [0] * 16
    return (struct.pack("<BBHI", mode, n_frames - 1, len(stack), len(mappings)) +
            struct.pack("<17Q", *(values.get(i, i) for i in range(17))) +
            struct.pack("<16Q", *flat[:16]) +
            struct.pack("<5Q", entry, *segment, section.address if section else 0) + stack +
            (section.bytes if section else ready_table))


def words(*numbers):
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def table_seeds(libc, small, aarch64, debug):
    """Name → input."""
    eh = Section(EH_FRAME, 0x8000).cie().fde(0x1000, 64, advance(1) + def_cfa_offset(16))
    program = (advance(1) + def_cfa_offset(16) + offset(RBP, 2) + advance(3) +
               def_cfa_register(RBP) + REMEMBER + advance(200) + def_cfa(RSP, 8) + advance(1) +
               RESTORE)
    forms = [
        def_cfa_expression(breg(RBP, -8) + DEREF), def_cfa_expression(
            breg(RSP, 160) + DEREF + b"\x23\x08"), def_cfa_expression(PLT_EXPRESSION[2:]),
        def_cfa(10, 0), expression(RIP, breg(RSP, 168)), expression(RBP, breg(RBP, 0)),
        undefined(RIP), same_value(RBP), in_register(RIP, 3), b"\x16\x06\x01\x30", b"\x14\x07\x00",
        b"\x2f\x10\x08", b"\x05\x06\x02", b"\xc6", b"\x06\x10", b"\x11\x06\x7e", b"\x12\x07\x7e",
        b"\x13\x7e", b"\x15\x06\x7e", b"\x2e\x10", b"\x2d",
    ]
    every_form = Section(EH_FRAME, 0x8000).cie()
    for i, form in enumerate(forms):
        every_form.fde(0x1000 + 32 * i, 32, advance(4) + form + b"\x02\x04" + USUAL)
    many = Section(DEBUG_FRAME, 0).cie()
    for i in range(70):
        many.fde(0x1000 + 16 * i, 8)
    far = Section(EH_FRAME, 0).cie().fde(0x0fff0, 0x20).fde(0x4fff8, 0x20008, program)
    over = Section(DEBUG_FRAME, 0).cie(augmentation=b"\0").fde(0x0ff0, 0x200, program)
    rules = [rule(cfa) for cfa in range(1, 8)]
    one_of_libc = lambda start, length, entry, common: SIGNAL_AUGMENTATION in common
    return {
        "nothing": b"",
        "small": table_input([small.cut(lambda *_: True)], [small.segment]),
        "libc-signal-frame": table_input([libc.cut(one_of_libc)], [libc.segment]),
        "libc-plt": table_input([libc.cut(lambda start, length, entry, common:
                                          PLT_EXPRESSION in entry)], [libc.segment]),
        "aarch64": table_input([aarch64.cut(lambda *_: True, starts=0x400)], is_aarch64=True),
        "debug-frame": table_input([debug.cut(lambda *_: True, ".debug_frame", 0x400)]),
        "remembered": table_input([Section(EH_FRAME, 0).cie().fde(0x1000, 256, program)]),
        "many-rules": table_input([Section(EH_FRAME, 0).cie().fde(0x1000, 4096, b"".join(
            advance(1) + def_cfa_offset(8 * i) for i in range(800)))]),
        "every-form": table_input([every_form]),
        "every-form-aarch64": table_input([every_form], is_aarch64=True),
        "restore-in-cie": table_input([Section(EH_FRAME, 0).cie(USUAL + b"\xd0\xc6").fde(
            0x1000, 16)]),
        "negative-offset-of-least-number": table_input([Section(EH_FRAME, 0).cie(
            data_factor=1).fde(0x1000, 16, b"\x2f\x06" + uleb(1 << 63))]),
        "pages": table_input([far]),
        "two-sections": table_input([eh, over]),
        "remembered-too-often": table_input([Section(EH_FRAME, 0).cie().fde(
            0x1000, 16, 70 * REMEMBER + 70 * RESTORE)]),
        "augmentation-too-long": table_input([Section(EH_FRAME, 0).put(
            bytes(4) + b"\x01zR\0\x01\x78\x10" + uleb((1 << 64) - 4) + b"\x1b").fde(0x1000, 16)]),
        "long-cie": table_input([Section(EH_FRAME, 0).cie(USUAL + bytes(300)).fde(0x1000, 16)]),
        "many-pieces": table_input([many, Section(DEBUG_FRAME, 0).cie().fde(0x800, 0x2000)]),
        "plt-of-lld": table_input([eh, Section(PLT, 0x1800).code(
            "ff3501020304ff25010203040f1f4000 ff25010203046800000000e9e0ffffff")]),
        "plt-of-mold": table_input([eh, Section(PLT, 0x0ff0).code(
            "f30f1efa4153ff3501020304ff2501020304cccc f30f1efa41bb00000000ff2501020304")]),
        "two-sections-reversed": table_input([over, eh]),
        "two-of-one-kind": table_input([every_form, Section(EH_FRAME, 0x9000).cie().fde(
            0x0800, 0x1000, program)]),
        "segments": table_input([far], [(0x1000, 0xf000, 0), (0x10000, 0x1000, 0xf000),
                                        (0x20000, 0x40000, 0x40000)]),
        "segments-of-one-part": table_input([far], [(0, 0x10000, 0), (0x8000, 0x70000, 0x10000)]),
        "table": table_input(ready_table=table(rules, [[(0, NONE), (16, 0), (17, 1), (4000, NONE)],
                                                       [(0, 2), (9, 3)], [(0, 4)]], 3)),
        "table-damaged": table_input(ready_table=table(rules, [
            [(5, NONE), (3, 70), (3, 1)], [], [(65535, 2), (0, 65534)]], (1 << 64) - 2)),
    }


def stream_seeds(small, samples):
    """Real samples of the program `small`, one for each sampled instruction."""
    section = small.cut(lambda *_: True)
    return {
        f"small-{registers[IP]:x}": engine_input(
            section, stack, enumerate(registers), [(0x401000, 0x1000, 0x1000, FILE)],
            small.entry, small.segment) for registers, stack in samples
    }


def engine_seeds(libc, small, samples):
    """Name → input."""
    at = lambda program, **cie: Section(EH_FRAME, 0x8000).cie(**cie).fde(0x1000, 256, program)
    mapping = (CODE, 0x1000, 0x1000, FILE)
    up = words(CODE + 40, CODE + 60, STACK + 40, CODE + 80, STACK + 64, 0, 0, 7)
    signal = libc.cut(lambda start, length, entry, common: SIGNAL_AUGMENTATION in common)
    restore = struct.unpack_from("<i", signal.bytes,
                                 struct.unpack_from("<I", signal.bytes)[0] + 12)[0]
    restore += signal.address + struct.unpack_from("<I", signal.bytes)[0] + 12 + 1
    plt = libc.cut(lambda start, length, entry, common: PLT_EXPRESSION in entry)
    plt_at = struct.unpack_from("<i", plt.bytes, struct.unpack_from("<I", plt.bytes)[0] + 12)[0]
    plt_at += plt.address + struct.unpack_from("<I", plt.bytes)[0] + 12
    at_offset = lambda address: address - libc.segment[2] + libc.segment[0]
    frames = words(*([0] * 13), 0, *([0] * 6), STACK + 240, CODE + 9, 0) + bytes(100)
    initial = words(2, STACK + 100, STACK + 110, 0, STACK + 120, 0)
    in_segment = Section(EH_FRAME, FILE_SIZE)
    in_segment.bytes = struct.pack("<BBBBi", 1, 0x1b, 0xff, 0xff, 4)
    in_segment.cie().fde(0x40, 0x100)
    rules = [rule(cfa, return_address, fp) for cfa in range(1, 8)
             for return_address, fp in ((3, 3), (4, 4), (5, 5), (6, 6))]
    every_rule = table(rules, [[(0, NONE)] + [(0x1000 + 8 * i, i) for i in range(len(rules))]])
    saved = def_cfa_expression(breg(RBP, -24) + DEREF) + offset(RBP, 2)
    return {
        **stream_seeds(small, samples),
        "nothing": b"",
        "signal-frame": engine_input(signal, frames, {IP: CODE + (restore & 0xfff)}, [
            (CODE, 0x1000, at_offset(restore) & ~0xfff, FILE)], segment=libc.segment),
        "plt": engine_input(plt, up, {IP: CODE + (plt_at & 0xfff) + 11}, [
            (CODE, 0x1000, at_offset(plt_at) & ~0xfff, FILE)], segment=libc.segment),
        "signal-frame-at-end-of-mapping": engine_input(
            Section(EH_FRAME, 0x8000).cie().fde(0x1000, 256).cie(
                augmentation=SIGNAL_AUGMENTATION).fde(0x1fff, 1),
            words(CODE + 0x1000, CODE + 9), mappings=[
                mapping, (CODE + 0x1000, 0x1000, 0, ANONYMOUS)]),
        "truncated": engine_input(at(b""), up[:20]),
        "frame-limit": engine_input(at(b""), up, n_frames=2),
        "frame-pointers": engine_input(at(def_cfa(RBP, 16) + offset(RBP, 2)), words(
            0, STACK + 32, CODE + 9, 0, STACK + 48, CODE + 10, 0, CODE + 11), {BP: STACK + 8}),
        "frame-pointer-unknown": engine_input(at(def_cfa(RBP, 16) + undefined(RBP)), up, {
            BP: STACK}),
        "register": engine_input(at(def_cfa(10, 8)), up, {R10: STACK}),
        "saved": engine_input(at(saved), words(STACK + 24, CODE + 3, CODE + 4, CODE + 5) + up, {
            BP: STACK + 24}),
        "saved-and-more": engine_input(at(def_cfa_expression(
            breg(RSP, 0) + DEREF + b"\x23\x08")), words(STACK + 24, 0, 0, CODE + 3) + up),
        "complete": engine_input(at(undefined(RIP)), up),
        "return-address-in-register": engine_input(at(in_register(RIP, 3) + in_register(
            RBP, 1)), up, {BX: CODE + 50}),
        "return-address-in-its-register": engine_input(at(same_value(RIP)), up),
        "frame-pointer-in-register": engine_input(at(in_register(RBP, 1)), up),
        "return-address-expressions": engine_input(at(expression(RIP, breg(RSP, 8)) + expression(
            RBP, breg(RBP, 0))), up, {BP: STACK}),
        "no-unwind-info": engine_input(at(b""), up, {IP: CODE + 0x800}),
        "process-entry": engine_input(at(b""), initial, {IP: CODE + 0x810}, entry=0x1800),
        "no-mapping": engine_input(at(b""), words(1), mappings=[]),
        "no-mapping-further": engine_input(at(b""), words(CODE + 40, 1)),
        "no-progress": engine_input(at(def_cfa_offset(0) + expression(RIP, breg(RSP, 0))),
                                    words(CODE + 1), {SP: STACK}),
        "images": engine_input(at(b""), words(CODE + 40, CODE + 0x1001, CODE + 0x2000), mappings=[
            mapping, (CODE + 0x1000, 0x1000, 0, ANONYMOUS), (CODE + 0x2000, 0x1000, 0, FILE)]),
        "image-unavailable": engine_input(mappings=[(CODE, 9, 0, UNAVAILABLE)]),
        "image-pending": engine_input(mappings=[(CODE, 9, 0, PENDING)]),
        "image-data": engine_input(mappings=[(CODE, 9, 0, DATA)]),
        "image-unknown": engine_input(mappings=[(CODE, 9, 0, 99)]),
        "debug-frame": engine_input(Section(DEBUG_FRAME, 0).cie().fde(0x1000, 256), up),
        "offset-beyond-4-gib": engine_input(mappings=[(CODE, 0x1000, 1 << 32, FILE)],
                                            ready_table=table([rule(1)], [[(0, 0)]], 1 << 16)),
        "eh-frame-header": engine_input(in_segment, up, {IP: CODE + 0x40}, [(
            CODE, 0x1000, 0, FILE)], segment=(0, FILE_SIZE + len(in_segment.bytes), 0), mode=12),
        "table": engine_input(stack=up, ready_table=every_rule),
        "table-of-frame-pointers": engine_input(
            stack=up, registers={IP: CODE + 8 * 4, BP: STACK + 8}, ready_table=every_rule),
    }


def read_stream(data):
    """The image of the first mapping, and a (registers, stack) for each sampled instruction."""
    image, samples, at = None, {}, 0
    while at < len(data):
        size, kind, _ = struct.unpack_from("<IHH", data, at)
        body, at = data[at + 8:at + size], at + size
        if kind == 12 and image is None:  # image_data
            image = body[16:16 + struct.unpack_from("<Q", body, 8)[0]]
        if kind == 15:  # sample
            n = struct.unpack_from("<Q", body, 56)[0]
            registers = struct.unpack_from(f"<{n}Q", body, 64)
            stack_at = 64 + 8 * n
            stack_at += 8 + 8 * struct.unpack_from("<Q", body, stack_at)[0]
            stack_size = struct.unpack_from("<Q", body, stack_at)[0]
            stack = body[stack_at + 8:stack_at + 8 + min(stack_size, 512)]
            if n == 17:
                samples[registers[IP]] = (registers, stack)
    return Elf(image), list(samples.values())


def main():
    directory, libc, stream, aarch64, debug = sys.argv[1:]
    read = lambda path: open(path, "rb").read()
    libc, aarch64, debug = (Elf(read(path)) for path in (libc, aarch64, debug))
    small, samples = read_stream(read(stream))
    corpora = {
        "unwind-table": table_seeds(libc, small, aarch64, debug),
        "engine-table": engine_seeds(libc, small, samples),
    }
    for corpus, seeds in corpora.items():
        os.makedirs(os.path.join(directory, corpus), exist_ok=True)
        for name, data in seeds.items():
            with open(os.path.join(directory, corpus, name), "wb") as file:
                file.write(data)


main()
