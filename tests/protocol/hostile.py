#!/usr/bin/env python3
"""Clients that break every rule of docs/protocol.md, against a running server: what they send has to be refused by name
in /metrics and disturb nobody. Runs in the server's namespace and enters that of the clients by itself.

usage: hostile.py SERVER-PID NAMESPACE IP PORT METRICS-URL TICKET-FILE [ATTACK...]

The random numbers are the same in each run. Ends with 0 when all was refused as it has to be, with
77 when it was not, but the machine kept the server from running for 2 of 5 s.
"""

import base64
import builtins
import concurrent.futures
import ctypes
import math
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request

import codec
import transport
from walker import Client, Closed

failed = []


class Chance(threading.local):
    """A random.Random for each thread, begun anew for each attack: the numbers are the same in each run."""

    def __init__(self):
        self.begin("")

    def begin(self, name):
        self.source = random.Random(f"20261 {name}")

    def __getattr__(self, name):
        return getattr(self.source, name)


chance = Chance()
said = threading.local()  # .lines: what an attack that runs beside others has to say, until it has ended


def print(*text, **how):
    if getattr(said, "lines", None) is None:
        builtins.print(*text, **how)
    else:
        said.lines.append(" ".join(str(t) for t in text))


def check(good, text):
    print(f"    {'ok  ' if good else 'FAIL'} {text}")
    if not good:
        failed.append(text)


class Metrics:
    """Read by a thread that stays in the namespace of the server."""

    def __init__(self, url):
        self.url = url
        self.thread = concurrent.futures.ThreadPoolExecutor(1)
        self.read()

    def _get(self):
        values = {}
        with urllib.request.urlopen(self.url, timeout=5) as page:
            for name, value in re.findall(r"^stormweir_(\w+)(?:\{thread[^}]*\})? ([0-9.]+)$", page.read().decode(), re.M):
                values[name] = values.get(name, 0) + float(value)
        return values

    def read(self):
        return self.thread.submit(self._get).result()

    def since(self, before):
        """What rose of the counters that name a fate other than the good one."""
        bad = re.compile("refused|drop|malformed|stale|unknown|unexpected|admission_messages_(?!none)|takeover|cut_off"
                         "|timeouts|slow|stall|skipped|expired")
        now = self.read()
        return {k: int(v - before.get(k, 0)) for k, v in now.items() if bad.search(k) and v > before.get(k, 0)}


    def until(self, before, reached):
        """What rose, as soon as it is enough, or after 10 s: the machine may be slow, the server is not."""
        end = time.monotonic() + 10
        while not reached(rose := self.since(before)) and time.monotonic() < end:
            time.sleep(0.1)
        return rose


    def reached(self, before, enough):
        """For serve(): whether what rose is enough; asks every 50 ms."""
        last = [0.0, False]

        def ask():
            if time.monotonic() > last[0] + 0.05:
                last[:] = time.monotonic(), bool(enough(self.since(before)))
            return last[1]
        return ask


def enet_refused(rose):
    return sum(v for k, v in rose.items() if k.startswith("enet_refused"))


class Starved(threading.Thread):
    """How long the machine kept the server's hot thread from running although it wanted to, within any 5 s. After 2 s of
    it bots may time out by no fault of anybody, and the run proves nothing. Source: the kernel's sched-stats.rst."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        tasks = f"/proc/{pid}/task"
        self.stats = [f"{tasks}/{t}/schedstat" for t in os.listdir(tasks) if self._hot(f"{tasks}/{t}/comm")]
        self.most_s = 0.0

    @staticmethod
    def _hot(comm):
        with open(comm, encoding="ascii") as file:
            return "-worker" in file.read()

    def _waited_s(self):
        waited = 0.0
        for path in self.stats:
            with open(path, encoding="ascii") as file:
                waited = max(waited, int(file.read().split()[1]) / 1e9)
        return waited

    def run(self):
        seen = []  # (time, waited until then)
        try:
            while True:
                now = time.monotonic()
                seen = [s for s in seen if s[0] > now - 5] + [(now, self._waited_s())]
                self.most_s = max(self.most_s, seen[-1][1] - seen[0][1])
                time.sleep(0.2)
        except OSError:  # the server has ended
            return


class Arena:
    def __init__(self, namespace, ip, port, url, tickets):
        self.metrics = Metrics(url)
        self.ip, self.port = ip, port
        with open(tickets, encoding="ascii") as file:
            self.tickets = [base64.b64decode(line) for line in file]
        with open(f"/run/netns/{namespace}", "rb") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def ticket(self):
        return self.tickets.pop(0)

    def join(self, count):
        clients = [Client(self.ip, self.port, self.ticket()) for _ in range(count)]
        serve(clients, lambda: all(c.detail for c in clients))
        return clients

    def connect(self, count):
        """Connections that say no Hello."""
        clients = [Mute(self.ip, self.port, b"") for _ in range(count)]
        serve(clients, lambda: all(c.connected for c in clients))
        return clients


class Mute(Client):
    def service(self, timeout_ms):
        for kind, _, what in self.wire.events(timeout_ms):
            if kind == transport.CONNECT:
                self.connected = True
            elif kind == transport.DISCONNECT:
                self.closed = what


def serve(clients, until=lambda: False, seconds=20.0):
    end = time.monotonic() + seconds
    while not until() and time.monotonic() < end:
        for client in clients:
            if client.closed is None:
                client.service(0)
        time.sleep(0.002)
    return until()


def leave(clients):
    """In good order; who cannot, because the server and its ENet do not agree any more, says so once and is gone."""
    for client in clients:
        if client.closed is None:
            client.wire.disconnect_later()
    serve(clients, lambda: all(c.closed is not None for c in clients), 1)
    for client in clients:
        if client.closed is None:
            client.wire.disconnect_now()
        client.wire.vanish()


def junk(most):
    return chance.randbytes(chance.randrange(most + 1))


# ENet by hand, for what libenet does not send.

LENGTHS = {1: 8, 2: 48, 3: 44, 4: 8, 5: 4, 6: 6, 7: 8, 8: 24, 9: 8, 10: 12, 11: 16, 12: 24}


def datagram(peer, session, commands, compressed=False):
    return struct.pack("!HH", peer & 0xFFF | session << 12 | 0x8000 | (0x4000 if compressed else 0),
                       chance.randrange(65536)) + commands


def command(number, flags, channel, sequence, rest):
    return struct.pack("!BBH", number | flags, channel, sequence & 0xFFFF) + rest


def any_command(number):
    body = chance.randbytes(max(0, LENGTHS.get(number, 4) - 4))
    data = command(number, chance.choice((0, 0x80, 0x40, 0xC0)), chance.choice((0, 1, 2, 3, 4, 254, 255)),
                   chance.randrange(65536), body) + junk(40)
    return data[:chance.randrange(1, len(data))] if chance.random() < .1 else data


def own_header(client):
    """(socket, peer id, session) that the server knows this connection by. Source: ENetHost and ENetPeer of enet.h."""
    fd = ctypes.c_int.from_address(client.wire.host).value
    peer, _, _, session = struct.unpack("=HHIB", ctypes.string_at(client.wire.peer + 24, 9))
    return socket.socket(fileno=os.dup(fd)), peer, session


# The attacks

def forged(arena):
    """Datagrams with the peer ids of others, from other ports, with every command."""
    before = arena.metrics.read()
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(40)]
    sent = 0
    for peer in list(range(80)) + [0xFFE]:
        for session in range(4):
            for number in range(16):
                data = datagram(peer, session, any_command(number), chance.random() < .03)
                chance.choice(sockets).sendto(data, (arena.ip, arena.port))
                sent += 1
        time.sleep(0.01)
    rose = arena.metrics.until(before, lambda r: enet_refused(r) >= sent)
    check(enet_refused(rose) == sent, f"forged: {sent} sent, {enet_refused(rose)} refused: {rose}")


def strangers(arena):
    """Commands of every kind to the id of nobody, which only a connect may use."""
    before = arena.metrics.read()
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(60):
        for number in range(16):
            out.sendto(datagram(0xFFF, chance.randrange(4), any_command(number)), (arena.ip, arena.port))
        out.sendto(junk(12), (arena.ip, arena.port))
        time.sleep(0.01)
    rose = arena.metrics.until(before, lambda r: enet_refused(r) >= 60 * 14)
    check(enet_refused(rose) >= 60 * 14, f"strangers: {60 * 17} sent, {enet_refused(rose)} refused: {rose}")


def fate(rose):
    """Messages that were refused by name, whoever did it."""
    names = re.compile("dataplane_drop_message|simulation_malformed|simulation_packets_stale|simulation_messages_unknown"
                       "|admission_messages_(?!none)|admission_stale_messages|chat_refused_")
    return sum(v for k, v in rose.items() if names.search(k))


def every_type(arena, clients_of, name, flags_of, strikes):
    before = arena.metrics.read()
    sent = 0
    types = [t for t in range(256)]
    chance.shuffle(types)
    closed = []
    while types:
        some = clients_of(min(16, math.ceil(len(types) / strikes)))
        for client in some:
            mine, types = types[:strikes], types[strikes:]
            for byte in mine:
                channel, flags = flags_of(byte)
                if client.wire.send(channel, bytes([byte]) + b"\xff" + junk(60), flags):
                    sent += 1
        serve(some, arena.metrics.reached(before, lambda r: fate(r) >= sent), 2)
        closed += [c.closed for c in some if c.closed is not None]
        leave(some)
    rose = arena.metrics.until(before, lambda r: fate(r) >= sent)
    check(fate(rose) == sent, f"{name}: {sent} sent, {fate(rose)} refused by name: {rose}")
    check(all(c == codec.REASONS.index("MALFORMED") for c in closed), f"{name}: closed with {sorted(set(closed))}")


def types_joined(arena):
    """Every type byte with a random body that no protobuf is, on any channel, with any flag, by a player."""
    every_type(arena, arena.join, "types_joined", lambda _: (chance.randrange(4), chance.choice((0, 1, 2))), 7)


def types_first(arena):
    """The same before any Hello."""
    every_type(arena, arena.connect, "types_first", lambda _: (chance.randrange(4), chance.choice((0, 1, 2))), 4)


def servers_words(arena):
    """Well-formed messages that only a server sends, and a client's own on wrong channels."""
    before = arena.metrics.read()
    (client,) = arena.join(1)
    sent = 0
    enter = {"state": {"actor_id": 1, "x_mm": 5}, "kind": 1, "name": "Mallory"}
    words = [(3, codec.packet("ViewChange", tick=1, sequence=1, enter=[enter])),
             (1, codec.packet("WorldUpdate", tick=1, entities=[{"actor_id": 1}])),
             (0, codec.packet("Joined", actor_id=1, tick_hz=20)), (0, codec.packet("Admitted", character_id=1)),
             (2, codec.packet("Click", actor_id=1)), (3, codec.packet("InputBatch", first_sequence=1, inputs=[{"dx": 1}])),
             (0, b""), (2, b"\x80"), (0, b"\xff")]
    for channel, data in words:
        sent += client.wire.send(channel, data, transport.RELIABLE)
    serve([client], arena.metrics.reached(before, lambda r: fate(r) >= sent), 2)
    serve([client], seconds=0.1)  # it would be closed by now
    rose = arena.metrics.until(before, lambda r: fate(r) >= sent)
    check(fate(rose) == sent == len(words), f"servers_words: {sent} sent, {fate(rose)} refused: {rose}")
    check(client.closed is None, "servers_words: five for the map and one for the control plane are forgiven")
    leave([client])
    # the map's patience, and that of the control plane
    for data, patience in ((words[0][1], 8), (words[3][1], 5)):
        (client,) = arena.join(1)
        before = arena.metrics.read()
        for _ in range(patience - 1):
            client.wire.send(0, data, transport.RELIABLE)
        serve([client], arena.metrics.reached(before, lambda r: fate(r) >= patience - 1), 2)
        serve([client], seconds=0.1)
        check(client.closed is None, f"servers_words: {patience - 1} are forgiven")
        client.wire.send(0, data, transport.RELIABLE)
        serve([client], lambda: client.closed is not None, 5)
        check(client.closed == codec.REASONS.index("MALFORMED"), f"servers_words: number {patience} closes ({client.closed})")
        leave([client])


def order(arena):
    """Input before Hello, a second Hello, twenty Hellos of one ticket."""
    (early,) = arena.connect(1)
    early.wire.send(1, codec.packet("InputBatch", first_sequence=1, inputs=[{"dx": 127}]), 0)
    early.wire.send(0, codec.packet("Click", actor_id=1), transport.RELIABLE)
    early.ticket = arena.ticket()
    hello = codec.packet("Hello", protocol_version=1, ticket=early.ticket, client_build="early")
    early.wire.send(0, hello, transport.RELIABLE)
    early.__class__ = Client
    ended = serve([early], lambda: early.joined or early.closed is not None, 5)
    print(f"    order: input and click first, then Hello: joined {bool(early.joined)}, closed {early.closed}")
    check(ended, "order: an end of it")
    leave([early])

    (twice,) = arena.join(1)
    before = arena.metrics.read()
    for _ in range(3):
        twice.wire.send(0, hello, transport.RELIABLE)
    serve([twice], arena.metrics.reached(before, lambda r: fate(r) >= 3), 2)
    rose = arena.metrics.until(before, lambda r: fate(r) >= 3)
    print(f"    order: three more Hellos when joined: closed {twice.closed}: {rose}")
    check(fate(rose) == 3, "order: a second Hello is refused by name")
    leave([twice])

    before = arena.metrics.read()
    ticket = arena.ticket()
    crowd = [Client(arena.ip, arena.port, ticket) for _ in range(20)]
    serve(crowd, lambda: sum(c.closed is not None for c in crowd) == 19 and any(c.joined for c in crowd), 10)
    reasons = sorted(codec.reason_name(c.closed) for c in crowd if c.closed is not None)
    check(sum(bool(c.joined) for c in crowd) == 1, f"order: of 20 with one ticket {sum(bool(c.joined) for c in crowd)} joined")
    check(reasons == ["TICKET_USED"] * 19, f"order: the others: {reasons}")
    leave(crowd)


def large(arena):
    """More than the server takes, whole and in fragments, and fragments that contradict themselves."""
    for size, flags in ((8192, 1), (8192, 0), (8192, 8), (30000, 1), (4097, 1)):
        before = arena.metrics.read()
        (client,) = arena.join(1)
        client.wire.send(0, b"\x45" + bytes(size - 1), flags)
        serve([client], lambda: client.closed is not None, 5)
        check(client.closed == codec.REASONS.index("OVERSIZE"), f"large: {size} bytes, flags {flags}: closed {client.closed}"
              f" {arena.metrics.since(before)}")
        leave([client])
    before = arena.metrics.read()
    clients = arena.join(6)
    sent = 0
    for turn, client in enumerate(clients):
        out, peer, session = own_header(client)
        totals = (0, 1, 600, 4000) if turn % 2 else (0, 1, 4000, 4097, 1 << 31, 0xFFFFFFFF)
        for _ in range(150):
            start, count, index = chance.randrange(64), chance.choice((0, 1, 2, 4, 65535, 1 << 31)), chance.randrange(6)
            total, offset = chance.choice(totals), chance.choice((0, 1, 576, 4000, 1 << 31))
            body = junk(500)
            rest = struct.pack("!HHIIII", start, len(body), count, index, total, offset) + body
            out.sendto(datagram(peer, session, command(chance.choice((8, 12)), 0x80, chance.randrange(5), start + index, rest)),
                       (arena.ip, arena.port))
            sent += 1
        out.close()
        serve(clients, seconds=0.05)
    serve(clients, seconds=0.3)
    rose = arena.metrics.until(before, enet_refused)
    check(enet_refused(rose) > 0,
          f"large: {sent} odd fragments; closed {[c.closed for c in clients]}: {rose}")
    leave(clients)


def own_noise(arena):
    """Every ENet command with random contents under the right peer id and session, until one of them ends it."""
    before = arena.metrics.read()
    clients = arena.join(24)
    sent = 0
    for turn in range(60):
        for client in clients:
            out, peer, session = own_header(client) if client.closed is None else (None, 0, 0)
            if out:
                number = chance.choice([n for n in range(16) if n != 4 or turn > 50])
                out.sendto(datagram(peer, session, any_command(number)), (arena.ip, arena.port))
                out.close()
                sent += 1
        serve(clients, seconds=0.02)
    serve(clients, seconds=0.3)
    rose = arena.metrics.until(before, lambda r: r)
    check(rose, f"own_noise: {sent} sent; closed {[c.closed for c in clients]}: {rose}")
    leave(clients)


def batches(arena):
    """Batches of 1,000, empty ones, out of range, and sequences that jump."""
    for name, values, counter in (
            ("1000", {"first_sequence": 1, "inputs": [{}] * 1000}, "simulation_malformed_oversize_total"),
            ("9", {"first_sequence": 1, "inputs": [{"dx": 127}] * 9}, "simulation_malformed_many_inputs_total"),
            ("0", {"first_sequence": 1, "inputs": []}, "simulation_malformed_no_inputs_total"),
            ("128", {"first_sequence": 1, "inputs": [{"dx": 128}]}, "simulation_malformed_input_range_total"),
            ("-2^31", {"first_sequence": 1, "inputs": [{"dx": -(1 << 31)}]}, "simulation_malformed_input_range_total"),
            ("-128", {"first_sequence": 1, "inputs": [{"dy": -128}]}, "simulation_malformed_input_range_total")):
        (client,) = arena.join(1)
        before = arena.metrics.read()
        client.wire.send(1, codec.packet("InputBatch", **values), 0)
        serve([client], arena.metrics.reached(before, lambda r: r.get(counter)), 2)
        rose = arena.metrics.until(before, lambda r: r.get(counter))
        check(rose.get(counter) == 1 and client.closed is None, f"batches: {name}: {rose}")
        leave([client])
    (client,) = arena.join(1)
    for first in (0, 1, 5, 1 << 16, (1 << 31) - 1, 1 << 31, 0xFFFFFFF8, 0xFFFFFFFF, 0, 1, 1 << 30, 3):
        before = arena.metrics.read()
        client.path = {}
        acknowledged = []
        client.reconcile = lambda tick, sequence, state: acknowledged.append(sequence)
        client.wire.send(1, codec.packet("InputBatch", first_sequence=first, inputs=[{"dx": 1}] * 8), 0)
        serve([client], lambda: acknowledged, 0.3)
        print(f"    batches: first_sequence {first}: acknowledged {acknowledged[-1:]} closed {client.closed}"
              f" {arena.metrics.since(before)}")
    check(client.closed is None, "batches: jumps end nothing")
    leave([client])


def speed(arena):
    """Two and ten inputs a tick get no further than one."""
    clients = dict(zip((2, 10), arena.join(2)))
    seen = {times: [] for times in clients}
    start = {times: (c.joined["x_mm"], c.joined["tick"]) for times, c in clients.items()}
    ahead = {times: 127 if c.joined["x_mm"] < c.joined["width_mm"] // 2 else -127 for times, c in clients.items()}
    sequence = dict.fromkeys(clients, 1)
    for times, client in clients.items():
        client.reconcile = lambda tick, _, state, seen=seen[times]: seen.append((tick, state["x_mm"], state["y_mm"]))
    everyone = list(clients.values())
    for _ in range(60):
        for times, client in clients.items():
            for _ in range(times):
                client.wire.send(1, codec.packet("InputBatch", first_sequence=max(1, sequence[times] - 7),
                                                 inputs=[{"dx": ahead[times]}] * min(8, sequence[times])), 0)
                sequence[times] += 1
            client.wire.flush()
        serve(everyone, seconds=1 / everyone[0].joined["tick_hz"])
    serve(everyone, seconds=0.5)
    for times, client in clients.items():
        x, tick = start[times]
        step = client.joined["speed_mm_per_s"] // client.joined["tick_hz"]
        far = max(((s[1], s[0]) for s in seen[times]), key=lambda s: abs(s[0] - x))
        steps, ticks = abs(far[0] - x) / step, far[1] - tick
        check(0 < steps <= ticks + 4, f"speed: {times} a tick: {steps} steps in {ticks} ticks")
        worst = max((abs(b[1] - a[1]) / step - (b[0] - a[0]) for i, a in enumerate(seen[times]) for b in seen[times][i + 1:]),
                    default=0)
        check(worst <= 4, f"speed: {times} a tick: at most {worst} steps more than ticks")
    leave(everyone)


def clicks(arena):
    """A thousand clicks a second on everyone, known or not, near or far."""
    attacker, other = arena.join(2)
    serve([attacker, other], lambda: attacker.named("Old Tom") and attacker.view, 10)
    npc = attacker.named("Old Tom")
    targets = {"self": attacker.joined["actor_id"], "player": other.joined["actor_id"], "nobody": 987654321, "zero": 0,
               "most": 0xFFFFFFFF, "monster": next((a for a, v in attacker.view.items() if v["kind"] == 3), None), "npc": npc}
    for name, actor in targets.items():
        if actor is None:
            print(f"    clicks: no {name} in view")
            continue
        attacker.action_refused.clear()
        attacker.spoken.clear()
        attacker.send("Click", actor_id=actor)
        serve([attacker, other], lambda: attacker.action_refused or attacker.spoken, 3)
        check(attacker.action_refused or attacker.spoken, f"clicks: {name}: refused {attacker.action_refused},"
              f" says {attacker.spoken}")
    before = arena.metrics.read()
    attacker.action_refused.clear()
    sent = 0
    for _ in range(150):
        for _ in range(20):
            actor = chance.choice([t for t in targets.values() if t is not None])
            sent += attacker.wire.send(0, codec.packet("Click", actor_id=actor), transport.RELIABLE)
        serve([attacker, other], seconds=0.02)
    heard, quiet = -1, time.monotonic()  # until a while passes without an answer
    while attacker.closed is None and time.monotonic() < quiet + 0.3:
        serve([attacker, other], seconds=0.02)
        if heard != (heard := len(attacker.action_refused) + len(attacker.spoken)):
            quiet = time.monotonic()
    rose = arena.metrics.since(before)
    answered = len(attacker.action_refused) + len(attacker.spoken)
    print(f"    clicks: {sent} in 3 s: closed {attacker.closed}, answered {answered}: {rose}")
    check(attacker.closed in (None, codec.REASONS.index("SLOW")), "clicks: either answered or closed as slow")
    check(other.closed is None, "clicks: the clicked player stays")
    leave([attacker, other])


def flood(arena):
    """Connects from many ports of one other address, as fast as Python sends, bounded; a good client comes meanwhile."""
    before = arena.metrics.read()
    sockets = []
    for _ in range(300):
        out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        out.bind((FLOOD_FROM, 0))
        sockets.append(out)
    good, sent, start = None, 0, time.monotonic()
    while (at := time.monotonic() - start) < 2.5 or at < 20 and not good.joined:
        if at > 1 and not good:  # the flood is at its height
            good = Client(arena.ip, arena.port, arena.ticket())
        if good:
            good.service(0)
        for out in chance.sample(sockets, 40):
            rest = struct.pack("!HBBIIIIIIIII", chance.randrange(64), 0xFF, 0xFF, 1400, 32768, 4, 0, 0, 5000, 2, 2,
                               chance.getrandbits(32)) + struct.pack("!I", 1)
            out.sendto(datagram(0xFFF, 0, command(2, 0x80, 0xFF, 1, rest)), (arena.ip, arena.port))
            sent += 1
        time.sleep(0.008)
    check(good.joined, "flood: a good client from another address joined meanwhile")
    leave([good])
    print(f"    flood: {sent} sent: {arena.metrics.since(before)}")
    for out in sockets:
        out.close()


FLOOD_FROM = "10.77.0.9"


def torrent(arena):
    """Datagrams full of small messages, by players: thousands of messages a second each."""
    before = arena.metrics.read()
    kinds = {"inputs": (codec.packet("InputBatch", first_sequence=1, inputs=[{}]), 7), "unknown": (b"\x90\x00", 7),
             "clicks": (codec.packet("Click", actor_id=1), 6)}
    clients = {name: arena.join(4) for name in kinds}
    everyone = sum(clients.values(), [])
    for client in everyone:
        client.reconcile = lambda *_: None  # what is sent is not what it predicts
    sent = dict.fromkeys(kinds, 0)
    for turn in range(300):
        for name, (each, number) in kinds.items():
            many = []
            for part in range(3):
                at = (turn * 3 + part) * 60
                if number == 7:
                    many.append(b"".join(command(7, 0, 1, 0, struct.pack("!HH", at + i, len(each)) + each) for i in range(1, 61)))
                else:
                    many.append(b"".join(command(6, 0x80, 0, at + i + 1, struct.pack("!H", len(each)) + each) for i in range(1, 61)))
            for client in clients[name]:
                if client.closed is not None:
                    continue
                out, peer, session = own_header(client)
                for part in many:
                    out.sendto(datagram(peer, session, part), (arena.ip, arena.port))
                    sent[name] += 60
                out.close()
        serve(everyone, seconds=0.008)
    serve(everyone, seconds=0.3)
    closed = {name: [c.closed for c in some] for name, some in clients.items()}
    print(f"    torrent: {sent}: closed {closed}: {arena.metrics.since(before)}")
    leave(everyone)


def frames(arena):
    """Ethernet frames that contradict themselves, at every layer below ENet."""
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    device = next(name for _, name in socket.if_nameindex() if name != "lo")
    out.bind((device, 0))
    with open("/proc/net/arp", encoding="ascii") as file:
        server = next(bytes.fromhex(line.split()[3].replace(":", "")) for line in file if line.startswith(arena.ip + " "))
    mine = out.getsockname()[4]

    def total(data):
        data += bytes(len(data) % 2)
        value = sum(struct.unpack(f"!{len(data) // 2}H", data))
        while value >> 16:
            value = (value & 0xFFFF) + (value >> 16)
        return ~value & 0xFFFF

    def ipv4(body, protocol=17, first=0x45, length=None, fragment=0, sum_off=0, source="10.77.0.2", to=arena.ip, options=b""):
        head = struct.pack("!BBHHHBBH4s4s", first, 0, 20 + len(options) + len(body) if length is None else length, 7, fragment, 64,
                           protocol, 0, socket.inet_aton(source), socket.inet_aton(to)) + options
        return head[:10] + struct.pack("!H", total(head) ^ sum_off) + head[12:] + body

    def udp(body, source=5555, to=arena.port, length=None, checksum=0):
        return struct.pack("!HHHH", source, to, 8 + len(body) if length is None else length, checksum) + body

    good = datagram(5, 0, command(5, 0x80, 0xFF, 1, b""))
    plain = ipv4(udp(good))
    icmp = struct.pack("!BBHHH", 8, 0, 0xF7FC, 1, 2)
    cases = {
        "eth_type": (0x88B5, plain), "ipv6": (0x86DD, bytes(60)), "vlan_nested": (0x8100, b"\0\5\x81\0\0\6\x08\0" + plain),
        "arp_short": (0x0806, bytes(10)), "arp_malformed": (0x0806, bytes(46)), "ipv4_short": (0x0800, plain[:12]),
        "ipv4_version": (0x0800, ipv4(udp(good), first=0x65)), "ipv4_header_length": (0x0800, ipv4(udp(good), first=0x43)),
        "ipv4_total_length": (0x0800, ipv4(udp(good), length=1400)), "ipv4_checksum": (0x0800, ipv4(udp(good), sum_off=1)),
        "ipv4_options": (0x0800, ipv4(udp(good), first=0x46, options=bytes(4))),
        "ipv4_fragment": (0x0800, ipv4(udp(good), fragment=0x2000)), "ipv4_source": (0x0800, ipv4(udp(good), source="255.255.255.255")),
        "ipv4_other_address": (0x0800, ipv4(udp(good), to="10.77.0.77")), "ipv4_protocol": (0x0800, ipv4(udp(good), protocol=6)),
        "icmp_short": (0x0800, ipv4(icmp[:4], protocol=1)), "icmp_checksum": (0x0800, ipv4(icmp[:2] + b"\1\1" + icmp[4:], protocol=1)),
        "icmp_other": (0x0800, ipv4(b"\5" + icmp[1:2] + struct.pack("!H", total(b"\5\0\0\0" + icmp[4:])) + icmp[4:], protocol=1)),
        "udp_short": (0x0800, ipv4(b"12345")), "udp_length": (0x0800, ipv4(udp(good, length=200))),
        "udp_checksum": (0x0800, ipv4(udp(good, checksum=0x1234))), "udp_source_port": (0x0800, ipv4(udp(good, source=0))),
        "udp_other_port": (0x0800, ipv4(udp(good, to=7))),
    }
    for name, (kind, body) in cases.items():
        before = arena.metrics.read()
        for _ in range(20):
            out.send(server + mine + struct.pack("!H", kind) + body)
        rose = arena.metrics.until(before, lambda r: r.get(f"dataplane_drop_{name}_total", 0) >= 20)
        check(rose.get(f"dataplane_drop_{name}_total") == 20, f"frames: {name}: {rose}")
    before = arena.metrics.read()
    for _ in range(3000):  # any bytes behind a right Ethernet header
        body = bytearray(chance.choice((plain, bytes(ipv4(icmp, protocol=1)), cases["vlan_nested"][1])))
        for _ in range(chance.randrange(1, 5)):
            body[chance.randrange(len(body))] = chance.randrange(256)
        out.send(server + mine + struct.pack("!H", chance.choice((0x0800, 0x0800, 0x8100, 0x0806))) + bytes(body) + junk(20))
    time.sleep(0.5)
    print(f"    frames: 3000 changed ones: {arena.metrics.since(before)}")
    out.close()


def holes(arena):
    """Reliable packets and fragments of which the first never comes, to fill the server's memory; others go on."""
    before = arena.metrics.read()
    clients = arena.join(40)
    peak = 0
    for turn in range(1, 90):
        for client in clients:
            if client.closed is None:
                out, peer, session = own_header(client)
                body = bytes(1300)
                sequence = 100 + turn
                data = command(6, 0x80, chance.randrange(4), sequence, struct.pack("!H", len(body)) + body)
                if turn % 3 == 0:
                    rest = struct.pack("!HHIIII", 50 + turn * 3, 1300, 3, 1, 3900, 1300) + body
                    data = command(8, 0x80, chance.randrange(4), 51 + turn * 3, rest)
                out.sendto(datagram(peer, session, data), (arena.ip, arena.port))
                out.close()
        serve(clients, seconds=0.01)
        if turn % 10 == 9:
            peak = max(peak, int(arena.metrics.read()["enet_hold_bytes"]))
    (good,) = arena.join(1)
    good.send("Click", actor_id=0)
    serve([good], lambda: good.action_refused, 3)
    check(good.action_refused, "holes: a good client comes and acts meanwhile")
    leave([good])
    print(f"    holes: {peak} bytes held at the height; closed {sum(c.closed is not None for c in clients)} of 40:"
          f" {arena.metrics.since(before)}")
    leave(clients)


def relog(arena, tickets):
    """A character that leaves in good order and comes again at once stands where it left, each time."""
    where = None
    for ticket in tickets:
        client = Client(arena.ip, arena.port, ticket)
        if not serve([client], lambda: client.detail or client.closed is not None) or not client.joined:
            check(False, f"relog: not let in: {client.closed} {client.refused}")
            return
        here = client.here()
        if where and where != here:
            check(False, f"relog: left at {where}, came at {here}")
        for _ in range(4):
            client.step(90, -40)
        client.stop()
        where = client.here()
        client.leave()
        client.wire.vanish()
    check(True, f"relog: {len(tickets)} times")


def takeover(arena, pairs):
    """A character comes again while its old connection lives and goes on sending, and after it was killed."""
    before = arena.metrics.read()
    for alive in (True, False):
        first, second = pairs.pop(0)
        old = Client(arena.ip, arena.port, first)
        serve([old], lambda: old.detail)
        for _ in range(12):
            old.step(127, 0)
        if alive:
            old.stop()
        where = old.here()
        out, peer, session = own_header(old)
        if not alive:
            old.wire.vanish()  # no more than the kernel does for a killed process
            old.closed = -1
        new = Client(arena.ip, arena.port, second)
        end = time.monotonic() + 15
        while not new.detail and new.closed is None and time.monotonic() < end:
            if old.closed is None:
                old.wire.send(1, codec.packet("InputBatch", first_sequence=old.sequence + 1, inputs=[{"dx": 127}]), 0)
                old.wire.send(0, codec.packet("Click", actor_id=1), transport.RELIABLE)
            serve([old, new], seconds=0.01)
        check(new.joined, f"takeover: the new one is in, old alive {alive}; old closed {old.closed}, new {new.closed}")
        if alive:
            serve([old, new], lambda: old.closed is not None, seconds=5)
            check(old.closed == codec.REASONS.index("REPLACED"), f"takeover: the old one is told why ({old.closed})")
        if new.joined:
            there = (new.joined["x_mm"], new.joined["y_mm"])
            far = math.dist(where, there)
            check(far <= 250 * 16, f"takeover: it stands where the old one was ({far:.0f} mm off)")
        # The late packets of the old one, under its peer id.
        for number in range(1, 13):
            out.sendto(datagram(peer, session, any_command(number)), (arena.ip, arena.port))
        move = codec.packet("InputBatch", first_sequence=1, inputs=[{"dx": 127}] * 8)
        out.sendto(datagram(peer, session, command(7, 0, 1, 0, struct.pack("!HH", 500, len(move)) + move)),
                   (arena.ip, arena.port))
        out.close()
        serve([new], seconds=0.3)
        check(new.closed is None, "takeover: the old one's late packets do nothing to the new one")
        if new.joined:
            for _ in range(10):
                new.step(-127, 0)
            new.stop()
            check(not new.faults, f"takeover: the new one walks exactly {new.faults}")
        leave([new] if not alive else [old, new])
    print(f"    takeover: {arena.metrics.since(before)}")


def tug(arena, tickets):
    """One character from many connections at once, each with a ticket of its own."""
    before = arena.metrics.read()
    crowd = [Client(arena.ip, arena.port, t) for t in tickets]
    serve(crowd, lambda: sum(c.closed is None for c in crowd) == 1 and any(c.detail and c.closed is None for c in crowd), 20)
    left = [c for c in crowd if c.closed is None]
    check(len(left) == 1 and left[0].joined, f"tug: of {len(crowd)} {len(left)} are left: "
          f"{sorted(codec.reason_name(c.closed) for c in crowd if c.closed is not None)}")
    print(f"    tug: {arena.metrics.since(before)}")
    leave(crowd)


def hellos(arena):
    """Hellos too long, unreadable, late, on wrong channels and with control characters."""
    good = arena.ticket()
    for name, channel, flags, values, reason in (
            ("ticket of 513 bytes", 0, 1, {"ticket": bytes(513)}, "TICKET_MALFORMED"),
            ("ticket of 10 bytes", 0, 1, {"ticket": b"0123456789"}, "TICKET_MALFORMED"),
            ("no ticket", 0, 1, {}, "TICKET_MALFORMED"),
            ("signature of 63 bytes", 0, 1, {"ticket": good[:-3]}, "TICKET_MALFORMED"),
            ("version 0", 0, 1, {"ticket": good, "protocol_version": 0}, "WRONG_VERSION"),
            ("version 2^32-1", 0, 1, {"ticket": good, "protocol_version": 0xFFFFFFFF}, "WRONG_VERSION")):
        (client,) = arena.connect(1)
        client.wire.send(channel, codec.packet("Hello", **{"protocol_version": 1, "client_build": "h", **values}), flags)
        serve([client], lambda: client.closed is not None, 5)
        check(client.closed == codec.REASONS.index(reason), f"hellos: {name}: {codec.reason_name(client.closed or 0)}")
        leave([client])
    for name, channel, flags, build in (("build of 64 bytes", 0, 1, "b" * 64), ("build of 700 bytes", 0, 1, "b" * 700),
                                        ("a line in the build", 0, 1, "x\nlevel=error forged\x1b[31m\0"),
                                        ("channel 1", 1, 0, "h"), ("unreliable", 0, 0, "h"), ("unsequenced", 0, 2, "h")):
        before = arena.metrics.read()
        client = Mute(arena.ip, arena.port, b"")
        serve([client], lambda: client.connected)
        client.__class__ = Client
        client.wire.send(channel, codec.packet("Hello", protocol_version=1, ticket=arena.ticket(), client_build=build), flags)
        serve([client], lambda: client.joined or client.closed is not None or fate(arena.metrics.since(before)), 10)
        rose = arena.metrics.since(before)
        print(f"    hellos: {name}: joined {bool(client.joined)}, closed {client.closed}, {rose}")
        check(bool(client.joined) != bool(fate(rose)), f"hellos: {name}: let in, or refused by name")
        leave([client])


def churn(arena, tickets):
    """Connections that end at any moment of logging in: in good order, without a word, and before their answer."""
    before = arena.metrics.read()
    alive = []
    for turn in range(150):
        # every third of one character, so that takeovers fall into it
        ticket = tickets.pop() if turn % 3 == 0 and tickets else arena.ticket()
        client = Client(arena.ip, arena.port, ticket)
        alive.append((time.monotonic() + chance.random() * chance.choice((.02, .1, .5)), client))
        serve([c for _, c in alive], seconds=0.03)
        for end, client in alive[:]:
            if end < time.monotonic():
                alive.remove((end, client))
                if chance.random() < .7 and client.closed is None:
                    client.wire.disconnect_later()
                    client.wire.flush()
                client.wire.vanish()
    leave([c for _, c in alive])
    print(f"    churn: {arena.metrics.since(before)}")


GAUGES = ("enet_peers", "enet_half_open", "enet_hold_bytes", "simulation_players", "simulation_owed", "admission_sessions",
          "admission_players", "admission_places")


def settled(arena, wanted):
    """Everything that the attackers held is free again, also what the stopped client held."""
    end = time.monotonic() + 60
    while (now := {g: int(arena.metrics.read()[g]) for g in GAUGES}) != wanted and time.monotonic() < end:
        time.sleep(0.1)
    check(now == wanted, f"settled: {now}, before the attacks {wanted}")


def stopped(arena, wanted, child):
    """A client that was stopped (SIGSTOP) before all the others has been given up; it goes on in vain."""
    start = time.monotonic()
    settled(arena, wanted)
    check(arena.metrics.since(arena.start).get("enet_timeouts_total", 0) > 0, "stopped: it timed out")
    before = arena.metrics.read()
    child.send_signal(signal.SIGCONT)
    # for 30 s we know whom we gave up, and tell it
    names = ("enet_refused_leaving_total", "enet_refused_unknown_peer_total")
    rose = arena.metrics.until(before, lambda r: any(r.get(n, 0) for n in names))
    check(any(rose.get(n, 0) for n in names), f"stopped: {time.monotonic() - start:.0f} s later: {rose}")
    child.kill()
    child.wait()
    child.stdout.close()


WALKS = """
import sys, base64
sys.path.insert(0, sys.argv[1])
from walker import *
c = Client(sys.argv[2], int(sys.argv[3]), base64.b64decode(sys.argv[4]))
c.until('detail', lambda: c.detail)
print('in', flush=True)
while 1:
    c.step(127, 0)
"""


def process(arena, ticket):
    """A client in a process of its own, walking for ever. Returns it when it is in; None when it did not get in."""
    child = subprocess.Popen([sys.executable, "-c", WALKS, os.path.dirname(os.path.abspath(__file__)), arena.ip,
                              str(arena.port), base64.b64encode(ticket).decode()], stdout=subprocess.PIPE)
    return child, child.stdout.readline() == b"in\n"


def killed(arena, tickets):
    """A client process is killed while it walks and comes again at once as the same character, over and over."""
    before = arena.metrics.read()
    came = 0
    for ticket in tickets[:-1]:
        child, good = process(arena, ticket)
        with child:
            came += good
            time.sleep(chance.random() / 2)
            child.send_signal(signal.SIGKILL)
    last = Client(arena.ip, arena.port, tickets[-1])
    serve([last], lambda: last.detail)
    if last.joined:
        for _ in range(10):
            last.step(-127, 0)
        last.stop()
    check(came == len(tickets) - 1 and last.joined and not last.faults, f"killed: {came} came and were killed, one stays:"
          f" {arena.metrics.since(before)}")
    leave([last])


# First those that leave handshakes or connections behind: these expire while the others run.
ATTACKS = {a.__name__: a for a in (flood, takeover, tug, relog, killed, churn, speed, clicks, forged, strangers, types_first, types_joined,
                                   servers_words, hellos, order, large, own_noise, batches, torrent, frames, holes,
                                   stopped, settled)}
# What takes its time because it walks or waits, and counts nothing that others raise: all of it at once.
BESIDE = ("takeover", "tug", "relog", "killed", "churn", "speed", "clicks")


def run(arena, name, more):
    chance.begin(name)
    print(f"  {name}: {ATTACKS[name].__doc__.splitlines()[0]}", flush=True)
    try:
        ATTACKS[name](arena, *more.get(name, []))
    except Closed as error:
        check(False, f"{name}: {error}")
    sys.stdout.flush()


def run_beside(arena, names, more):
    def one(name):
        said.lines = []
        run(arena, name, more)
        return said.lines

    with concurrent.futures.ThreadPoolExecutor(len(names)) as threads:
        for lines in threads.map(one, names):
            builtins.print("\n".join(lines), flush=True)


def main():
    pid, namespace, ip, port, url, tickets = sys.argv[1:7]
    starved = Starved(pid)
    starved.start()
    arena = Arena(namespace, ip, int(port), url, tickets)
    # TICKET-FILE.same has several tickets of one character: two, two, eight, six, twelve and the rest.
    with open(tickets + ".same", encoding="ascii") as file:
        same = [base64.b64decode(line) for line in file]
    names = sys.argv[7:] or list(ATTACKS)
    arena.start = arena.metrics.read()
    more = {"takeover": [[same[0:2], same[2:4]]], "tug": [same[4:12]], "killed": [same[12:18]], "relog": [same[18:30]], "churn": [same[30:]],
            "settled": [{g: int(arena.start[g]) for g in GAUGES}]}
    if "stopped" in names:
        child, good = process(arena, arena.ticket())
        check(good, "stopped: it is in")
        child.send_signal(signal.SIGSTOP)
        more["stopped"] = more["settled"] + [child]
    beside = [name for name in names if name in BESIDE]
    for name in names:
        if name not in BESIDE:
            run(arena, name, more)
        elif name == beside[0]:
            run_beside(arena, beside, more)
    print(f"{len(failed)} failed; the server waited at most {starved.most_s:.1f} of 5 s for a processor")
    for text in failed:
        print("  " + text)
    if not failed:
        return 0
    return 77 if starved.most_s >= 2 else 1


if __name__ == "__main__":
    sys.exit(main())
