#!/usr/bin/env python3
"""hold.py BIN: what the documents name is there: files they link to or name, verbs and options of the commands they
show, environment variables, keys of the configuration, metrics. It runs nothing of it but --help."""
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.argv[1])
PAGES = [ROOT / "README.md", ROOT / "perf" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = {".c", ".h", ".sh", ".py", ".lua", ".yaml", ".awk", ".bats", ".md", ".sql", ".txt", ".proto", ".cmake", ".html", ""}
# Names of files that only a machine which runs the server has, or that a reader is to make.
ELSEWHERE = {"node.yaml", "turns.tsv", "plot.svg"}

faults = []


def fault(page, line, text):
    faults.append(f"{page.relative_to(ROOT)}:{line}: {text}")


def walk():
    """Every file of the checkout, as a path from its root."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in (".git", "build")]
        for name in files:
            yield pathlib.Path(folder, name).relative_to(ROOT)


FILES = list(walk())
NAMES = {file.name for file in FILES}
TOP = {file.parts[0] for file in FILES if len(file.parts) > 1}
CODE = "\n".join(
    (ROOT / file).read_text(encoding="utf-8", errors="replace")
    for file in FILES
    if file.suffix in SOURCES - {".md"} and (ROOT / file).stat().st_size < 1 << 20
)


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          timeout=20, check=False, text=True, errors="replace")
    return done.stdout


class Programs:
    """What each program says of itself."""

    def __init__(self):
        self.said = {}

    def help(self, name):
        if name not in self.said:
            self.said[name] = output(str(BIN / name), "--help")
        return self.said[name]


PROGRAMS = Programs()
DEV_HELP = output(str(ROOT / "dev"), "help")
BENCHES = "\n".join(f.read_text(encoding="utf-8") for f in sorted((ROOT / "perf").rglob("*")) if f.suffix in (".sh", ".c"))


def config_keys():
    """Keys of docs/configuration.md, which common's test holds against the table of the code."""
    keys, section = set(), ""
    for line in (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8").splitlines():
        head = re.match(r"## `(.*)`$", line)
        row = re.match(r"\| `(\w+)` \|", line)
        if head:
            section = head[1]
            keys.add(section)
        elif row:
            keys.update((f"{section}.{row[1]}", f"{section}[].{row[1]}"))
    return keys


KEYS = config_keys()
SECTIONS = {key.split(".")[0].rstrip("[]") for key in KEYS}


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def check_links(page, number, line):
    for target in re.findall(r"\]\(([^)\s]+)\)", line):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            fault(page, number, f"links to {target}, which is not there")
        elif anchor and anchor not in {slug(h) for h in re.findall(r"(?m)^#+ (.*)$", file.read_text(encoding="utf-8"))}:
            fault(page, number, f"links to {target}: there is no such heading")


def check_path(page, number, word):
    word = word.rstrip("/")
    if re.search(r"[<>{}$%…]|[A-Z]{4,}", word) or not re.fullmatch(r"[\w.*-]+(/[\w.*-]+)*", word):
        return
    if "/" in word:
        first = word.split("/")[0]
        if first in TOP and first != "build" and not list(ROOT.glob(word)) and not list(page.parent.glob(word)):
            fault(page, number, f"names {word}, which is not there")
    elif re.fullmatch(r"[\w-]+\.(c|h|sh|py|awk|bats|md)", word) and word not in NAMES | ELSEWHERE:
        fault(page, number, f"names {word}: there is no file of that name")


def check_metric(page, number, name):
    stem = re.sub(r"(_total|_seconds|_count|_sum|_bucket)$", "", name).removeprefix("stormweir_")
    group, _, counter = stem.strip("_*").partition("_")
    if not (f'"{group}"' in CODE and (not counter or f'"{counter}"' in CODE or f'"{counter}_ns"' in CODE)):
        fault(page, number, f"names the metric {name}, which no counter has")


def check_dev(page, number, words):
    if not words:
        return
    verb = words[0]
    if not re.search(rf"(?m)^  ([a-z]+ \| )?{re.escape(verb)}\b", DEV_HELP):
        fault(page, number, f"./dev {verb}: there is no such verb")
    elif verb == "bench" and len(words) > 1 and words[1] != "NAME":
        if not (ROOT / "perf" / f"bench_{words[1]}.sh").exists():
            fault(page, number, f"./dev bench {words[1]}: there is no such benchmark")
        check_options(page, number, f"./dev bench {words[1]}", words[2:], BENCHES)
    elif verb == "differential":
        check_options(page, number, "./dev differential", words[1:], DEV_HELP)


def check_options(page, number, what, words, said):
    for word in words:
        option = re.match(r"--([a-z][\w-]*)", word)
        if option and option[1] != "help" and f"--{option[1]}" not in said and f'"{option[1]}"' not in said:
            fault(page, number, f"{what}: there is no option {option[0]}")


def check_program(page, number, name, words):
    if not (BIN / name).exists():
        fault(page, number, f"{name}: there is no such program")
        return
    if "--" in words:  # EAL's come before it
        words = words[words.index("--") + 1:]
    if name == "swctl" and words and not words[0].startswith("-"):
        verb = next((w for n in (2, 1) for w in [" ".join(words[:n])] if f"swctl {w}" in PROGRAMS.help(name)), None)
        if not verb:
            fault(page, number, f"swctl {' '.join(words[:2])}: there is no such order or verb")
    check_options(page, number, name, words, PROGRAMS.help(name))


def check_command(page, number, text, shown):
    """shown: a whole line of a block of commands; else words that a sentence has between backticks."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        words = text.split()
    while words and re.fullmatch(r"[A-Z][A-Z0-9_]+=.*", words[0]):
        name = words.pop(0).split("=")[0]
        if not re.search(rf"\b{name}\b", CODE):
            fault(page, number, f"sets {name}, which nothing reads")
    if not words:
        return
    first, rest = words[0], words[1:]
    if first == "./dev":
        check_dev(page, number, rest)
    elif re.fullmatch(r"(stormweir(-[a-z0-9-]+)?|swctl|swreplay|swscript)", first) and (shown or rest):
        check_program(page, number, first, rest)
    elif re.fullmatch(r"[\w.-]+(/[\w.-]+)+\.sh", first) and (shown or rest):
        if not os.access(ROOT / first, os.X_OK):
            fault(page, number, f"{first} is no script that one can start")


def commands(lines):
    """(number, text, whether it is a line of its own) of every command of a page."""
    fence, indented, text, begin = None, False, "", 0
    for number, line in enumerate(lines, 1):
        mark = re.match(r"```(\w*)", line)
        if mark:
            fence = None if fence is not None else mark[1]
            continue
        block = fence in ("sh", "bash") or (fence is None and re.match(r"    \S|\t\S", line))
        if block or text:
            begin = begin if text else number
            text += " " + line.strip()
            if text.endswith("\\"):
                text = text[:-1]
                continue
            for part in re.split(r"; | \| |&& ?| >+ ?\S+", text.strip()):
                yield begin, part.strip(), True
            text = ""
        elif fence is None:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span, False


for page in PAGES:
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        check_links(page, number, line)
        for metric in re.findall(r"\bstormweir_[a-z][a-z0-9_]*\*?(?![<\w])", line):
            check_metric(page, number, metric)
    for number, text, shown in commands(lines):
        check_command(page, number, text, shown)
        if not shown:
            check_path(page, number, text)
            key = re.fullmatch(r"([a-z_0-9]+)(\[\])?\.([a-z_0-9]+)", text)
            if key and key[1] in SECTIONS and text not in KEYS | NAMES | ELSEWHERE:
                fault(page, number, f"names the key {text}, which no configuration has")

print("\n".join(faults) or f"{len(PAGES)} pages hold")
sys.exit(1 if faults else 0)
