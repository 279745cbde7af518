#!/usr/bin/env python3
"""Proves that the examples of docs/protocol.md suffice: each packet of "A session in bytes" is read and written back to
the same bytes by a codec that was written from the page's tables, and each row of the movement table is walked."""

import pathlib
import re
import unittest

import codec
from movement import same_heading, walk

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")


class Page(unittest.TestCase):
    def test_session(self):
        rows = re.findall(r"^\| (client|server) \| `([0-9a-f ]+)` \| ([A-Z_]+)", PAGE, re.M)
        self.assertEqual(12, len(rows))
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

    def test_types(self):
        rows = re.findall(r"^\| `0x([0-9a-f]{2})` \| \w+ \| (\w+) \| (client|server) \| (\d) \|$", PAGE, re.M)
        self.assertEqual({int(byte, 16): (name, int(channel), sender) for byte, name, sender, channel in rows}, codec.TYPES)


if __name__ == "__main__":
    unittest.main()
