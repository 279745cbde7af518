"""The messages of docs/protocol.md as Python dictionaries, and protobuf (proto3) by hand.

encode("Hello", protocol_version=1, ...) -> bytes and decode("Joined", data) -> {field: value}. A missing field is 0, "",
b"", [] or None (a message). What cannot be read raises ValueError. Source: docs/protocol.md and the protobuf encoding
specification; nothing here is taken from proto/client.proto.
"""

FIELDS = {
    "Hello": {1: ("protocol_version", "uint32"), 2: ("ticket", "bytes"), 3: ("client_build", "string"),
              4: ("pass", "bytes"), 5: ("solution", "Solution"), 6: ("place", "bytes"), 7: ("redirects", "uint32")},
    "Solution": {1: ("challenge", "bytes"), 2: ("number", "fixed64")},
    "Challenge": {1: ("challenge", "bytes"), 2: ("bits", "uint32"), 3: ("good_for_ms", "uint32")},
    "ReturnPass": {1: ("pass", "bytes"), 2: ("good_for_s", "uint32")},
    "Queued": {1: ("state", "uint32"), 2: ("position", "uint32"), 3: ("wait_ms", "uint32"), 4: ("place", "bytes")},
    "Redirect": {1: ("address", "string"), 2: ("pass", "bytes")},
    "RedirectFailed": {1: ("reason", "uint32")},
    "Admitted": {1: ("character_id", "uint64"), 2: ("map", "string"), 3: ("node", "string")},
    "Refused": {1: ("reason", "uint32"), 2: ("text", "string"), 3: ("retry_after_ms", "uint32")},
    "Joined": {1: ("actor_id", "uint32"), 2: ("map", "string"), 3: ("width_mm", "uint32"), 4: ("height_mm", "uint32"),
               5: ("x_mm", "sint32"), 6: ("y_mm", "sint32"), 7: ("heading", "uint32"), 8: ("tick", "uint32"),
               9: ("tick_hz", "uint32"), 10: ("speed_mm_per_s", "uint32"), 11: ("stay", "uint32"),
               12: ("ground_hash", "uint64"), 13: ("radius_mm", "uint32")},
    "CharacterDetail": {1: ("level", "uint32"), 2: ("gold", "int64"), 3: ("appearance", "uint32"), 4: ("experience", "int64"),
                        5: ("gold_pending", "int64"), 6: ("experience_pending", "int64"), 7: ("health", "uint32"),
                        8: ("health_max", "uint32")},
    "Input": {1: ("dx", "sint32"), 2: ("dy", "sint32")},
    "InputBatch": {1: ("first_sequence", "uint32"), 2: ("inputs", ["Input"])},
    "EntityState": {1: ("actor_id", "uint32"), 2: ("x_mm", "sint32"), 3: ("y_mm", "sint32"), 4: ("heading", "uint32"),
                    5: ("moving", "uint32")},
    "WorldUpdate": {1: ("tick", "uint32"), 2: ("input_sequence", "uint32"), 3: ("entities", ["EntityState"]),
                    4: ("stay", "uint32"), 5: ("input_waiting", "uint32")},
    "ActorEnter": {1: ("state", "EntityState"), 2: ("kind", "uint32"), 3: ("name", "string"), 4: ("appearance", "uint32"),
                   5: ("health", "uint32"), 6: ("health_max", "uint32"), 7: ("item", "uint32"), 8: ("count", "uint32")},
    "Attack": {1: ("actor_id", "uint32"), 2: ("stay", "uint32")},
    "CombatEvent": {1: ("attacker", "uint32"), 2: ("target", "uint32"), 3: ("damage", "uint32"), 4: ("health", "uint32")},
    "MatchState": {1: ("phase", "uint32"), 2: ("left_ms", "uint32"), 3: ("players", "uint32"), 4: ("zone_x_mm", "sint32"),
                   5: ("zone_y_mm", "sint32"), 6: ("zone_radius_mm", "uint32"), 7: ("next_radius_mm", "uint32"),
                   8: ("shrink_ms", "uint32"), 9: ("damage_per_s", "uint32"), 10: ("speed_mm_per_s", "uint32")},
    "MatchCard": {1: ("number", "uint32"), 2: ("name", "string"), 3: ("attack", "uint32"), 4: ("defence", "uint32"),
                  5: ("health", "uint32"), 6: ("speed_permille", "uint32")},
    "CardOffer": {1: ("offer", "uint32"), 2: ("left_ms", "uint32"), 3: ("cards", ["MatchCard"])},
    "CardPick": {1: ("offer", "uint32"), 2: ("card", "uint32"), 3: ("stay", "uint32")},
    "CardTaken": {1: ("offer", "uint32"), 2: ("card", "uint32"), 3: ("speed_mm_per_s", "uint32"),
                  4: ("by_default", "uint32")},
    "MatchRank": {1: ("place", "uint32"), 2: ("name", "string"), 3: ("actor_id", "uint32")},
    "MatchResult": {1: ("draw", "uint32"), 2: ("ranks", ["MatchRank"])},
    "CombatEvents": {1: ("tick", "uint32"), 2: ("events", ["CombatEvent"]), 3: ("stay", "uint32")},
    "PickUp": {1: ("actor_id", "uint32"), 2: ("stay", "uint32")},
    "ItemStack": {1: ("slot", "uint32"), 2: ("item", "uint32"), 3: ("count", "uint32")},
    "Inventory": {1: ("stacks", ["ItemStack"])},
    "MoveItem": {1: ("from", "uint32"), 2: ("to", "uint32"), 3: ("count", "uint32"), 4: ("stay", "uint32")},
    "DropItem": {1: ("slot", "uint32"), 2: ("count", "uint32"), 3: ("stay", "uint32")},
    "TradeRequest": {1: ("actor_id", "uint32"), 2: ("stay", "uint32")},
    "TradeOffer": {1: ("trade", "uint32"), 2: ("stay", "uint32"), 3: ("kind", "uint32"), 4: ("slot", "uint32"),
                   5: ("amount", "int64")},
    "TradeConfirm": {1: ("trade", "uint32"), 2: ("stay", "uint32"), 3: ("version", "uint32")},
    "TradeCancel": {1: ("trade", "uint32"), 2: ("stay", "uint32")},
    "TradeItem": {1: ("slot", "uint32"), 2: ("item", "uint32"), 3: ("count", "uint32")},
    "TradeSide": {1: ("gold", "int64"), 2: ("items", ["TradeItem"]), 3: ("confirmed", "uint32")},
    "TradeState": {1: ("trade", "uint32"), 2: ("version", "uint32"), 3: ("partner", "uint32"), 4: ("phase", "uint32"),
                   5: ("asked", "uint32"), 6: ("own", "TradeSide"), 7: ("other", "TradeSide")},
    "TradeEnded": {1: ("trade", "uint32"), 2: ("reason", "uint32"), 3: ("partner", "uint32")},
    "PartyRequest": {1: ("request", "uint64"), 2: ("stay", "uint32"), 3: ("act", "uint32"), 4: ("character_id", "uint64"),
                     5: ("name", "string")},
    "PartyAnswer": {1: ("request", "uint64"), 2: ("act", "uint32"), 3: ("result", "uint32")},
    "PartyMember": {1: ("character_id", "uint64"), 2: ("name", "string"), 3: ("online", "uint32"), 4: ("map", "string")},
    "PartyState": {1: ("party", "uint64"), 2: ("version", "uint64"), 3: ("leader", "uint64"), 4: ("members", ["PartyMember"]),
                   5: ("change", "uint32"), 6: ("subject", "uint64")},
    "PartyInvite": {1: ("character_id", "uint64"), 2: ("name", "string"), 3: ("left_ms", "uint32"), 4: ("declined", "uint32")},
    "PartyMemberLive": {1: ("character_id", "uint64"), 2: ("actor_id", "uint32"), 3: ("x_mm", "sint32"), 4: ("y_mm", "sint32"),
                        5: ("health", "uint32"), 6: ("health_max", "uint32"), 7: ("level", "uint32")},
    "PartyLive": {1: ("party", "uint64"), 2: ("members", ["PartyMemberLive"])},
    "ViewChange": {1: ("tick", "uint32"), 2: ("sequence", "uint32"), 3: ("enter", ["ActorEnter"]), 4: ("leave", ["uint32"]),
                   5: ("stay", "uint32")},
    "Click": {1: ("actor_id", "uint32")},
    "Dialogue": {1: ("actor_id", "uint32"), 2: ("text", "string"), 3: ("question", "uint32"), 4: ("choices", ["string"])},
    "DialogueAnswer": {1: ("question", "uint32"), 2: ("choice", "uint32"), 3: ("stay", "uint32")},
    "Quest": {1: ("quest", "uint32"), 2: ("phase", "uint32"), 3: ("title", "string"), 4: ("step", "uint32"),
              5: ("text", "string"), 6: ("count", "uint32"), 7: ("pending", "uint32"), 8: ("need", "uint32"),
              9: ("item", "uint32"), 10: ("again_s", "uint32")},
    "QuestLog": {1: ("quests", ["Quest"])},
    "QuestUpdate": {1: ("quests", ["Quest"])},
    "QuestAbandon": {1: ("quest", "uint32"), 2: ("stay", "uint32")},
    "ActionRefused": {1: ("action", "uint32"), 2: ("reason", "uint32")},
    "ChatSay": {1: ("request", "uint64"), 2: ("channel", "fixed64"), 3: ("text", "string")},
    "ChatWhisper": {1: ("request", "uint64"), 2: ("character_id", "uint64"), 3: ("name", "string"), 4: ("text", "string")},
    "ChatJoin": {1: ("request", "uint64"), 2: ("kind", "uint32"), 3: ("name", "string")},
    "ChatPart": {1: ("request", "uint64"), 2: ("channel", "fixed64")},
    "ChatBlock": {1: ("request", "uint64"), 2: ("character_id", "uint64"), 3: ("unblock", "uint32")},
    "ChatReport": {1: ("request", "uint64"), 2: ("channel", "fixed64"), 3: ("token", "uint64"), 4: ("sequence", "uint64"),
                   5: ("why", "string")},
    "ChatFetch": {1: ("request", "uint64"), 2: ("after", "uint64")},
    "ChatLine": {1: ("channel", "fixed64"), 2: ("token", "uint64"), 3: ("sequence", "uint64"), 4: ("sender_id", "uint64"),
                 5: ("sender", "string"), 6: ("text", "string"), 7: ("unix_ms", "uint64")},
    "ChatWhispered": {1: ("token", "uint64"), 2: ("sequence", "uint64"), 3: ("sender_id", "uint64"), 4: ("sender", "string"),
                      5: ("text", "string"), 6: ("unix_ms", "uint64")},
    "ChatDone": {1: ("request", "uint64"), 2: ("token", "uint64"), 3: ("sequence", "uint64")},
    "ChatRefused": {1: ("request", "uint64"), 2: ("reason", "uint32"), 3: ("retry_after_ms", "uint32")},
    "ChatChannel": {1: ("channel", "fixed64"), 2: ("kind", "uint32"), 3: ("name", "string"), 4: ("left", "uint32"),
                    5: ("token", "uint64"), 6: ("sequence", "uint64"), 7: ("slow_ms", "uint32"), 8: ("history", ["ChatLine"])},
    "ChatAnnouncement": {1: ("number", "uint64"), 2: ("text", "string"), 3: ("unix_ms", "uint64")},
}

# type byte: message, channel, who sends it
TYPES = {
    0x01: ("Hello", 0, "client"), 0x02: ("Admitted", 0, "server"), 0x03: ("Refused", 0, "server"),
    0x04: ("Challenge", 0, "server"), 0x05: ("ReturnPass", 0, "server"), 0x06: ("Queued", 0, "server"),
    0x07: ("Redirect", 0, "server"), 0x08: ("RedirectFailed", 0, "client"),
    0x40: ("Joined", 0, "server"), 0x41: ("InputBatch", 1, "client"), 0x42: ("WorldUpdate", 1, "server"),
    0x43: ("ViewChange", 3, "server"), 0x44: ("CharacterDetail", 0, "server"), 0x45: ("Click", 0, "client"),
    0x46: ("Dialogue", 0, "server"), 0x47: ("ActionRefused", 0, "server"),
    0x60: ("MatchState", 0, "server"), 0x61: ("CardOffer", 0, "server"), 0x62: ("CardPick", 0, "client"),
    0x63: ("CardTaken", 0, "server"), 0x64: ("MatchResult", 0, "server"),
    0x70: ("DialogueAnswer", 0, "client"), 0x71: ("QuestLog", 0, "server"),
    0x72: ("QuestUpdate", 0, "server"), 0x73: ("QuestAbandon", 0, "client"),
    0x48: ("Attack", 0, "client"), 0x49: ("CombatEvents", 3, "server"),
    0x4a: ("PickUp", 0, "client"), 0x4b: ("Inventory", 0, "server"), 0x4c: ("MoveItem", 0, "client"),
    0x4d: ("DropItem", 0, "client"),
    0x50: ("TradeRequest", 0, "client"), 0x51: ("TradeOffer", 0, "client"), 0x52: ("TradeConfirm", 0, "client"),
    0x53: ("TradeCancel", 0, "client"), 0x54: ("TradeState", 0, "server"), 0x55: ("TradeEnded", 0, "server"),
    0x58: ("PartyRequest", 0, "client"), 0x59: ("PartyAnswer", 0, "server"), 0x5a: ("PartyState", 0, "server"),
    0x5b: ("PartyInvite", 0, "server"), 0x5c: ("PartyLive", 0, "server"),
    0x80: ("ChatSay", 2, "client"), 0x81: ("ChatWhisper", 2, "client"), 0x82: ("ChatJoin", 2, "client"),
    0x83: ("ChatPart", 2, "client"), 0x84: ("ChatBlock", 2, "client"), 0x85: ("ChatReport", 2, "client"),
    0x86: ("ChatFetch", 2, "client"), 0x90: ("ChatLine", 2, "server"), 0x91: ("ChatWhispered", 2, "server"),
    0x92: ("ChatDone", 2, "server"), 0x93: ("ChatRefused", 2, "server"), 0x94: ("ChatChannel", 2, "server"),
    0x95: ("ChatAnnouncement", 2, "server"),
}
TYPE_OF = {name: (byte, channel) for byte, (name, channel, _) in TYPES.items()}

REASONS = ("NONE SERVER_FULL SERVER_STOPPING WRONG_VERSION TICKET_MALFORMED TICKET_FORGED TICKET_EXPIRED TICKET_USED"
           " TICKET_WRONG_REALM TRY_LATER HELLO_TIMEOUT MALFORMED REPLACED MAP_UNAVAILABLE WRONG_ACCOUNT SLOW OVERSIZE"
           " KICKED CHECKSUM").split()
PLAYER, NPC = 1, 2


def reason_name(number):
    return REASONS[number] if number < len(REASONS) else f"closed ({number})"


def _varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data, at):
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("a number is cut off")
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value & ((1 << 64) - 1), at
    raise ValueError("a number of more than 10 bytes")


def _number_bits(kind, value):
    return value << 1 ^ value >> 63 if kind == "sint32" else value


def _number_of(kind, bits):
    if kind == "sint32":
        bits &= 0xFFFFFFFF
        return bits >> 1 ^ -(bits & 1)
    if kind == "uint32":
        return bits & 0xFFFFFFFF
    return bits - (1 << 64) if kind == "int64" and bits >> 63 else bits


def _one(number, kind, value):
    if kind == "string":
        value = value.encode()
    elif kind in FIELDS:
        value = encode(kind, **value)
    if isinstance(value, bytes):
        return _varint(number << 3 | 2) + _varint(len(value)) + value
    if kind == "fixed64":
        return _varint(number << 3 | 1) + value.to_bytes(8, "little")
    return _varint(number << 3) + _varint(_number_bits(kind, value))


def encode(message, **values):
    out = b""
    for number, (name, kind) in FIELDS[message].items():
        value = values.pop(name, None)
        if isinstance(kind, list) and (kind[0] in FIELDS or kind[0] == "string"):
            out += b"".join(_one(number, kind[0], item) for item in value or [])
        elif isinstance(kind, list):
            packed = b"".join(_varint(_number_bits(kind[0], item)) for item in value or [])
            out += _one(number, "bytes", packed) if packed else b""
        elif value or kind in FIELDS and value is not None:
            out += _one(number, kind, value)
    if values:
        raise KeyError(f"{message} has no {values}")
    return out


def packet(message, **values):
    return bytes([TYPE_OF[message][0]]) + encode(message, **values)


def _default(kind):
    if isinstance(kind, list):
        return []
    return None if kind in FIELDS else {"string": "", "bytes": b""}.get(kind, 0)


def _fields(data):
    """Yields (number, wire type, value): an int, or bytes."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _read_varint(data, at)
        else:
            length = {1: 8, 5: 4}.get(wire)
            if wire == 2:
                length, at = _read_varint(data, at)
            if not number or length is None or length > len(data) - at:
                raise ValueError(f"field {number} of wire type {wire} cannot be read")
            value, at = data[at:at + length], at + length
        yield number, wire, value


def decode(message, data, into=None):
    got = into if into is not None else {name: _default(kind) for name, kind in FIELDS[message].values()}
    for number, wire, value in _fields(data):
        name, kind = FIELDS[message].get(number, (None, None))
        if name is None:
            continue
        item = kind[0] if isinstance(kind, list) else kind
        text = item in FIELDS or item in ("string", "bytes")
        if isinstance(kind, list) and not text and wire == 2:
            at = 0
            while at < len(value):
                bits, at = _read_varint(value, at)
                got[name].append(_number_of(item, bits))
            continue
        if wire != (2 if text else 1 if item == "fixed64" else 0):
            raise ValueError(f"{message}.{name} has wire type {wire}")
        if item in FIELDS:
            value = decode(item, value, None if isinstance(kind, list) else got[name])
        elif item == "string":
            value = value.decode()
        elif item == "fixed64":
            value = int.from_bytes(value, "little")
        elif item != "bytes":
            value = _number_of(item, value)
        if isinstance(kind, list):
            got[name].append(value)
        else:
            got[name] = value
    return got


def read_packet(channel, data, sender="server"):
    """A packet of the other side -> (message name, fields)."""
    if not data or data[0] not in TYPES:
        raise ValueError("an unknown type")
    message, of_channel, of_sender = TYPES[data[0]]
    if channel != of_channel or of_sender != sender:
        raise ValueError(f"{message} on channel {channel} from the {sender}")
    return message, decode(message, data[1:])
