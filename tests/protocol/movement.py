"""Movement, walls and headings exactly as docs/protocol.md says, maps as docs/content.md says."""

import base64
import glob
import json
import math
import os
import struct
import zlib


def divide(a, b):
    """Rounded towards zero, as C does."""
    return abs(a) // b * (1 if a >= 0 else -1)


class Ground:
    """The walls of a map file, and their hash."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            tmj = json.load(file)
        self.columns, self.rows = tmj["width"], tmj["height"]
        self.tile_mm = properties(tmj).get("tile_mm", 1000)
        solid_ids = {}
        for entry in tmj["tilesets"]:
            if "source" in entry:
                with open(os.path.join(os.path.dirname(path), entry["source"]), encoding="utf-8") as file:
                    entry = {**json.load(file), "firstgid": entry["firstgid"]}
            for tile in entry.get("tiles", ()):
                if properties(tile).get("solid"):
                    solid_ids[entry["firstgid"] + tile["id"]] = True
        self.solid = [[False] * self.columns for _ in range(self.rows)]  # [row from the south][column]
        for layer in tmj["layers"]:
            if layer["type"] != "tilelayer":
                continue
            whole = properties(layer).get("solid")
            for i, gid in enumerate(tile_data(layer)):
                gid &= 0x0FFFFFFF
                if gid and (whole if whole is not None else gid in solid_ids):
                    self.solid[self.rows - 1 - i // self.columns][i % self.columns] = True
        self.hash = self._hash()

    def _hash(self):
        bits = [solid for row in self.solid for solid in row]
        data = bytearray(struct.pack("<3I", self.columns, self.rows, self.tile_mm))
        for at in range(0, len(bits), 8):
            data.append(sum(bit << i for i, bit in enumerate(bits[at:at + 8])))
        value = 0xCBF29CE484222325
        for byte in data:
            value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
        return value or 1

    def clear(self, x, y, radius):
        """Whether an actor there covers nothing solid."""
        return not any(self.solid[row][column] for row in self._tiles(y, radius, self.rows)
                       for column in self._tiles(x, radius, self.columns))

    def _tiles(self, at, radius, count):
        return range(max(0, (at - radius) // self.tile_mm), min(count - 1, (at + radius) // self.tile_mm) + 1)

    def step(self, x, y, to_x, to_y, radius):
        """Millimetre by millimetre: slow, and hard to get wrong."""
        dx, dy = to_x - x, to_y - y
        pieces = -(-max(abs(dx), abs(dy)) // self.tile_mm)
        for i in range(pieces):
            part = [divide(d * (i + 1), pieces) - divide(d * i, pieces) for d in (dx, dy)]
            for _ in range(abs(part[0])):
                if not self.clear(x + (1 if dx > 0 else -1), y, radius):
                    break
                x += 1 if dx > 0 else -1
            for _ in range(abs(part[1])):
                if not self.clear(x, y + (1 if dy > 0 else -1), radius):
                    break
                y += 1 if dy > 0 else -1
        return x, y


def properties(owner):
    return {p["name"]: p["value"] for p in owner.get("properties", ())}


def tile_data(layer):
    data = layer["data"]
    if layer.get("encoding") != "base64":
        return data
    raw = base64.b64decode(data)
    if layer.get("compression"):
        raw = zlib.decompress(raw, 47)  # zlib or gzip
    return struct.unpack(f"<{len(raw) // 4}I", raw)


def maps_of(folder):
    """Every ground of the folder's map files, by hash."""
    grounds = [Ground(path) for path in sorted(glob.glob(os.path.join(folder, "*.tmj")))]
    return {ground.hash: ground for ground in grounds}


_maps = {}


def ground_of(world):
    """The walls of the map of this Joined; None on open ground. They must be those of a file of the content."""
    if not world.get("ground_hash"):
        return None
    if not _maps:
        here = os.path.dirname(os.path.abspath(__file__))
        _maps.update(maps_of(os.path.join(here, "..", "..", "lua", "content", "maps")))
    return _maps[world["ground_hash"]]


def walk(world, x, y, heading, dx, dy):
    """One input from (x, y): the new (x, y, heading, moving). world is a Joined."""
    if dx == 0 and dy == 0:
        return x, y, heading, 0
    step = world["speed_mm_per_s"] // world["tick_hz"]
    square = dx * dx + dy * dy
    length = math.isqrt(square - 1) + 1
    divisor = max(length, 127)
    to_x = min(max(x + divide(step * dx, divisor), 0), world["width_mm"] - 1)
    to_y = min(max(y + divide(step * dy, divisor), 0), world["height_mm"] - 1)
    ground = ground_of(world)
    x, y = ground.step(x, y, to_x, to_y, world["radius_mm"]) if ground else (to_x, to_y)
    turn = round(math.atan2(dy, dx) / (2 * math.pi) * 65536) % 65536
    return x, y, turn, world["speed_mm_per_s"] * min(127, length) // 127


def same_heading(a, b):
    return (a - b + 4) % 65536 <= 8
