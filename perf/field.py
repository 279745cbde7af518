#!/usr/bin/env python3
"""Makes the map of W3's --walk game, in Tiled's JSON format: a field with trees, fences and ponds (some 6 % of its tiles
are solid), monsters in herds all over it, and spawns all over it, so that the dead do not come back as a crowd. No portals.
The same output for the same arguments.

usage: field.py WIDTH_M MONSTERS FILE
"""

import base64
import json
import random
import struct
import sys
import zlib

TILE_M = 2
PX = 16
GRASS, TREE, FENCE, WATER = 1, 2, 3, 4  # the three are solid
KINDS = ("slime", "slime", "boar", "wolf", "bat")  # of lua/content/monsters.yaml
HERDS_MAX, SPAWNS_MAX = 1024, 256
HERD_RADIUS_M = 25
SPAWN_TILES = 6


def walls(side, draw):
    tiles = bytearray([GRASS]) * (side * side)
    for at in range(side * side):
        if draw.randrange(100) < 2:
            tiles[at] = TREE
    for _ in range(side * side // 400):  # fences of 3 to 10 tiles
        x, y, length, along = draw.randrange(side), draw.randrange(side), draw.randrange(3, 11), draw.randrange(2)
        for i in range(length):
            cx, cy = (x + i, y) if along else (x, y + i)
            if cx < side and cy < side:
                tiles[cy * side + cx] = FENCE
    for _ in range(side * side // 1600):  # ponds
        x, y, half = draw.randrange(side), draw.randrange(side), draw.randrange(1, 5)
        for cy in range(max(0, y - half), min(side, y + half + 1)):
            for cx in range(max(0, x - half), min(side, x + half + 1)):
                if (cx - x) ** 2 + (cy - y) ** 2 <= half * half:
                    tiles[cy * side + cx] = WATER
    return tiles


def grid(side, count, draw):
    """Places in an even grid, a little moved by chance, at least 4 tiles from the edge."""
    across = 1
    while across * across < count:
        across += 1
    step = (side - 8) / across
    for i in range(count):
        yield (int(4 + (i % across + 0.25 + draw.random() / 2) * step),
               int(4 + (i // across + 0.25 + draw.random() / 2) * step))


def clear(tiles, side, x, y, half):
    for cy in range(max(0, y - half), min(side, y + half + 1)):
        for cx in range(max(0, x - half), min(side, x + half + 1)):
            tiles[cy * side + cx] = GRASS


def thing(number, what, x, y, side_tiles=0, **properties):
    types = {int: "int", float: "float", str: "string"}
    entry = {"id": number, "name": "", "type": what, "x": x * PX, "y": y * PX, "width": side_tiles * PX,
             "height": side_tiles * PX, "rotation": 0, "visible": True,
             "properties": [{"name": k, "type": types[type(v)], "value": v} for k, v in sorted(properties.items())]}
    if not side_tiles:
        entry["point"] = True
        entry["x"] += PX // 2
        entry["y"] += PX // 2
    return entry


def field(width_m, monsters):
    side, draw = width_m // TILE_M, random.Random(4)
    tiles = walls(side, draw)
    places = []
    for x, y in grid(side, min(SPAWNS_MAX, max(1, side * side // 2500)), draw):
        clear(tiles, side, x, y, SPAWN_TILES)
        places.append(thing(len(places) + 1, "spawn", x - SPAWN_TILES // 2, y - SPAWN_TILES // 2, SPAWN_TILES))
    herds = min(HERDS_MAX, monsters)
    for i, (x, y) in enumerate(grid(side, herds, draw)):
        clear(tiles, side, x, y, 1)
        places.append(thing(len(places) + 1, "monster", x, y, kind=KINDS[i % len(KINDS)],
                            count=monsters * (i + 1) // herds - monsters * i // herds, radius=float(HERD_RADIUS_M)))
    data = struct.pack(f"<{side * side}I", *tiles)
    return {
        "type": "map", "version": "1.10", "orientation": "orthogonal", "renderorder": "right-down", "infinite": False,
        "width": side, "height": side, "tilewidth": PX, "tileheight": PX,
        "properties": [{"name": "tile_mm", "type": "int", "value": TILE_M * 1000}],
        "tilesets": [{"firstgid": 1, "name": "field", "tilewidth": PX, "tileheight": PX, "tilecount": 4, "columns": 4,
                      "tiles": [{"id": gid - 1, "properties": [{"name": "solid", "type": "bool", "value": True}]}
                                for gid in (TREE, FENCE, WATER)]}],
        "layers": [{"id": 1, "type": "tilelayer", "name": "ground", "width": side, "height": side, "x": 0, "y": 0,
                    "encoding": "base64", "compression": "zlib",
                    "data": base64.b64encode(zlib.compress(data, 1)).decode()},
                   {"id": 2, "type": "objectgroup", "name": "places", "objects": places}],
    }


def main():
    if len(sys.argv) != 4 or not sys.argv[1].isdigit() or not sys.argv[2].isdigit():
        sys.exit(__doc__)
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        json.dump(field(int(sys.argv[1]), int(sys.argv[2])), file)


if __name__ == "__main__":
    main()
