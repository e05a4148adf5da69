#!/usr/bin/env python3
"""Writes the manual pages in mdoc(7), from the arguments and the schema that the programs print.

    man.py PROGRAMS OUTPUT

PROGRAMS is the folder of mediatord and mediatorctl. OUTPUT gets mediatorctl(1), a page for each of its verbs, mediatord(8) and
mediatord.yaml(5).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HEADING = re.compile(r"^([A-Z][A-Z ]+)$", re.MULTILINE)


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def escaped(text: str) -> str:
    """The text with all characters escaped that are special to roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha")
    text = text.replace("~", "\\(ti").replace('"', "\\(dq")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def argument(text: str) -> str:
    """Text as one argument of a macro."""
    return f'"{escaped(text)}"'


def sentences(text: str) -> str:
    """The text with one sentence per line, as roff expects."""
    return re.sub(r"(?<=[.!?]) +(?=[A-Z])", "\n", text)


def paragraphs(text: str) -> list[str]:
    lines = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines += [".Pp", escaped(sentences(" ".join(paragraph.split())))]
    return lines[1:]


class Page:
    def __init__(self, name: str, section: int, abstract: str) -> None:
        self.name, self.section = name, section
        stamp = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
        self.lines = [
            f".Dd {time.strftime('%B', stamp)} {stamp.tm_mday}, {stamp.tm_year}",
            f".Dt {name.upper()} {section}", ".Os mediatord", ".Sh NAME", f".Nm {name}",
            f".Nd {escaped(abstract.rstrip('.'))}",
        ]

    def add(self, *lines: str) -> None:
        self.lines += lines

    def heading(self, text: str) -> None:
        self.add(f".Sh {text}")

    def literal(self, lines: list[str]) -> None:
        self.add(".Bd -literal -offset indent", *[escaped(line) for line in lines], ".Ed")

    def items(self, items: list[tuple[str, str]], width: str = "Ds") -> None:
        self.add(f".Bl -tag -width {width}")
        for name, text in items:
            self.add(f".It {name}", *(paragraphs(text) if text.strip() else ["\\&"]))
        self.add(".El")

    def see(self, pages: list[tuple[str, int]]) -> None:
        self.heading("SEE ALSO")
        pages = sorted(set(pages), key=lambda page: (page[1], page[0]))
        self.add(*[f".Xr {name} {section}" + (" ," if (name, section) != pages[-1] else "") for name, section in pages])

    def write(self, folder: Path) -> None:
        (folder / f"{self.name}.{self.section}").write_text("\n".join(self.lines) + "\n")


def spelling(entry: dict) -> str:
    """An option with its value, as macros."""
    names = ["\\-" + name["name"].replace("-", "\\-") if name["kind"] == "long" else name["name"] for name in entry["names"]]
    text = " , Fl ".join(names)
    return f"Fl {text}" + (f" Ar {argument(entry['valueName'])}" if entry["kind"] == "option" else "")


def synopsis(page: Page, command: dict, name: list[str]) -> None:
    page.heading("SYNOPSIS")
    page.add(f".Nm {name[0]}", *[f".Cm {word}" for word in name[1:]])
    for entry in shown(command):
        if entry["kind"] == "positional":
            text = f"Ar {argument(entry['valueName'])}" + (" ..." if entry["isRepeating"] else "")
            page.add(f".Op {text}" if entry["isOptional"] else f".{text}")
        else:
            page.add(f".Op {spelling(entry)}" + (" ..." if entry["isRepeating"] else ""))


def shown(command: dict) -> list[dict]:
    return [entry for entry in command.get("arguments", []) if entry.get("shouldDisplay", True)]


def options(page: Page, command: dict) -> None:
    items = []
    for entry in shown(command):
        text = entry.get("abstract", "")
        if values := entry.get("allValues") or entry.get("allValueStrings"):
            text += f" One of: {', '.join(values)}."
        if default := entry.get("defaultValue"):
            text += f" The default is {default}."
        items.append((f"Ar {argument(entry['valueName'])}" if entry["kind"] == "positional" else spelling(entry), text))
    if items:
        page.heading("OPTIONS")
        page.items(items)


# Headings of a discussion and those of a manual page.
NAMES = {"EXIT CODES": "EXIT STATUS"}


def discussion(page: Page, text: str, after: list, files: list[tuple[str, str]] | None = None) -> None:
    """The text as DESCRIPTION, then `after`, then the parts and the files below headings of their own."""
    first, *rest = HEADING.split(text or "")
    page.heading("DESCRIPTION")
    page.add(*(paragraphs(first) if first.strip() else [f".Nm\nhas no further description."]))
    for step in after:
        step()
    parts = dict(zip(rest[::2], rest[1::2]))
    parts = {NAMES.get(name, name): body for name, body in parts.items()}
    if files:
        parts["FILES"] = ""
    for name in sorted(parts, key=lambda name: ("ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES").index(name)):
        page.heading(name)
        if name == "FILES":
            page.items(files)
            continue
        lines = [line for line in parts[name].split("\n") if line.strip()]
        if name == "EXAMPLES":
            page.literal([line.strip() if not line.startswith("      ") else "    " + line.strip() for line in lines])
        else:
            pairs = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in lines]
            macro = "Ev" if name == "ENVIRONMENT" else "Li"
            page.items([(f"{macro} {pair[0]}", pair[1] if len(pair) > 1 else "") for pair in pairs], "MEDIATORCTL_SSH")


def control(programs: Path, folder: Path) -> None:
    root = json.loads(output(programs / "mediatorctl", "--experimental-dump-help"))["command"]
    verbs = [verb for verb in root["subcommands"] if verb["commandName"] != "help" and verb.get("shouldDisplay", True)]
    pages = [(f"mediatorctl-{verb['commandName']}", 1) for verb in verbs]

    page = Page("mediatorctl", 1, root["abstract"])
    page.heading("SYNOPSIS")
    page.add(".Nm mediatorctl", f".Ar {argument('verb')}", f".Op Ar {argument('option')} ...")

    def list_verbs() -> None:
        page.heading("VERBS")
        page.items([(f"Xr mediatorctl-{verb['commandName']} 1", verb["abstract"]) for verb in verbs])

    discussion(page, "Each verb has a page of its own, and --help.\n" + root["discussion"], [list_verbs])
    page.see([("mediatord", 8), ("mediatord.yaml", 5)] + pages)
    page.write(folder)

    for verb in verbs:
        page = Page(f"mediatorctl-{verb['commandName']}", 1, verb["abstract"])
        synopsis(page, verb, ["mediatorctl", verb["commandName"]])
        discussion(page, verb["abstract"] + "\n\n" + verb.get("discussion", ""), [lambda: options(page, verb)])
        page.see([("mediatorctl", 1), ("mediatord", 8)])
        page.write(folder)


def daemon(programs: Path, folder: Path) -> None:
    root = json.loads(output(programs / "mediatord", "--experimental-dump-help"))["command"]
    page = Page("mediatord", 8, root["abstract"])
    synopsis(page, root, ["mediatord"])

    files = [
        (
            "Pa /etc/mediatord",
            "The configuration of this machine. Files there override those of the same name in /run/mediatord, "
            "/usr/local/lib/mediatord and /usr/lib/mediatord; see mediatord.yaml(5).",
        ),
        ("Pa /etc/mediatord@INSTANCE", "The configuration of mediatord@INSTANCE.service."),
        ("Pa ~/.config/mediatord", "The configuration of the user unit."),
        (
            "Pa /run/mediatord/io.mediatord.Control",
            "The control socket; of an instance in /run/mediatord@INSTANCE, of a user in $XDG_RUNTIME_DIR/mediatord.",
        ),
        ("Pa /var/lib/mediatord", "Files of the configuration's commands ($STATE_DIRECTORY)."),
        ("Pa /var/lib/mediatord-store", "States of systems and buses that persist."),
        ("Pa /usr/share/doc/mediatord/examples", "Example drop-ins for the unit, and example configurations."),
    ]

    def more() -> None:
        options(page, root)
        page.heading("UNITS")
        page.items(
            [
                (
                    "Pa mediatord.service",
                    "The daemon of the machine. It is ready when every system has started. systemctl reload waits for the "
                    "result. It fails with 1 if nothing was changed, and with 3 if the configuration was applied but a new "
                    "system is not healthy in time. States of systems and values of buses survive a restart, but not a stop "
                    "or a boot.",
                ),
                (
                    "Pa mediatord.socket",
                    "Makes systemd listen on the control socket, so that a client starts the daemon. Clients wait during a "
                    "restart even without it.",
                ),
                (
                    "Pa mediatord@.service , Pa mediatord@.socket",
                    "The same for several daemons, each with its own configuration.",
                ),
                ("Pa mediatord.service No (user)", "The daemon of a user (systemctl --user)."),
            ]
        )
        page.heading("SIGNALS")
        page.items(
            [
                ("Dv SIGTERM , Dv SIGINT", "Stops: side effects may finish within the stop limit."),
                ("Dv SIGHUP", "Reads the configuration again; a configuration with an error changes nothing."),
            ]
        )
        page.heading("LIMITS")
        page.add(
            *paragraphs(
                "Commands of the configuration (run) may read the system, use the network, talk to local daemons, and write "
                "below $STATE_DIRECTORY, $RUNTIME_DIRECTORY and a /tmp of their own. A drop-in (systemctl edit mediatord) "
                "allows more. The comments in the unit name the setting for each need, and the example effects.conf has the "
                "settings that unit, journal and run usually need. Each connection and each command takes descriptors "
                "(LimitNOFILE=)."
            )
        )

    discussion(page, root["discussion"], [more], files)
    page.see([("mediatorctl", 1), ("mediatord.yaml", 5), ("systemctl", 1), ("systemd.service", 5), ("systemd.exec", 5)])
    page.write(folder)


def target(schema: dict, node: dict) -> dict:
    """A node of the schema, with references followed."""
    while "$ref" in node:
        node = {**schema["$defs"][node["$ref"].rpartition("/")[2]], **{k: v for k, v in node.items() if k != "$ref"}}
    return node


def keys(schema: dict, node: dict) -> list[tuple[str, dict]]:
    """The allowed keys of a mapping, including those of its alternatives."""
    node = target(schema, node)
    found = dict(node.get("properties", {}))
    for part in node.get("allOf", []) + node.get("anyOf", []) + node.get("oneOf", []):
        for name, child in keys(schema, part):
            found.setdefault(name, child)
    return list(found.items())


LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
CELL = re.compile(r"(?<!\\)\|")


# The section about thresholds, which several side effects share.
THRESHOLDS = "Thresholds"


def plain(text: str) -> str:
    """A cell of a table without markup."""
    return LINK.sub(r"\1", text).replace("`", "").replace("\\|", "|").strip()


def rows(text: str) -> list[list[str]]:
    """The cells of the rows of the first table in a text, the heads first."""
    lines = []
    for line in text.split("\n"):
        if line.startswith("|"):
            lines.append([plain(cell) for cell in CELL.split(line)[1:-1]])
        elif lines:
            break
    return [line for line in lines if set("".join(line)) - set("-")]


def side_effects() -> str:
    """The guide to side effects: the overview, then the pages of the groups."""
    folder = Path(__file__).parent / "Reference"
    pages = [folder / "SideEffects.md", *sorted((folder / "SideEffects").glob("*.md"))]
    return "\n".join(page.read_text() for page in pages)


def effect(guide: str, name: str) -> dict[str, str]:
    """The texts of the guide about the parameters and outcomes of a side effect, by name; about itself by the empty name."""
    title = re.search(r"^(##+) " + re.escape(name) + "$", guide, re.MULTILINE)
    if title is None:
        sys.exit(f"man.py: the guide to side effects has no section '{name}'")
    section = re.split(rf"^#{{1,{len(title[1])}}} ", guide[title.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    tables = [rows(table) for table in re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)]
    # If all outcomes have the same result, a table lists its members.
    members = [line for heads, *lines in tables if heads[0] == "in result" for line in lines]
    common = "; ".join(f"{names}: {type}, {text}" if text else f"{names}: {type}" for names, type, text in members)
    texts = {"": plain(" ".join(section.strip().split("\n\n")[0].split()))}
    for heads, *lines in tables:
        for line in lines:
            said = dict(zip(heads, line))
            if heads[0] == "parameter":
                default = {"": "", "required": "; required"}.get(said["default"], f"; by default {said['default']}")
                text = f"{line[-1]} ({said['type']}{default})"
            elif heads[0] == "outcome":
                when = said["when"] if re.match(r"(each|for|at|after|as)\b", said["when"]) else f"when {said['when']}"
                when = "in any other case" if said["when"] == "anything else" else when
                result = said.get("result") or common
                if not result:
                    sys.exit(f"man.py: the guide does not describe the result of '{name}'")
                text = f"{when[0].upper()}{when[1:]}. In result: {result.rstrip('.')}."
            else:
                continue
            for key in line[0].split(", "):
                texts.setdefault(key, text)
    if name != THRESHOLDS and "failureThreshold" in texts:
        texts |= {key: text for key, text in effect(guide, THRESHOLDS).items() if key}
    return texts


def configuration(programs: Path, folder: Path) -> None:
    guide = side_effects()
    schema = json.loads(output(programs / "mediatorctl", "schema"))
    page = Page("mediatord.yaml", 5, "configuration of mediatord")
    page.heading("DESCRIPTION")
    page.add(
        *paragraphs(
            "mediatord reads every *.yaml and *.yml file below its configuration directories, with the drop-ins beside them "
            "(*.yaml.d). A document with the key system is a system. Any other document has buses, links, groups, instances, "
            "access or limits. Conditions (when) are expressions in CEL, and text may contain them as ${...}."
        )
    )
    sections = [("system", "SYSTEMS"), ("feedback", "FEEDBACKS"), ("wiring", "BUSES, LINKS, GROUPS AND INSTANCES")]
    sections += [("bus", "A BUS"), ("link", "A LINK"), ("group", "A GROUP"), ("supervision", "SUPERVISION")]
    for name, title in sections:
        page.heading(title)
        entries = [(key, target(schema, child)) for key, child in keys(schema, {"$ref": f"#/$defs/{name}"})]
        # Side effects and their outcomes have their own heading.
        own = {key for key, _ in entries if f"effect-{key}" in schema["$defs"]}
        own |= {key for effect_name in own for key in effect(guide, effect_name) if key.startswith("on")}
        page.items([(f"Cm {key}", child.get("description", "")) for key, child in entries if key not in own])
    page.heading("SIDE EFFECTS")
    page.add(
        *paragraphs(
            "A feedback has one of these keys, with the parameters of the side effect. Beside it stand the outcomes (on...) "
            "that become events, each with an event or a list of rules."
        )
    )
    for name in sorted(key for key in schema["$defs"] if key.startswith("effect-")):
        page.add(f".Ss {name.removeprefix('effect-')}")
        texts = effect(guide, name.removeprefix("effect-"))
        page.add(*paragraphs(texts[""]))
        entries = [(key, target(schema, child)) for key, child in keys(schema, {"$ref": f"#/$defs/{name}"})]
        items = [(f"Cm {key}", texts.get(key) or child.get("description", "")) for key, child in entries]
        items += [(f"Cm {key}", text) for key, text in texts.items() if key.startswith("on")]
        if items:
            page.items(items)
    page.heading("FILES")
    page.items(
        [
            ("Pa /etc/mediatord", "The configuration of this machine; it overrides /run, /usr/local/lib and /usr/lib."),
            (
                "Pa /usr/share/doc/mediatord/Documentation",
                "The guides. Reference/Configuration.md describes every key, with examples; Reference/SideEffects.md the side effects; "
                "Reference/Diagnostics.md every error and warning.",
            ),
        ]
    )
    page.heading("EXAMPLES")
    page.literal(
        [
            "system: door", "states: { Closed: {}, Open: { by: string } }", "events: { Push: { by: string }, Shut: {} }",
            "initialState: Closed", "transitions:", "  Closed:",
            '    Push: { to: Open, set: { by: "${event.by}" } }', "  Open:", "    Shut: Closed",
        ]
    )
    page.see([("mediatord", 8), ("mediatorctl", 1), ("mediatorctl-validate", 1), ("mediatorctl-schema", 1)])
    page.write(folder)


def main(programs: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("mediator*.[158]"):
        old.unlink()
    control(programs, folder)
    daemon(programs, folder)
    configuration(programs, folder)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
