"""Changes of links when the daemon reads its files again, and when several are made at once."""

from __future__ import annotations

import json
import random
import signal
import threading
from collections.abc import Callable

import pytest

from daemon import Daemon
from links import BELL, CONFIGURATION, SYSTEM_TO_SYSTEM, WIRING, links, state, status
from varlink_socket import VarlinkSocket
from waiting import eventually


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


def test_what_else_is_on_disk_by_now_does_not_slip_in(one: Daemon) -> None:
    (one.config / "bell.yaml").write_text(BELL.replace("rung: 0", "rung: 100"))
    (one.config / "wiring.yaml").write_text(WIRING.replace("onValue: boss", "onValue: chief"))
    (one.config / "more.yaml").write_text("system: more\nstates: { A: {} }\ninitialState: A\n")
    (one.config / "broken.yaml").write_text("system: [")
    one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)
    one.ctl("set", "ring", "onValue=queen")
    assert sorted(system["name"] for system in status(one)["systems"]) == ["bell", "door"]
    assert state(one, "bell") == {"rung": 0}
    # What runs is shown as it was read.
    shown = one.ctl("cat-config", "--running").stdout
    assert "chief" not in shown and "more" not in shown
    assert "onValue: queen" in shown and "# <control ring>:3" in shown
    assert "# <control knock>" in shown
    assert one.ctl("cat-config", "--running", "knock", "ring").stdout.count("attach:") == 2
    assert one.ctl("reload", check=False).returncode == 1
    (one.config / "broken.yaml").unlink()
    plan = one.ctl("plan").stdout
    assert "2 changes that are in no file stay in force, of knock, ring" in plan
    assert "2 transient changes in force" in one.ctl("reload").stdout
    assert sorted(system["name"] for system in status(one)["systems"]) == ["bell", "door", "more"]
    assert json.loads(one.ctl("show", "ring", "--json").stdout)["link"]["condition"] == "onValue: queen"


def test_a_reload_keeps_or_drops_what_is_in_no_file(one: Daemon) -> None:
    one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)
    one.ctl("detach", "ring")
    one.ctl("set", "announce", "when=state.times > 5")
    reply = json.loads(one.ctl("reload", "--json").stdout)
    assert reply["transient"] == ["announce", "knock", "ring"]
    assert reply["summary"] == "2 kept; 3 transient changes in force"
    assert sorted(links(one)) == ["announce", "knock"]
    plan = json.loads(one.ctl("plan", "--drop-transient", "--json").stdout)
    actions = {step["name"]: step["action"] for step in plan["steps"] if step["kind"] == "link"}
    assert actions == {"announce": "change", "knock": "remove", "ring": "add"}
    reply = json.loads(one.ctl("reload", "--drop-transient", "--json").stdout)
    assert reply["transient"] == [] and {
        step["name"]: step["action"] for step in reply["steps"] if step["kind"] == "link"
    } == actions
    assert {link["origin"] for link in links(one).values()} == {"written"}
    assert sorted(links(one)) == ["announce", "ring"]
    one.wait_log("forgot the changes of a link")


def test_a_signal_keeps_what_is_in_no_file(one: Daemon) -> None:
    one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)
    one.signal(signal.SIGHUP)
    one.wait_log("reloaded: 2 kept; 1 transient change in force")
    assert links(one)["knock"]["origin"] == "attached"


def test_a_change_of_a_link_that_is_written_no_longer_is_forgotten(one: Daemon) -> None:
    one.ctl("set", "announce", "emitValue=x")
    one.ctl("detach", "ring")
    (one.config / "wiring.yaml").write_text(WIRING.split("links:")[0])
    result = one.ctl("reload")
    assert "there is no link 'announce' any longer that this change could change [unused-drop-in]" in result.stdout
    assert links(one) == {} and status(one)["transient"] == 0
    (one.config / "wiring.yaml").write_text(WIRING)
    one.ctl("reload")
    assert sorted(links(one)) == ["announce", "ring"]


TALLY = """\
system: tally
states: { Next: { number: int } }
events: { Take: { number: int } }
fromOutside: any
unhandled: warn
initialState: { Next: { number: 0 } }
transitions:
  Next:
    Take: { when: event.number == state.number, to: Next, set: { number: "${state.number + 1}" } }
"""


def test_traffic_goes_on_while_links_come_and_go(daemon: Callable[..., Daemon]) -> None:
    """A link that stays loses nothing, doubles nothing, and keeps the order, whatever is changed beside it."""
    one = daemon({**CONFIGURATION, "tally.yaml": TALLY})
    one.ctl("attach", "count", '{ attach: tally, to: orders, emitEvent: { Take: { number: "${value}" } } }')
    total = 3000
    failures: list[str] = []

    def publish() -> None:
        with VarlinkSocket(one.socket) as busy:
            for number in range(total):
                busy.call("io.mediatord.Control.Publish", {"bus": "orders", "value": number})
                reply = busy.reply()
                if reply is None or "error" in reply:
                    failures.append(str(reply))

    publisher = threading.Thread(target=publish)
    publisher.start()
    rounds = 0
    with VarlinkSocket(one.socket) as steering:
        while publisher.is_alive() or rounds < 5:
            link = f"beside{rounds % 3}"
            definition = "{ attach: door, to: orders, when: value < 0, emitEvent: Shut }"
            for method, parameters in [
                ("AttachLink", {"link": link, "definition": definition, "settings": []}),
                ("SetLink", {"link": link, "settings": [{"key": "when", "value": f"value < -{rounds + 1}"}]}),
                ("DetachLink", {"link": link}),
            ]:
                steering.call(f"io.mediatord.Control.{method}", parameters)
                reply = steering.reply()
                assert reply is not None and reply["parameters"].get("applied"), reply
            rounds += 1
    publisher.join()
    assert failures == []
    assert rounds >= 5
    # Only who gets each number once and in its turn comes to the last; ask until it has, or nothing more comes.
    for _ in range(200):
        if state(one, "tally")["number"] == total:
            break
    assert state(one, "tally") == {"number": total}
    assert links(one)["count"]["fired"] == total
    now = {system["name"]: system["counters"] for system in status(one)["systems"]}
    assert now["tally"]["unhandled"] == 0 and now["tally"]["dropped"] == 0 and now["door"]["events"] == 0


def test_changes_and_reloads_at_once_are_done_one_after_the_other(one: Daemon) -> None:
    workers = 4
    each = 10
    applied: list[int] = []
    lock = threading.Lock()

    def work(seed: int) -> None:
        chance = random.Random(seed)
        with VarlinkSocket(one.socket) as connection:
            for number in range(each):
                link = f"w{seed}-{number}"
                kind = chance.choice(["attach", "reload", "detach"])
                if kind == "reload":
                    connection.call("io.mediatord.Control.Reload", {})
                else:
                    connection.call(
                        "io.mediatord.Control.AttachLink",
                        {"link": link, "definition": SYSTEM_TO_SYSTEM, "settings": []},
                    )
                replies = [connection.reply()]
                if kind == "detach":
                    connection.call("io.mediatord.Control.DetachLink", {"link": link})
                    replies.append(connection.reply())
                for reply in replies:
                    assert reply is not None and reply["parameters"]["applied"], reply
                    with lock:
                        applied.append(reply["parameters"]["generation"])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Each has a generation of its own, and none is left out.
    assert sorted(applied) == list(range(2, len(applied) + 2))
    now = status(one)
    assert now["generation"] == len(applied) + 1
    assert now["reloads"] == {"applied": len(applied), "rejected": 0}
    attached = {name for name, link in links(one).items() if link["origin"] == "attached"}
    assert len(attached) == now["transient"]


def test_who_looks_while_a_reload_waits_sees_one_configuration(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION, arguments=["--ready-limit", "600"])
    one.ctl("detach", "ring")
    slow = "system: slow\nstates: { A: {}, B: {} }\nevents: { Go: {} }\nfromOutside: any\ninitialState: A\n"
    (one.config / "slow.yaml").write_text(slow + "ready: B\ntransitions: { A: { Go: B } }\n")
    with VarlinkSocket(one.socket) as reloading:
        reloading.call("io.mediatord.Control.Reload", {"dropTransient": True})
        eventually(lambda: "slow" in {system["name"] for system in status(one)["systems"]})
        # It has taken the place of the other, with all that belongs to it, though it is not ready.
        now = status(one)
        assert now["generation"] == 3 and now["transient"] == 0
        assert links(one)["ring"]["origin"] == "written"
        assert "system: slow" in one.ctl("cat-config", "--running").stdout
        with VarlinkSocket(one.socket) as looking:
            looking.call("io.mediatord.Control.ListChanges", {})
            reply = looking.reply()
            assert reply is not None and reply["parameters"] == {"changes": []}
            looking.call("io.mediatord.Control.Plan", {"all": True})
            reply = looking.reply()
            assert reply is not None and {step["action"] for step in reply["parameters"]["steps"]} == {"keep"}
        # Who goes before it is their turn has nothing done.
        for method, parameters in [
            ("AttachLink", {"link": "late", "definition": SYSTEM_TO_SYSTEM, "settings": []}),
            ("Reload", {}),
        ]:
            with VarlinkSocket(one.socket) as leaving:
                leaving.call(f"io.mediatord.Control.{method}", parameters)
        one.ctl("emit", "slow", "Go")
        reply = reloading.reply()
        assert reply is not None and reply["parameters"]["applied"], reply
    assert "count=2" in one.wait_log("were not done: their callers have gone")
    assert "late" not in links(one) and status(one)["generation"] == 3


def test_the_number_of_changes_is_bounded(one: Daemon) -> None:
    limit = 1000
    with VarlinkSocket(one.socket) as connection:
        # Many at once would take as many reloads; one that is changed counts once.
        for number in range(3):
            for _ in range(2):
                connection.call(
                    "io.mediatord.Control.AttachLink",
                    {"link": f"n{number}", "definition": SYSTEM_TO_SYSTEM, "settings": []},
                )
                reply = connection.reply()
                assert reply is not None and len(reply["parameters"]["transient"]) == number + 1 <= limit
        connection.call(
            "io.mediatord.Control.AttachLink",
            {"link": "big", "definition": "{ attach: door, emitValue: '" + "x" * 900_000 + "' }", "settings": []},
        )
        reply = connection.reply()
        assert reply is not None and not reply["parameters"]["applied"]


def test_a_moot_change_is_no_warning_that_is_denied(daemon: Callable[..., Daemon]) -> None:
    wiring = WIRING.replace("\nlinks:", "\nlinks:\n  show: { attach: bell, to: visitor, onValue: nobody, emitEvent: Ring }")
    one = daemon(CONFIGURATION | {"wiring.yaml": wiring}, arguments=["--deny-warnings"])
    one.ctl("set", "show", "onValue=friend")
    (one.config / "wiring.yaml").write_text(WIRING)
    assert one.ctl("reload", check=False).returncode == 0
    one.wait_log("forgot the changes of a link")
