"""Movement and headings exactly as docs/protocol.md says."""

import math


def divide(a, b):
    """Rounded towards zero, as C does."""
    return abs(a) // b * (1 if a >= 0 else -1)


def walk(world, x, y, heading, dx, dy):
    """One input from (x, y): the new (x, y, heading, moving). world is a Joined."""
    if dx == 0 and dy == 0:
        return x, y, heading, 0
    step = world["speed_mm_per_s"] // world["tick_hz"]
    square = dx * dx + dy * dy
    length = math.isqrt(square - 1) + 1
    divisor = max(length, 127)
    x = min(max(x + divide(step * dx, divisor), 0), world["width_mm"] - 1)
    y = min(max(y + divide(step * dy, divisor), 0), world["height_mm"] - 1)
    turn = round(math.atan2(dy, dx) / (2 * math.pi) * 65536) % 65536
    return x, y, turn, world["speed_mm_per_s"] * min(127, length) // 127


def same_heading(a, b):
    return (a - b + 4) % 65536 <= 8
