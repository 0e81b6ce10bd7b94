"""What a shared library of any platform exports and imports, read from its bytes: ELF, PE and Mach-O of 64 bits."""

import struct


def structure(data):
    """The processor, the exported names and the imported names."""
    kinds = {b"\x7fELF": _elf, b"MZ": _portable_executable, b"\xcf\xfa\xed\xfe": _mach_o}
    return next(read(data) for magic, read in kinds.items() if data.startswith(magic))


def _text(data, place):
    return data[place : data.index(b"\0", place)].decode()


def _elf(data):
    machine = {62: "x86_64", 183: "aarch64"}[struct.unpack_from("<H", data, 18)[0]]
    table, (size, count) = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + k * size) for k in range(count)]
    symbols = next(s for s in sections if s[1] == 11)
    names = sections[symbols[6]][4]
    exports, imports = set(), set()
    for place in range(symbols[4] + 24, symbols[4] + symbols[5], 24):
        name, _, _, section = struct.unpack_from("<IBBH", data, place)
        (exports if section else imports).add(_text(data, names + name))
    return machine, exports, imports


def _portable_executable(data):
    head = struct.unpack_from("<I", data, 60)[0] + 4
    machine, count = struct.unpack_from("<HH", data, head)
    optional, size = head + 20, struct.unpack_from("<H", data, head + 16)[0]
    sections = [struct.unpack_from("<8sIIII", data, optional + size + 40 * k) for k in range(count)]

    def at(address):
        return next(s[4] + address - s[2] for s in sections if s[2] <= address < s[2] + max(s[1], s[3]))

    export, imported = (struct.unpack_from("<I", data, optional + 112 + 8 * k)[0] for k in range(2))
    named, names = (
        struct.unpack_from("<I", data, at(export) + 24)[0],
        struct.unpack_from("<I", data, at(export) + 32)[0],
    )
    exports = {_text(data, at(struct.unpack_from("<I", data, at(names) + 4 * k)[0])) for k in range(named)}
    imports, place = set(), at(imported)
    while (library := struct.unpack_from("<IIIII", data, place))[3]:
        imports.add(_text(data, at(library[3])).lower())
        place += 20
    return {0x8664: "x86_64"}[machine], exports, imports


def _mach_o(data):
    machine = {0x01000007: "x86_64", 0x0100000C: "aarch64"}[struct.unpack_from("<I", data, 4)[0]]
    commands, place = struct.unpack_from("<I", data, 16)[0], 32
    for _ in range(commands):
        kind, size = struct.unpack_from("<II", data, place)
        if kind == 2:
            symbols, count, strings = struct.unpack_from("<III", data, place + 8)
        place += size
    exports, imports = set(), set()
    for k in range(count):
        name, sort, _, _, _ = struct.unpack_from("<IBBHQ", data, symbols + 16 * k)
        if sort & 1 and not sort & 0xE0:
            (exports if sort & 0x0E else imports).add(_text(data, strings + name).removeprefix("_"))
    return machine, exports, imports
