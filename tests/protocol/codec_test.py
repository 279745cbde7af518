#!/usr/bin/env python3
"""Proves that the examples of docs/protocol.md suffice: each packet of "A session in bytes" is read and written back to
the same bytes by a codec that was written from the page's tables, and each row of the tables of movement and walls is walked."""

import json
import pathlib
import re
import tempfile
import unittest

import codec
import movement
from movement import same_heading, walk

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")


class Page(unittest.TestCase):
    def test_session(self):
        rows = re.findall(r"^\| (client|server) \| `([0-9a-f ]+)` \| ([A-Z_]+)", PAGE, re.M)
        self.assertEqual(60, len(rows))
        for sender, text, _ in rows:
            data = bytes.fromhex(text)
            message, channel, _ = codec.TYPES[data[0]]
            got = codec.read_packet(channel, data, sender)
            self.assertEqual(data, codec.packet(message, **got[1]), message)
            for cut in range(1, len(data) - 1):
                try:
                    codec.read_packet(channel, data[:cut], sender)
                except (ValueError, UnicodeDecodeError):
                    pass

    def test_movement(self):
        world = {"width_mm": 500000, "height_mm": 500000, "tick_hz": 20, "speed_mm_per_s": 5000}
        number = r"(-?\d+)"
        rows = re.findall(rf"^\| {number}, {number} \| {number}, {number} \| {number}, {number} \| {number} \| {number} \|$",
                          PAGE, re.M)
        self.assertEqual(8, len(rows))
        for row in rows:
            dx, dy, x, y, to_x, to_y, heading, moving = map(int, row)
            got = walk(world, x, y, 0, dx, dy)
            self.assertEqual((to_x, to_y, moving), (got[0], got[1], got[3]), row)
            self.assertTrue(same_heading(heading, got[2]), row)

    def test_walls(self):
        rows, tiles = ["#...", "#..#", "####"], [2, 2, 2, 2, 2, 1, 0, 2, 2, 0, 0x80000001, 0]
        drawn = {"width": 4, "height": 3, "tilesets": [{"firstgid": 1, "tiles": [
            {"id": 1, "properties": [{"name": "solid", "type": "bool", "value": True}]}]}],
                 "layers": [{"type": "tilelayer", "data": tiles}]}
        with tempfile.NamedTemporaryFile("w", suffix=".tmj") as file:
            json.dump(drawn, file)
            file.flush()
            ground = movement.Ground(file.name)
        self.assertEqual(rows, ["".join(".#"[solid] for solid in row) for row in ground.solid])
        self.assertIn(f"have the hash `{ground.hash:#018x}`", PAGE)
        movement._maps[ground.hash] = ground
        world = {"width_mm": 4000, "height_mm": 3000, "tick_hz": 20, "speed_mm_per_s": 5000, "radius_mm": 300,
                 "ground_hash": ground.hash}
        number = r"(-?\d+)"
        rows = re.findall(rf"^\| {number}, {number} \| {number}, {number} \| {number}, {number} \|$", PAGE, re.M)
        self.assertEqual(6, len(rows))
        for row in rows:
            dx, dy, x, y, to_x, to_y = map(int, row)
            self.assertEqual((to_x, to_y), walk(world, x, y, 0, dx, dy)[:2], row)

    def test_types(self):
        rows = re.findall(r"^\| `0x([0-9a-f]{2})` \| \w+ \| (\w+) \| (client|server) \| (\d) \|$", PAGE, re.M)
        self.assertEqual({int(byte, 16): (name, int(channel), sender) for byte, name, sender, channel in rows}, codec.TYPES)

    def test_a_walker_takes_all_that_a_server_says(self):
        with open(pathlib.Path(__file__).with_name("walker.py")) as file:
            taken = set(re.findall(r"\bon_(\w+)\b", file.read()))
        self.assertEqual(set(), {name for name, _, sender in codec.TYPES.values() if sender == "server"} - taken)


if __name__ == "__main__":
    unittest.main()
