#!/usr/bin/env python3
"""Makes the sample maps: lua/content/maps/{meadow,cave}.tmj with their tileset town.tsj and its picture town.png, to be
opened with Tiled (mapeditor.org). The same output on every run; a test compares it with what is checked in.

usage: make_maps.py FOLDER
"""

import base64
import json
import os
import random
import struct
import sys
import zlib

PX = 16  # a tile's picture
COLUMNS = 8  # of the tileset's picture

# name, (red, green, blue), pattern, solid
TILES = [
    ("grass", (96, 152, 72), "blades", False),
    ("flowers", (96, 152, 72), "flowers", False),
    ("tall grass", (78, 134, 62), "blades", False),
    ("path", (176, 148, 104), "grain", False),
    ("paving", (158, 154, 148), "bricks", False),
    ("field", (140, 116, 60), "rows", False),
    ("sand", (206, 190, 140), "grain", False),
    ("bridge", (134, 96, 60), "planks", False),
    ("water", (62, 104, 164), "waves", True),
    ("town wall", (112, 108, 106), "bricks", True),
    ("house wall", (150, 118, 90), "bricks", True),
    ("roof", (158, 74, 58), "rows", True),
    ("floor", (170, 136, 96), "planks", False),
    ("door", (104, 68, 40), "planks", False),
    ("tree", (48, 96, 50), "crown", True),
    ("bush", (70, 120, 56), "crown", True),
    ("rock", (104, 98, 96), "grain", True),
    ("fence", (134, 104, 66), "post", True),
    ("fountain", (90, 140, 190), "waves", True),
    ("stall", (190, 120, 60), "rows", True),
    ("cave mouth", (40, 36, 38), "grain", False),
    ("cave floor", (98, 88, 80), "grain", False),
    ("cave rock", (56, 50, 50), "bricks", True),
    ("mushrooms", (98, 88, 80), "flowers", False),
]
GID = {tile[0]: i + 1 for i, tile in enumerate(TILES)}


def shade(pattern, x, y, noise):
    """How much lighter or darker a pixel is, and whether it takes another colour."""
    if pattern == "blades":
        return noise % 17 - 8, None
    if pattern == "flowers":
        return noise % 17 - 8, ((230, 210, 90), (220, 120, 130), (236, 236, 240))[noise % 3] if noise % 29 == 0 else None
    if pattern == "grain":
        return noise % 25 - 12, None
    if pattern == "bricks":
        joint = y % 5 == 0 or (x + (y // 5 % 2) * 4) % 8 == 0
        return -34 if joint else noise % 13 - 6, None
    if pattern == "rows":
        return (-22 if y % 4 == 0 else 0) + noise % 9 - 4, None
    if pattern == "planks":
        return (-26 if x % 4 == 0 else 0) + noise % 9 - 4, None
    if pattern == "waves":
        return (26 if (x + y // 2) % 8 == (y * 3) % 8 else 0) + noise % 9 - 4, None
    if pattern == "crown":
        far = (x - 7.5) ** 2 + (y - 7.5) ** 2
        return noise % 29 - 14 + (12 if x + y < 14 else -10), (88, 142, 68) if far > 60 else None
    far = 4 <= x <= 11  # a post with rails
    return noise % 9 - 4, None if far or y in (5, 6, 10, 11) else (96, 152, 72)


def picture(path):
    rows = -(-len(TILES) // COLUMNS)
    lines = []
    draw = random.Random(7)
    pixels = [[(0, 0, 0)] * (COLUMNS * PX) for _ in range(rows * PX)]
    for i, (_, colour, pattern, _) in enumerate(TILES):
        for y in range(PX):
            for x in range(PX):
                light, other = shade(pattern, x, y, draw.randrange(10007))
                pixels[i // COLUMNS * PX + y][i % COLUMNS * PX + x] = tuple(
                    min(255, max(0, c + light)) for c in (other or colour))
    for line in pixels:
        lines.append(b"\0" + bytes(c for pixel in line for c in pixel))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n"
                   + chunk(b"IHDR", struct.pack(">IIBBBBB", COLUMNS * PX, rows * PX, 8, 2, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(b"".join(lines), 9)) + chunk(b"IEND", b""))


def write_json(path, value):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        json.dump(value, file, indent=1)
        file.write("\n")


def tileset(path):
    write_json(path, {
        "type": "tileset", "version": "1.10", "tiledversion": "1.10.2", "name": "town", "image": "town.png",
        "imagewidth": COLUMNS * PX, "imageheight": -(-len(TILES) // COLUMNS) * PX, "columns": COLUMNS,
        "tilewidth": PX, "tileheight": PX, "tilecount": len(TILES), "margin": 0, "spacing": 0,
        "tiles": [{"id": i, "properties": [{"name": "solid", "type": "bool", "value": True}]}
                  for i, tile in enumerate(TILES) if tile[3]],
    })


class Map:
    """Drawn in metres from the south-west, as the server counts; a tile is a metre."""

    def __init__(self, width, height, fill):
        self.width, self.height = width, height
        self.ground = [[GID[fill]] * width for _ in range(height)]  # [y][x]
        self.things = [[0] * width for _ in range(height)]
        self.places = []

    def box(self, x0, y0, x1, y1, tile, layer=None):
        layer = self.ground if layer is None else layer
        for y in range(max(0, y0), min(self.height, y1)):
            for x in range(max(0, x0), min(self.width, x1)):
                layer[y][x] = GID[tile] if tile else 0

    def thing(self, x, y, tile):
        self.things[y][x] = GID[tile] if tile else 0

    def frame(self, x0, y0, x1, y1, thick, tile):
        self.box(x0, y0, x1, y0 + thick, tile, self.things)
        self.box(x0, y1 - thick, x1, y1, tile, self.things)
        self.box(x0, y0, x0 + thick, y1, tile, self.things)
        self.box(x1 - thick, y0, x1, y1, tile, self.things)

    def place(self, what, name, x0, y0, x1=None, y1=None, **properties):
        entry = {"id": len(self.places) + 1, "name": name, "type": what, "rotation": 0, "visible": True,
                 "x": x0 * PX, "y": (self.height - (y0 if y1 is None else y1)) * PX,
                 "width": 0 if x1 is None else (x1 - x0) * PX, "height": 0 if y1 is None else (y1 - y0) * PX}
        if x1 is None:
            entry["point"] = True
        if properties:
            types = {bool: "bool", int: "int", float: "float", str: "string"}
            entry["properties"] = [{"name": k, "type": types[type(v)], "value": v} for k, v in sorted(properties.items())]
        self.places.append(entry)

    def layer(self, number, name, rows):
        # Stored blocks would do; level 9 keeps the file small.
        data = struct.pack(f"<{self.width * self.height}I", *(gid for row in reversed(rows) for gid in row))
        return {"id": number, "type": "tilelayer", "name": name, "width": self.width, "height": self.height, "x": 0,
                "y": 0, "opacity": 1, "visible": True, "encoding": "base64", "compression": "zlib",
                "data": base64.b64encode(zlib.compress(data, 9)).decode()}

    def write(self, path):
        write_json(path, {
            "type": "map", "version": "1.10", "tiledversion": "1.10.2", "orientation": "orthogonal",
            "renderorder": "right-down", "infinite": False, "width": self.width, "height": self.height,
            "tilewidth": PX, "tileheight": PX, "nextlayerid": 4, "nextobjectid": len(self.places) + 1,
            "properties": [{"name": "radius_mm", "type": "int", "value": 300},
                           {"name": "tile_mm", "type": "int", "value": 1000}],
            "tilesets": [{"firstgid": 1, "source": "town.tsj"}],
            "layers": [self.layer(1, "ground", self.ground), self.layer(2, "things", self.things),
                       {"id": 3, "type": "objectgroup", "name": "places", "draworder": "topdown", "opacity": 1,
                        "visible": True, "x": 0, "y": 0, "objects": self.places}],
        })


def smooth(draw, width, height, cell):
    """Value noise, 0 to 1: patches of about `cell` metres. Whole numbers inside, so it is the same everywhere."""
    columns, rows = width // cell + 2, height // cell + 2
    knots = [[draw.randrange(1000) for _ in range(columns)] for _ in range(rows)]

    def at(x, y):
        c, r, fx, fy = x // cell, y // cell, x % cell, y % cell
        low = knots[r][c] * (cell - fx) + knots[r][c + 1] * fx
        high = knots[r + 1][c] * (cell - fx) + knots[r + 1][c + 1] * fx
        return (low * (cell - fy) + high * fy) // (cell * cell) / 1000

    return at


SIDE, MID = 500, 250
WALL = (190, 310)  # the town wall, outer edges
SQUARE = (228, 272)
RIVER_HALF = 4


def river_at(y):
    """The river's middle, a polyline from north to south."""
    bends = [(0, 392), (90, 372), (180, 398), (250, 404), (330, 384), (420, 412), (500, 400)]
    for (y0, x0), (y1, x1) in zip(bends, bends[1:]):
        if y0 <= y <= y1:
            return x0 + (x1 - x0) * (y - y0) // (y1 - y0)
    return bends[-1][1]


def countryside(m, draw):
    woods, tufts = smooth(draw, SIDE, SIDE, 24), smooth(draw, SIDE, SIDE, 10)
    for y in range(SIDE):
        for x in range(SIDE):
            town = WALL[0] - 6 <= x < WALL[1] + 6 and WALL[0] - 6 <= y < WALL[1] + 6
            if tufts(x, y) > 0.62:
                m.ground[y][x] = GID["tall grass"]
            elif draw.randrange(40) == 0:
                m.ground[y][x] = GID["flowers"]
            if town:
                continue
            dense = woods(x, y)
            if draw.randrange(1000) < (150 if dense > 0.66 else 30 if dense > 0.5 else 6):
                m.thing(x, y, "tree")
            elif draw.randrange(150) == 0:
                m.thing(x, y, "bush")
    for y in range(SIDE):
        middle = river_at(y)
        for x in range(middle - RIVER_HALF - 2, middle + RIVER_HALF + 2):
            m.thing(x, y, None)
            m.ground[y][x] = GID["water" if middle - RIVER_HALF <= x < middle + RIVER_HALF else "sand"]
    for y in range(110, 160):  # a pond in the south-west
        for x in range(100, 160):
            far = (x - 130) ** 2 + ((y - 135) * 5 // 4) ** 2
            if far < 28 ** 2:
                m.thing(x, y, None)
                m.ground[y][x] = GID["water" if far < 25 ** 2 else "sand"]


def roads(m):
    """From each gate to the edge of the map, four metres wide; a bridge over the river."""
    for lane in range(MID - 2, MID + 2):
        for at in range(SIDE):
            if not WALL[0] <= at < WALL[1]:
                for x, y in ((lane, at), (at, lane)):
                    m.thing(x, y, None)
                    wet = m.ground[y][x] in (GID["water"], GID["sand"])
                    m.ground[y][x] = GID["bridge" if wet else "path"]
    for at in range(river_at(MID) - RIVER_HALF - 2, river_at(MID) + RIVER_HALF + 2):
        for lane in (MID - 3, MID + 2):
            m.thing(at, lane, "fence")


def hill(m, draw):
    """Rocks in the north, and the way into the cave."""
    for y in range(428, 470):
        for x in range(205, 296):
            far = (x - MID) ** 2 // 2 + (y - 452) ** 2
            if far < 500 + draw.randrange(260):
                m.thing(x, y, "rock")
    m.box(MID - 2, 420, MID + 2, 449, None, m.things)
    m.box(MID - 2, 420, MID + 2, 448, "path")
    m.box(MID - 2, 448, MID + 2, 449, "cave mouth")
    m.box(MID - 2, 449, MID + 2, SIDE, "rock", m.things)
    m.box(MID - 2, 470, MID + 2, SIDE, None, m.things)


def fields(m, draw):
    """Behind fences, with a gap on the side of the road."""
    for x0, y0 in ((60, 262), (100, 262), (60, 216), (100, 216)):
        m.box(x0, y0, x0 + 34, y0 + 24, None, m.things)
        m.box(x0 + 1, y0 + 1, x0 + 33, y0 + 23, "field")
        m.frame(x0, y0, x0 + 34, y0 + 24, 1, "fence")
        gap = y0 if y0 > MID else y0 + 23
        m.box(x0 + 15, gap, x0 + 18, gap + 1, None, m.things)
        for _ in range(3):
            m.thing(x0 + 4 + draw.randrange(26), y0 + 4 + draw.randrange(16), "bush")


def house(m, draw, x, y, width, depth, open_to):
    """With a room to go into, or shut under its roof. The door is in the south or the north wall."""
    door = x + 2 + draw.randrange(width - 4)
    at = y if open_to == "south" else y + depth - 1
    if draw.randrange(3):
        m.box(x, y, x + width, y + depth, "floor")
        m.frame(x, y, x + width, y + depth, 1, "house wall")
        m.thing(door, at, None)
        m.ground[at][door] = GID["door"]
        m.thing(x + 1, y + depth - 2 if open_to == "south" else y + 1, "stall")
    else:
        m.box(x, y, x + width, y + depth, "roof", m.things)
        m.thing(door, at, "house wall")


def town(m, draw):
    low, high = WALL
    m.box(low, low, high, high, None, m.things)
    m.frame(low, low, high, high, 2, "town wall")
    for x, y in ((low, low), (low, high - 5), (high - 5, low), (high - 5, high - 5)):  # towers
        m.box(x, y, x + 5, y + 5, "town wall", m.things)
    for lane in range(MID - 3, MID + 3):  # streets, and gates where they meet the wall
        for at in range(low, high):
            for x, y in ((lane, at), (at, lane)):
                m.ground[y][x] = GID["paving" if abs(at - MID) < 56 else "path"]
                m.thing(x, y, None)
    # A lane inside the wall, and one half way, round the square.
    for inset in (3, 17):
        for at in range(low + inset, high - inset):
            for x, y in ((at, low + inset), (at, high - inset - 1), (low + inset, at), (high - inset - 1, at)):
                for dx, dy in ((0, 0), (1, 0), (0, 1)):
                    if low + 2 <= x + dx < high - 2 and low + 2 <= y + dy < high - 2:
                        m.ground[y + dy][x + dx] = GID["path"]
    s0, s1 = SQUARE
    m.box(s0, s0, s1, s1, "paving")
    for y, side in ((low + 7, "north"), (low + 22, "south"), (high - 15, "south"), (high - 30, "north")):
        inner = side == ("south" if y < MID else "north")  # between the lanes; else along the wall
        x = low + (21 if inner else 7)
        while x < high - (30 if inner else 13):
            width, depth = 7 + draw.randrange(4), 7 + draw.randrange(2)
            if x + width <= MID - 4 or x >= MID + 4:
                house(m, draw, x, y, width, depth, side)
                x += width + 2 + draw.randrange(2)
            else:
                x = MID + 4
    for x0 in (low + 7, high - 15):  # beside the square
        y = s0 + 2
        while y + 8 < s1 - 2:
            if y + 8 <= MID - 4 or y >= MID + 4:
                house(m, draw, x0, y, 8, 8, "south" if y < MID else "north")
                y += 10
            else:
                y = MID + 4
    # The square: a fountain, market stalls, trees at its corners.
    m.box(242, 262, 246, 266, "fountain", m.things)
    for x in (254, 258, 262):
        m.box(x, 264, x + 2, 265, "stall", m.things)
        m.box(x, 233, x + 2, 234, "stall", m.things)
    for x in (s0 + 1, s1 - 2):
        for y in (s0 + 1, s1 - 2):
            m.thing(x, y, "tree")


def meadow(path):
    m, draw = Map(SIDE, SIDE, "grass"), random.Random(2)
    countryside(m, draw)
    fields(m, draw)
    hill(m, draw)
    roads(m)
    m.box(MID - 2, 449, MID + 2, 474, "rock", m.things)  # the road ends at the cave and begins behind the hill
    m.box(MID - 2, 448, MID + 2, 449, "cave mouth")
    town(m, draw)
    m.place("spawn", "square", 244, 244, 256, 256)
    m.place("spawn", "cave_mouth", 248, 440, 252, 445, arrival=True)
    m.place("portal", "into the cave", 248, 448, 252, 449, target_map="cave", target_spawn="mouth")
    m.place("safe_zone", "town", WALL[0], WALL[0], WALL[1], WALL[1])
    m.place("npc", "Old Tom", 250, 250, tag="tom")
    m.place("npc", "Watchman", 240, 240, tag="watchman")
    for name, kind, x, y, count, radius in (
            ("slimes by the pond", "slime", 170, 140, 6, 25.0), ("boars of the south", "boar", 320, 110, 5, 30.0),
            ("wolves of the wood", "wolf", 110, 380, 5, 30.0), ("slimes over the river", "slime", 450, 300, 4, 25.0)):
        m.place("monster", name, x, y, kind=kind, count=count, radius=radius, respawn_s=30)
    m.write(path)


def cave(path):
    """Caverns by cellular automaton; what is not connected with the mouth is filled in."""
    m, draw = Map(96, 64, "cave floor"), random.Random(11)
    rock = [[draw.randrange(100) < 44 for _ in range(m.width)] for _ in range(m.height)]

    def solid(x, y):
        return not (0 <= x < m.width and 0 <= y < m.height) or rock[y][x]

    for _ in range(5):
        rock = [[sum(solid(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)) >= 5 for x in range(m.width)]
                for y in range(m.height)]
    for y in range(1, 14):
        for x in range(44, 52):
            rock[y][x] = False
    seen, edge = {(48, 4)}, [(48, 4)]
    while edge:
        x, y = edge.pop()
        for to in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if not solid(*to) and to not in seen:
                seen.add(to)
                edge.append(to)
    for y in range(m.height):
        for x in range(m.width):
            if (x, y) not in seen:
                m.thing(x, y, "cave rock")
            elif draw.randrange(60) == 0:
                m.ground[y][x] = GID["mushrooms"]
    m.box(46, 1, 50, 2, "cave mouth")
    m.place("spawn", "mouth", 45, 4, 51, 8)
    m.place("portal", "into the light", 46, 1, 50, 2, target_map="meadow", target_spawn="cave_mouth")
    m.place("monster", "bats", 30, 40, kind="bat", count=8, radius=16.0, respawn_s=20)
    m.place("monster", "their king", 70, 44, kind="bat king", count=1, radius=6.0, respawn_s=300)
    m.write(path)


def main():
    folder = sys.argv[1]
    picture(os.path.join(folder, "town.png"))
    tileset(os.path.join(folder, "town.tsj"))
    meadow(os.path.join(folder, "meadow.tmj"))
    cave(os.path.join(folder, "cave.tmj"))


if __name__ == "__main__":
    main()
