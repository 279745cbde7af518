#!/usr/bin/env python3
"""belongings.py [--spoil | --settled] FOLDER: what clients were told, against what the database has.

FOLDER holds the journals of bots (*.journal, client/bot/journal.h) and the tables as CSV with a header
line: ledger.csv, commit_record.csv, character.csv, item_slot.csv. It checks

  tables    what characters own is what the ledger's sources brought, less what its sinks took: of each
            item and of gold, all characters together; a thing with a serial is in one place or none
  kinds     a trade, or a move within a bag, brings and takes nothing: its rows add up to 0
  refused   what the database refused has no row
  trades    a client was told END_DONE exactly as often as the ledger has that trade; only where a
            connection ended between "I confirm" and the answer may the ledger have one more
  shown     each balance and each filled slot that a client was shown is one that the ledger has; what one is
            shown later is not older; and what was shown last, in peace, is what the tables have

With --settled it looks at the journals alone: whether each character's connection of now was shown its balances, and
that nothing it has earned is pending. Exit status 1: not yet.

With --spoil it then spoils what it has read, in one way after the other, and each time has to notice: a checker that cannot
fail proves nothing. Exit status 0: all true."""
import collections
import copy
import csv
import json
import pathlib
import sys

GOLD, EXPERIENCE, SLOT = 0, 1, 2  # common/commit.h: COMMIT_OPS
LOOT, TRADE, EQUIP = 2, 3, 6  # COMMIT_REASONS
OK = 0
FAULTS_SHOWN = 12


def read_lines(folder):
    """(journal, bot, connection): its entries. A line that is just being written is left out."""
    lines = collections.OrderedDict()
    for path in sorted(folder.glob("*.journal"), key=lambda path: path.stat().st_mtime):
        for text in path.read_text().splitlines(keepends=True):
            entry = json.loads(text) if text.endswith("\n") else {"character": 0}
            if entry["character"]:  # else never admitted
                lines.setdefault((path.name, entry["bot"], entry["line"]), []).append(entry)
    return lines


class World:
    def __init__(self, folder):
        self.ledger = rows(folder / "ledger.csv")
        self.records = rows(folder / "commit_record.csv")
        self.characters = {int(r["character_id"]): r for r in rows(folder / "character.csv")}
        self.slots = rows(folder / "item_slot.csv")
        self.lines = read_lines(folder)


def rows(path):
    with path.open(newline="") as file:
        found = list(csv.DictReader(file))
    for row in found:
        for name, value in row.items():
            if name not in ("request", "name", "at"):
                row[name] = int(value)
    return found


def by_request(world, reasons):
    requests = collections.defaultdict(list)
    for row in world.ledger:
        if row["reason"] in reasons:
            requests[row["request"]].append(row)
    return requests


# ---- the ledger and the tables ----


def check_tables(world):
    items, serials = collections.Counter(), collections.Counter()
    gold = 0
    for row in world.ledger:
        if row["kind"] == GOLD:
            gold += row["amount"]
        elif row["kind"] == SLOT:
            items[row["item"]] += row["amount"]
            if row["serial"]:
                serials[row["serial"]] += row["amount"]
    there = sum(r["gold"] for r in world.characters.values())
    if gold != there:
        yield f"sources less sinks are {gold} gold, the characters own {there}"
    owned, placed = collections.Counter(), collections.Counter()
    for row in world.slots:
        owned[row["item"]] += row["count"]
        if row["serial"]:
            placed[row["serial"]] += row["count"]
    for item in items.keys() | owned.keys():
        if items[item] != owned[item]:
            yield f"item {item}: sources less sinks are {items[item]}, the characters own {owned[item]}"
    for serial in serials.keys() | placed.keys():
        if serials[serial] not in (0, 1) or serials[serial] != placed[serial]:
            yield f"serial {serial}: {serials[serial]} by the ledger, {placed[serial]} in bags"


def check_kinds(world):
    for request, ops in by_request(world, (TRADE, EQUIP)).items():
        sums = collections.Counter()
        for row in ops:
            sums[row["kind"], row["item"], row["serial"]] += row["amount"]
            if row["kind"] not in (GOLD, SLOT) or row["reason"] == EQUIP and row["kind"] != SLOT:
                yield f"{request}: a trade or a move does not change kind {row['kind']}"
        for what, left in sums.items():
            if left:
                yield f"{request}: {left} of {what} appeared in a trade or a move"
        who = {row["character_id"] for row in ops}
        if len(who) != (2 if ops[0]["reason"] == TRADE else 1):
            yield f"{request}: of {len(who)} characters"


def check_refused(world):
    results = {record["request"]: record["result"] for record in world.records}
    for row in world.ledger:
        if results.get(row["request"]) != OK:
            yield f"{row['request']}: has rows, but its result is {results.get(row['request'])}"


# ---- trades ----


def goods(offer):
    return offer["gold"], tuple(sorted(tuple(pile) for pile in offer["items"]))


def without_slots(offer):
    sums = collections.Counter()
    for _, item, count in offer["items"]:
        sums[item] += count
    return offer["gold"], tuple(sorted(sums.items()))


def deal_of(entry):
    """A trade as one of the two sees it: with the slots that it gives from, which are its own."""
    return entry["partner"], goods(entry["gives"]), without_slots(entry["gets"])


def trades_of_ledger(world):
    """(character, its deal): how often the ledger has it."""
    found = collections.Counter()
    for ops in by_request(world, (TRADE,)).values():
        for who in {row["character_id"] for row in ops}:
            other = next(row["character_id"] for row in ops if row["character_id"] != who)
            gives = {"gold": 0, "items": []}
            gets = {"gold": 0, "items": []}
            for row in ops:
                if row["character_id"] != who:
                    continue
                side, amount = (gives, -row["amount"]) if row["amount"] < 0 else (gets, row["amount"])
                if row["kind"] == GOLD:
                    side["gold"] += amount
                else:
                    side["items"].append([row["slot"], row["item"], amount])
            name = world.characters[other]["name"]
            found[who, deal_of({"partner": name, "gives": gives, "gets": gets})] += 1
    return found


def trades_of_journals(world):
    """What clients know to be done, and what they cannot know: (character, deal): how often, for both."""
    done, unknown = collections.Counter(), collections.Counter()
    for entries in world.lines.values():
        waits = {}
        for entry in entries:
            if entry["event"] in ("confirm", "under_way"):
                waits[entry["trade"]] = entry
            elif entry["event"] == "trade_end":
                waits.pop(entry["trade"], None)
                if entry["reason"] == "END_DONE":
                    done[entry["character"], deal_of(entry)] += 1
            elif entry["event"] == "joined":  # another map, and nobody tells of the trade there
                for left in waits.values():
                    unknown[left["character"], deal_of(left)] += 1
                waits = {}
        for left in waits.values():
            unknown[left["character"], deal_of(left)] += 1
    return done, unknown


def check_trades(world):
    ledger = trades_of_ledger(world)
    done, unknown = trades_of_journals(world)
    known = journal_characters(world)
    for key, count in done.items():
        if ledger[key] < count:
            yield f"{key}: told END_DONE {count} times, the ledger has {ledger[key]}"
    for key, count in ledger.items():
        if key[0] in known and count > done[key] + unknown[key]:
            yield f"{key}: in the ledger {count} times, told {done[key]} times, {unknown[key]} unknown"


def journal_characters(world):
    return {entries[-1]["character"] for entries in world.lines.values()}


# ---- what was shown ----


def shown_last(lines):
    """Of each character: what its last connection showed last."""
    last = collections.defaultdict(dict)
    for entries in lines.values():
        for entry in entries:
            if entry["event"] in ("detail", "inventory"):
                last[entry["character"]][entry["event"]] = entry
            elif entry["event"] == "joined":
                last[entry["character"]] = {}
    return last


def check_shown(world):
    was = collections.defaultdict(set)
    for row in world.ledger:
        what = (row["slot"], row["item"]) if row["kind"] == SLOT else row["kind"]
        was[row["character_id"], what].add(row["balance"])
    experience = collections.Counter()
    for entries in world.lines.values():
        for entry in entries:
            who = entry["character"]
            if entry["event"] == "detail":
                for kind, name in ((GOLD, "gold"), (EXPERIENCE, "experience")):
                    if entry[name] and entry[name] not in was[who, kind]:
                        yield f"character {who} was shown {entry[name]} {name}, which it never had"
            elif entry["event"] == "inventory":
                for slot, item, count in entry["slots"]:
                    if count not in was[who, (slot, item)]:
                        yield f"character {who} was shown {count} of {item} in slot {slot}, which never lay there"
    # A character's connections follow each other: one that is replaced hears nothing new of what it owns.
    for key, entries in world.lines.items():
        for entry in entries:
            if entry["event"] != "detail":
                continue
            if entry["experience"] < experience[entry["character"]]:
                yield f"{key}: experience went back from {experience[entry['character']]} to {entry['experience']}"
            experience[entry["character"]] = max(experience[entry["character"]], entry["experience"])


def check_last(world):
    bags = collections.defaultdict(list)
    for row in world.slots:
        bags[row["character_id"]].append([row["slot"], row["item"], row["count"]])
    for who, shown in shown_last(world.lines).items():
        bag = shown["inventory"]["slots"] if "inventory" in shown else []
        if sorted(bag) != sorted(bags[who]):
            yield f"character {who} was shown {bag} last, and has {sorted(bags[who])}"
        if "detail" not in shown:
            yield f"character {who} was not there at the end"
            continue
        for name in ("gold", "experience"):
            if shown["detail"][name] != world.characters[who][name]:
                yield (f"character {who} was shown {shown['detail'][name]} {name} last, "
                       f"and has {world.characters[who][name]}")


def settled(folder):
    return all("detail" in shown and not shown["detail"]["gold_pending"] and not shown["detail"]["experience_pending"]
               for shown in shown_last(read_lines(folder)).values())


CHECKS = {"tables": check_tables, "kinds": check_kinds, "refused": check_refused, "trades": check_trades,
          "shown": check_shown, "last": check_last}


def faults(world):
    return [(name, fault) for name, check in CHECKS.items() for fault in check(world)]


# ---- that it can fail ----


def a_trade_of_gold(world):
    """One that clients know of: its request and rows."""
    done, _ = trades_of_journals(world)
    names = {row["name"]: who for who, row in world.characters.items()}
    for request, ops in by_request(world, (TRADE,)).items():
        known = {who for who, deal in done for row in ops
                 if row["character_id"] == who and names[deal[0]] in {r["character_id"] for r in ops}}
        if known and any(row["kind"] == GOLD for row in ops):
            return request, ops
    raise SystemExit("no trade of gold that a client knows of")


def lose_trades(world):
    world.ledger = [row for row in world.ledger if row["reason"] != TRADE]
    return "trades"


def repeat_a_trade(world):
    _, ops = a_trade_of_gold(world)
    world.ledger += [dict(row, request="again") for row in ops]
    world.records.append({"request": "again", "result": OK})
    return "trades"


def keep_refused_trades(world):
    for entries in world.lines.values():
        for entry in entries:
            if entry["event"] == "trade_end" and entry["reason"] == "END_DONE":
                entry["reason"] = "END_REFUSED"
    return "trades"


def give_for_nothing(world):
    _, ops = a_trade_of_gold(world)
    row = next(r for r in ops if r["kind"] == GOLD and r["amount"] > 0)
    row["amount"] += 1
    return "kinds"


def double_an_item(world):
    world.slots[0]["count"] += 1
    return "tables"


def double_a_serial(world):
    row = next(r for r in world.slots if r["serial"])
    world.slots.append(dict(row, slot=63))
    return "tables"


def coin_from_nowhere(world):
    next(iter(world.characters.values()))["gold"] += 1
    return "tables"


def keep_a_refusal(world):
    request = world.ledger[0]["request"]
    for record in world.records:
        if record["request"] == request:
            record["result"] = 5
    return "refused"


def pick_up_twice(world):
    row = next(r for r in world.ledger if r["serial"] and r["reason"] == LOOT)
    world.ledger.append(dict(row, request="again"))
    world.records.append({"request": "again", "result": OK})
    return "tables"


def show_what_is_not(world):
    entry = next(e for entries in world.lines.values() for e in entries
                 if e["event"] == "inventory" and e["slots"])
    entry["slots"][0][2] += 100000
    return "shown"


def forget_experience(world):
    seen = {}
    for entries in world.lines.values():
        for entry in entries:
            if entry["event"] == "detail" and entry["experience"]:
                if entry["character"] in seen:
                    entry["experience"] = 0
                    return "shown"
                seen[entry["character"]] = entry
    raise StopIteration  # nobody was shown experience twice


def end_otherwise(world):
    world.slots = []
    return "last"


SPOILERS = [lose_trades, repeat_a_trade, keep_refused_trades, give_for_nothing, double_an_item, double_a_serial,
            coin_from_nowhere, keep_a_refusal, pick_up_twice, show_what_is_not, forget_experience, end_otherwise]


def main():
    *flags, folder = sys.argv[1:] or [""]
    if flags not in ([], ["--spoil"], ["--settled"]) or not pathlib.Path(folder).is_dir():
        raise SystemExit(__doc__)
    if flags == ["--settled"]:
        raise SystemExit(0 if settled(pathlib.Path(folder)) else 1)
    world = World(pathlib.Path(folder))
    found = faults(world)
    for name, fault in found[:FAULTS_SHOWN]:
        print(f"{name}: {fault}", file=sys.stderr)
    if found:
        raise SystemExit(f"{len(found)} faults")
    lacking = []
    for spoil in SPOILERS if flags else []:
        spoiled = copy.deepcopy(world)
        try:
            kind = spoil(spoiled)
        except StopIteration:  # a short game may lack what it would spoil
            lacking.append(spoil.__name__)
            continue
        if kind not in {name for name, _ in faults(spoiled)}:
            raise SystemExit(f"{spoil.__name__} was not noticed")
    if lacking:
        print("nothing there to spoil for " + ", ".join(lacking))
    if len(lacking) > 2:
        raise SystemExit("too little happened")
    done, unknown = trades_of_journals(world)
    entries = [entry for line in world.lines.values() for entry in line]
    kinds = collections.Counter(entry["event"] for entry in entries)
    reasons = collections.Counter(entry["reason"] for entry in entries if entry["event"] == "trade_end")
    ledger = trades_of_ledger(world)
    found = sum(min(count, max(0, ledger[key] - done[key])) for key, count in unknown.items())
    print(f"{len(by_request(world, (TRADE,)))} trades in the ledger; clients were told {reasons['END_DONE']} times; "
          f"of {sum(unknown.values())} that they cannot know {found} are there, once")
    print(f"{kinds['inventory']} bags and {kinds['detail']} balances shown, each true; "
          f"{len(world.lines)} connections of {len(journal_characters(world))} characters; "
          f"{len(world.ledger)} rows; other ends of trades: "
          + ", ".join(f"{count} {name}" for name, count in sorted(reasons.items()) if name != "END_DONE"))


if __name__ == "__main__":
    main()
