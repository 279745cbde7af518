#!/usr/bin/env python3
"""answers.py KIND CAPTURE ANSWERS: holds the server's answers against the capture that they are for.

probes   each probe came back once: addresses and ports swapped, the payload the same but for the
         kind (0x81) and the state (1, ready)
swapped  each frame came back with MACs, addresses and ports swapped, the payload untouched
sessions each message of a benchmark session came back once, on its channel and of its kind; of each
         session the unreliable and the reliable ones in order; each reliable one is acknowledged
smaller  answers have in all no more bytes than what they answer, and there are no more of them
Frames that do not answer the capture are left out of account."""

import struct
import sys


def frames(path):
    with open(path, "rb") as file:
        data = file.read()
    # Microseconds, or nanoseconds, which net_pcap writes.
    if data[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        sys.exit(f"{path}: not a capture of a little-endian machine")
    at = 24
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16 : at + 16 + size]
        at += 16 + size


def datagrams(path):
    """(source, destination, IPv4 id, payload) of each UDP datagram over IPv4."""
    for frame in frames(path):
        if len(frame) < 42 or frame[12:14] != b"\x08\x00" or frame[14] != 0x45 or frame[23] != 17:
            continue
        size = struct.unpack_from(">H", frame, 38)[0]
        yield (
            frame[26:30] + frame[34:36],
            frame[30:34] + frame[36:38],
            frame[18:20],
            frame[42 : 34 + size],
        )


# ENet's commands that matter here: bytes with the header, and where the length of their data stands.
SENDS = {6: (6, 4), 7: (8, 6), 9: (8, 6)}
ACKNOWLEDGE, PLAIN = 1, {1: 8, 4: 8, 5: 4, 10: 12, 11: 16}


def commands(payload):
    """(command, channel, sequence number, data) of each command of an ENet datagram without checksum."""
    at = 4 if payload[0] & 0x80 else 2
    while at + 4 <= len(payload):
        command, channel, number = struct.unpack_from(">BBH", payload, at)
        size, length_at = SENDS.get(command & 0xF, (PLAIN.get(command & 0xF, 0), None))
        if not size:
            sys.exit(f"an answer with command {command & 0xF}")
        data = struct.unpack_from(">H", payload, at + length_at)[0] if length_at else 0
        yield command & 0xF, channel, number, payload[at + size : at + size + data]
        at += size + data


def sessions(asked, came):
    """What is wrong, in words, of messages asked and what came back."""
    want, acknowledged, got = {}, {}, {}
    for source, _, _, payload in asked:
        for command, channel, number, data in commands(payload):
            want.setdefault(source, []).append((command, channel, data))
            if command == 6:
                acknowledged.setdefault(source, []).append(number)
    for _, client, _, payload in came:
        if client not in want:
            continue
        if struct.unpack_from(">H", payload)[0] & 0x3FFF != 0x1101:
            return "an answer with another peer id or session"
        for command, channel, number, data in commands(payload):
            if command == ACKNOWLEDGE:
                acknowledged.get(client, []).remove(number)
            else:
                got.setdefault(client, []).append((command, channel, data))
    for source, messages in want.items():
        back = got.get(source, [])
        if messages[0][0] == 9:
            messages, back = sorted(messages), sorted(back)
        if messages != back:
            return f"session {source.hex()}: {len(messages)} messages asked, {len(back)} came, or in another order"
    left = sum(len(numbers) for numbers in acknowledged.values())
    return f"{left} reliable messages not acknowledged" if left else None


def expected(kind, payload):
    if kind == "probes":
        return payload[:2] + b"\x81\x01" + payload[4:]
    return payload


def main():
    kind, capture, answers = sys.argv[1:]
    asked = list(datagrams(capture))
    came = list(datagrams(answers))
    if kind == "smaller":
        sources = {source for source, _, _, _ in asked}
        came = [answer for answer in came if answer[1] in sources]
        sent, got = (sum(len(d[3]) for d in side) for side in (asked, came))
        print(f"{len(asked)} datagrams of {sent} bytes asked, {len(came)} of {got} answered")
        sys.exit(not came or got > sent or len(came) > len(asked))
    if kind == "sessions":
        wrong = sessions(asked, came) if asked else "nothing asked"
        print(wrong or f"{len(asked)} messages asked, all came back")
        sys.exit(bool(wrong))
    want = {}
    for source, server, number, payload in asked:
        key = (server, source, number, expected(kind, payload))
        want[key] = want.get(key, 0) + 1
    strange = 0
    for answer in came:
        if want.get(answer, 0):
            want[answer] -= 1
        elif kind == "swapped" or answer[3][:2] == b"\x3f\xff":
            strange += 1
    missing = sum(want.values())
    print(f"{len(asked)} asked, {missing} not answered, {strange} answers to nothing")
    sys.exit(bool(missing or strange or not asked))


if __name__ == "__main__":
    main()
