#!/usr/bin/env python3
"""A client written from docs/protocol.md alone: it logs in, walks a square, talks to an NPC and leaves, and holds the
server to each word of that page that a client can see. Ends with 0 when all was as the page says.

usage: walker.py IP PORT TICKET-FILE [--click NAME] [--players N] [--edge] [--walls] [--expect-refused REASON]
"""

import argparse
import base64
import math
import sys
import time

import codec
import transport
from movement import ground_of, same_heading, walk

BATCH = 8
PATIENCE_S = 20


class Closed(Exception):
    """The server closed or refused: (reason name, reason number)."""


def newer(a, b):
    """Whether tick a comes after b."""
    return 0 < (a - b) & 0xFFFFFFFF < 1 << 31


class Client:
    def __init__(self, ip, port, ticket):
        self.wire = transport.Connection(ip, port)
        self.ticket = ticket
        self.connected = False
        self.closed = None
        self.refused = None
        self.admitted = None
        self.queued = None
        self.passes = 0
        self.joined = None
        self.detail = None
        self.spoken = []
        self.action_refused = []
        self.blows = 0
        self.inventory = None
        self.channels, self.lines = {}, []
        self.match, self.cards, self.quests = None, None, None
        self.party, self.party_live, self.party_answers, self.party_invites = None, None, {}, []
        self.view = {}
        self.view_stay, self.view_sequence = 0, 0
        self.own_tick = None
        self.acknowledged = 0
        self.sequence = 0
        self.path = {}  # sequence -> (input, x, y, heading, moving), 0 is where it joined
        self.faults = []
        self.checked = 0
        self.updates = 0
        self.next_input = 0.0

    def fault(self, text):
        self.faults.append(text)
        print("FAULT:", text)

    def send(self, message, **values):
        byte_channel = codec.TYPE_OF[message][1]
        flags = 0 if message == "InputBatch" else transport.RELIABLE
        if not self.wire.send(byte_channel, codec.packet(message, **values), flags):
            raise Closed("ENet takes no packet", 0)

    def service(self, timeout_ms):
        for kind, channel, what in self.wire.events(timeout_ms):
            if kind == transport.CONNECT:
                self.connected = True
                self.send("Hello", protocol_version=1, ticket=self.ticket, client_build="walker.py 1")
            elif kind == transport.DISCONNECT:
                self.closed = what
                return
            else:
                self.receive(channel, what)

    def receive(self, channel, data):
        try:
            message, fields = codec.read_packet(channel, data)
        except ValueError as error:
            self.fault(f"unreadable packet {data[:32].hex(' ')} on channel {channel}: {error}")
            return
        if len(data) > 8160:
            self.fault(f"{message} of {len(data)} bytes")
        getattr(self, "on_" + message)(fields)

    def on_Challenge(self, got):
        self.fault(f"asked for work, though there is no pressure: {got}")

    def on_ReturnPass(self, got):
        if not 1 <= len(got["pass"]) <= 192 or not got["good_for_s"]:
            self.fault(f"ReturnPass is not as it should be: {got}")
        self.passes += 1

    def on_Queued(self, got):
        if self.admitted or self.joined or not 1 <= got["state"] <= 6 or len(got["place"]) > 192:
            self.fault(f"Queued is not as it should be: {got}")
        if got["wait_ms"] and got["state"] > 2:
            self.fault(f"an estimate while nothing moves: {got}")
        self.queued = got

    def on_Admitted(self, got):
        if self.admitted or self.joined:
            self.fault("a second Admitted, or one after Joined")
        if not self.passes:
            self.fault("Admitted, and nothing to come again with")
        self.admitted = got

    def on_Redirect(self, got):
        self.fault(f"sent elsewhere, though it never said that it follows: {got}")

    def on_Refused(self, got):
        self.refused = got

    def on_Joined(self, got):
        if not self.admitted or not got["actor_id"] or not 1 <= got["tick_hz"] <= 60:
            self.fault(f"Joined is not as it should be: {got}")
        if got["stay"] > self.view_stay:
            self.view_begin(got["stay"])
        self.joined = got
        self.path = {self.sequence: ((0, 0), got["x_mm"], got["y_mm"], got["heading"], 0)}
        self.acknowledged = self.sequence

    def on_CharacterDetail(self, got):
        if not self.joined:
            self.fault("CharacterDetail before Joined")
        self.detail = got

    def view_begin(self, stay):
        self.view, self.view_stay, self.view_sequence = {}, stay, 0

    def on_ViewChange(self, got):
        if got["stay"] < self.view_stay:  # of the map that was left
            return
        if got["stay"] > self.view_stay:
            self.view_begin(got["stay"])
        if got["sequence"] != self.view_sequence + 1:
            self.fault(f"ViewChange {got['sequence']} after {self.view_sequence}")
        self.view_sequence = got["sequence"]
        for actor in got["leave"]:
            if self.view.pop(actor, None) is None:
                self.fault(f"actor {actor} leaves and was not in view")
        for enter in got["enter"]:
            state = enter["state"]
            own = self.joined and self.joined["stay"] == got["stay"] and self.joined["actor_id"]
            if state is None or state["actor_id"] == own:
                self.fault(f"a strange enter: {enter}")
                continue
            self.view[state["actor_id"]] = dict(enter, tick=got["tick"])

    def on_WorldUpdate(self, got):
        self.updates += 1
        for state in got["entities"]:
            if self.joined and state["actor_id"] == self.joined["actor_id"]:
                self.reconcile(got["tick"], got["input_sequence"], state)
            elif state["actor_id"] in self.view:
                actor = self.view[state["actor_id"]]
                if not newer(actor["tick"], got["tick"]):
                    actor["state"], actor["tick"] = state, got["tick"]

    def reconcile(self, tick, sequence, state):
        if self.own_tick is not None and newer(self.own_tick, tick):
            return
        self.own_tick = tick
        if sequence not in self.path:
            self.fault(f"input_sequence {sequence}, kept are {min(self.path)} to {max(self.path)}")
            return
        # What the server says: position and heading after the input, but it may have come to rest since.
        move, x, y, heading, moving = self.path[sequence]
        said = (state["x_mm"], state["y_mm"], state["moving"])
        if said[:2] != (x, y) or said[2] not in (moving, 0) or not same_heading(state["heading"], heading):
            self.fault(f"tick {tick}, input {sequence} {move}: server {state}, here {self.path[sequence]}")
            x, y, heading = state["x_mm"], state["y_mm"], state["heading"]
            self.path[sequence] = (move, x, y, heading, moving)
            for later in range(sequence + 1, self.sequence + 1):
                move = self.path[later][0]
                x, y, heading, moving = walk(self.joined, x, y, heading, *move)
                self.path[later] = (move, x, y, heading, moving)
        self.checked += 1
        self.acknowledged = sequence
        for old in [s for s in self.path if s < sequence]:
            del self.path[old]

    def dialogue_of(self, got):
        self.spoken.append((got["actor_id"], got["text"]))

    on_Dialogue = dialogue_of

    def on_CombatEvents(self, got):
        if got["stay"] != self.view_stay:
            return
        for blow in got["events"]:
            if blow["target"] in self.view:
                self.view[blow["target"]]["health"] = blow["health"]
        self.blows += len(got["events"])

    def on_Inventory(self, got):
        self.inventory = {stack["slot"]: stack for stack in got["stacks"]}

    def on_QuestLog(self, got):
        self.quests = got

    def on_PartyState(self, got):
        self.party = got if got["party"] else None

    def on_PartyAnswer(self, got):
        self.party_answers[got["request"]] = got["result"]

    def on_PartyInvite(self, got):
        self.party_invites.append(got)

    def on_PartyLive(self, got):
        self.party_live = got

    def on_MatchState(self, got):
        self.match = got

    def on_CardOffer(self, got):
        self.cards = got

    def on_CardTaken(self, got):
        self.cards = None

    def on_MatchResult(self, got):
        self.match = None

    def on_ActionRefused(self, got):
        self.action_refused.append((got["action"], got["reason"]))

    def on_ChatChannel(self, got):
        if got["left"]:
            self.channels.pop(got["channel"], None)
            return
        known = self.channels.get(got["channel"])
        if not known:
            self.channels[got["channel"]] = got
        elif got["token"] > known["token"]:
            known["token"], known["sequence"] = got["token"], 0

    def on_ChatLine(self, got):
        known = self.channels.get(got["channel"])
        if known is None:
            self.fault(f"a line of a channel that the walker is not in: {got}")
        elif (got["token"], got["sequence"]) > (known["token"], known["sequence"]):
            if got["token"] == known["token"] and got["sequence"] != known["sequence"] + 1:
                self.fault(f"line {got['sequence']} after {known['sequence']}")
            known["token"], known["sequence"] = got["token"], got["sequence"]
            self.lines.append(got)

    def note(self, got):
        """What a walker need not understand: it was readable."""

    on_QuestLog = on_QuestUpdate = on_TradeState = on_TradeEnded = note
    on_PartyAnswer = on_PartyState = on_PartyInvite = on_PartyLive = note
    on_ChatWhispered = on_ChatDone = on_ChatRefused = on_ChatAnnouncement = note

    # What a player does

    def until(self, what, condition):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            self.service(20)
            if self.closed is not None:
                raise Closed(codec.reason_name(self.closed), self.closed)
            if time.monotonic() > end:
                raise Closed(f"no {what} in {PATIENCE_S} s", 0)

    def send_batch(self):
        first = max(min(self.path) + (self.path.keys() != {self.sequence}), self.sequence - BATCH + 1, 1)
        inputs = [{"dx": self.path[s][0][0], "dy": self.path[s][0][1]} for s in range(first, self.sequence + 1)]
        self.send("InputBatch", first_sequence=first, inputs=inputs)
        self.wire.flush()

    def pace(self):
        now = time.monotonic()
        self.next_input = max(self.next_input + 1 / self.joined["tick_hz"], now)
        while (now := time.monotonic()) < self.next_input:
            self.service(max(1, int((self.next_input - now) * 1000)))
        self.service(0)
        if self.closed is not None:
            raise Closed(codec.reason_name(self.closed), self.closed)

    def step(self, dx, dy):
        """One input. With eight unanswered it repeats them and waits: no input is ever dropped, so that a slow machine
        gives no corrections."""
        self.pace()
        while self.sequence - self.acknowledged >= BATCH:
            self.send_batch()
            self.pace()
        _, x, y, heading, _ = self.path[self.sequence]
        self.sequence += 1
        self.path[self.sequence] = ((dx, dy), *walk(self.joined, x, y, heading, dx, dy))
        self.send_batch()

    def stop(self):
        self.step(0, 0)
        end = time.monotonic() + PATIENCE_S
        while self.acknowledged != self.sequence:
            self.pace()
            self.send_batch()
            if time.monotonic() > end:
                raise Closed("the last input was not answered", 0)

    def stay(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pace()

    def here(self):
        return self.path[self.sequence][1:3]

    def named(self, name):
        return next((a for a, actor in self.view.items() if actor["name"] == name), None)

    def distance(self, actor):
        x, y = self.here()
        state = self.view[actor]["state"]
        return math.hypot(state["x_mm"] - x, state["y_mm"] - y)

    def players(self):
        return [a for a in self.view.values() if a["kind"] == codec.PLAYER]

    def leave(self):
        self.wire.disconnect_later()
        end = time.monotonic() + PATIENCE_S
        while self.closed is None and time.monotonic() < end:
            self.service(20)
        if self.closed is None:
            raise Closed("the leave was not confirmed", 0)


def approach(client, name, reach_mm):
    client.until(f"{name} in view", lambda: client.named(name) is not None)
    actor = client.named(name)
    while client.distance(actor) > reach_mm:
        x, y = client.here()
        state = client.view[actor]["state"]
        far = max(abs(state["x_mm"] - x), abs(state["y_mm"] - y))
        client.step(round((state["x_mm"] - x) / far * 127), round((state["y_mm"] - y) / far * 127))
    client.stop()
    return actor


def square(client, side):
    # Full and slow, and in between a vector that is no clean angle.
    for dx, dy in ((127, 0), (0, 127), (-127, 0), (0, -127), (31, 17), (-31, -17), (127, 127), (-127, -127)):
        for _ in range(side):
            client.step(dx, dy)
    client.stop()


def bump(client):
    """To the nearest wall, into it and along it: the server must stop where the page says."""
    ground = ground_of(client.joined)
    if ground is None:
        client.fault("the map has no walls")
        return
    x, y = client.here()
    half = ground.tile_mm // 2
    middles = ((column * ground.tile_mm + half, row * ground.tile_mm + half)
               for row in range(ground.rows) for column in range(ground.columns) if ground.solid[row][column])
    far, to_x, to_y = min((abs(to_x - x) + abs(to_y - y), to_x, to_y) for to_x, to_y in middles)
    stopped = 0
    for _ in range(far // 100 + 20):
        before = client.here()
        away = max(abs(to_x - before[0]), abs(to_y - before[1]), 1)
        client.step(round((to_x - before[0]) / away * 127), round((to_y - before[1]) / away * 127))
        stopped += client.here() == before
        if stopped == 3:
            break
    for dx, dy in ((127, 30), (-127, 30), (30, 127), (30, -127)):
        for _ in range(8):
            client.step(dx, dy)
    client.stop()
    if not stopped:
        client.fault(f"no wall on the way from {x}, {y} to {to_x}, {to_y}")
    print(f"bumped into the wall at {to_x}, {to_y}, stands at {client.here()}")


def play(client, arguments):
    client.until("connection", lambda: client.connected)
    client.until("Admitted", lambda: client.admitted)
    print("admitted:", client.admitted)
    client.until("Joined", lambda: client.joined)
    print("joined:", client.joined)
    client.until("CharacterDetail", lambda: client.detail)
    print("detail:", client.detail)
    start = client.here()
    square(client, 15)
    print(f"walked a square from {start} to {client.here()}, {client.checked} own states compared")
    client.until(f"{arguments.players} players in view", lambda: len(client.players()) >= arguments.players)
    print(f"in view: {len(client.view)} actors, {len(client.players())} players:",
          ", ".join(sorted(a["name"] or "?" for a in client.view.values())[:12]))
    if arguments.edge:
        x, y = client.here()
        for _ in range(arguments.edge):
            client.step(-127 if x < client.joined["width_mm"] // 2 else 127, 3)
        client.stop()
        print("at the edge:", client.here())
    if arguments.walls:
        bump(client)
    if arguments.click:
        actor = approach(client, arguments.click, 8000)
        client.send("Click", actor_id=actor)
        client.until("Dialogue", lambda: any(a == actor for a, _ in client.spoken) or client.action_refused)
        if client.action_refused:
            client.fault(f"the click was refused: {client.action_refused}")
        for _, text in client.spoken:
            print(f"{arguments.click}: {''.join(ch if ch.isprintable() else '?' for ch in text)}")
    client.stay(2)  # standing still is said again about once a second
    client.leave()
    if client.closed != 0:
        client.fault(f"closed with {codec.reason_name(client.closed)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ip")
    parser.add_argument("port", type=int)
    parser.add_argument("tickets", help="a file of swctl ticket; the first line is used")
    parser.add_argument("--click", help="the NPC to talk to")
    parser.add_argument("--players", type=int, default=0, help="see at least so many")
    parser.add_argument("--edge", type=int, default=0, help="inputs towards the nearer side of the map")
    parser.add_argument("--walls", action="store_true", help="walk into the nearest wall, and along it")
    parser.add_argument("--expect-refused", help="name of the reason")
    arguments = parser.parse_args()
    with open(arguments.tickets, encoding="ascii") as file:
        ticket = base64.b64decode(file.readline())
    client = Client(arguments.ip, arguments.port, ticket)
    try:
        play(client, arguments)
    except Closed as error:
        print(f"ended: {error.args[0]}", f"refused: {client.refused}" if client.refused else "")
        if client.refused and client.refused["reason"] != client.closed:
            client.fault("Refused and the disconnect differ")
        if error.args[0] == arguments.expect_refused and client.refused and not client.faults:
            return 0
        return 1
    print(f"{client.checked} own states, {client.updates} updates, {client.sequence} inputs, {len(client.faults)} faults")
    return 1 if client.faults or arguments.expect_refused else 0


if __name__ == "__main__":
    sys.exit(main())
