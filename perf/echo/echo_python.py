#!/usr/bin/python3
"""echo_python: an ENet client that is not ours, pyenet (Debian: python3-enet), proves an echo server.

echo_python.py ADDRESS PORT [crc] [range]: connects three times from one host; every kind of packet comes
back whole, on its channel; leaves by each of pyenet's ways. Exit 0 when all came back.
"""
import sys

import enet

WAIT_MS = 5000
FRAME_MS = 20
TRIES = 20  # an unreliable packet may be lost
KINDS = (
    enet.PACKET_FLAG_RELIABLE,
    0,
    enet.PACKET_FLAG_UNSEQUENCED,
    enet.PACKET_FLAG_UNRELIABLE_FRAGMENT,
)
SIZES = (1, 1300, 30000)


def wait(host, kind, ms=WAIT_MS):
    """The next event, which must be of the kind; None when there is none in time."""
    for _ in range(ms // FRAME_MS + 1):  # ENet repeats nothing while it waits
        event = host.service(FRAME_MS)
        if event.type != enet.EVENT_TYPE_NONE:
            break
    if event.type == enet.EVENT_TYPE_NONE:
        return None
    if event.type != kind:
        sys.exit(f"echo_python: event {event.type} with data {event.data} instead of {kind}")
    return event


def echo(host, peer, flags, size, channel):
    for attempt in range(TRIES):
        body = bytes((i * 7 + size + attempt) & 255 for i in range(size))
        peer.send(channel, enet.Packet(body, flags))
        event = wait(host, enet.EVENT_TYPE_RECEIVE, WAIT_MS if flags & 1 else WAIT_MS // TRIES)
        if event:
            if event.packet.data != body or event.channelID != channel:
                sys.exit(f"echo_python: flags {flags}, {size} bytes: came back changed")
            return
    sys.exit(f"echo_python: flags {flags}, {size} bytes: did not come back")


def live(host, address, leave):
    peer = host.connect(address, 3, 4711)
    if not wait(host, enet.EVENT_TYPE_CONNECT):
        sys.exit("echo_python: not connected")
    for flags in KINDS:
        for size in SIZES:
            for channel in (0, 2):
                echo(host, peer, flags, size, channel)
    leave(peer)
    if not wait(host, enet.EVENT_TYPE_DISCONNECT):
        sys.exit("echo_python: the end was not acknowledged")


def main():
    address = enet.Address(sys.argv[1].encode(), int(sys.argv[2]))
    host = enet.Host(None, 1, 3, 0, 0)
    if "crc" in sys.argv:
        host.checksum = enet.ENET_CRC32
    if "range" in sys.argv:
        host.compress_with_range_coder()
    for leave in (
        lambda peer: peer.disconnect(3),
        lambda peer: peer.disconnect_later(3),
        lambda peer: peer.disconnect(0),
    ):
        live(host, address, leave)
    print("all came back")


main()
