"""Changes of links that are written into files, so that they outlast the daemon."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable

import pytest

from daemon import Daemon
from links import CONFIGURATION, OWN, SYSTEM_TO_SYSTEM, WIRING, files, links, refused, status
from varlink_socket import VarlinkSocket

PERSISTED = [
    (("attach", "knock", SYSTEM_TO_SYSTEM), OWN),
    (("detach", "ring"), f"wiring.yaml.d/{OWN}"),
    (("set", "announce", "when=state.times > 1", 'emitValue="guest: ${state.by}"'), f"wiring.yaml.d/{OWN}"),
]


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize(("arguments", "written"), PERSISTED)
def test_what_is_persisted_is_what_runs(
    daemon: Callable[..., Daemon], arguments: tuple[str, ...], written: str, later: bool
) -> None:
    one = daemon(CONFIGURATION)
    if later:
        one.ctl(*arguments)
        assert status(one)["transient"] == 1
    result = one.ctl(*arguments[:2], "--persist") if later and arguments[0] == "set" else one.ctl(*arguments, "--persist")
    assert f"written: {one.config}/{written}" in result.stdout
    assert status(one)["transient"] == 0
    now = files(one)
    assert {name: text for name, text in now.items() if name != written} == CONFIGURATION
    assert now[written].startswith("# Written by mediatorctl")
    assert f"{arguments[0]} {arguments[1]}, asked for by user {os.getuid()} at 20" in now[written]
    assert "nothing to do" in one.ctl("plan").stdout
    assert json.loads(one.ctl("reload", "--json").stdout)["steps"] == []
    before = {name: {**link, "fired": 0, "lastFired": None} for name, link in links(one).items()}
    assert one.ctl("validate", str(one.config), "--quiet").stdout == ""
    # And so it is after a new start.
    other = daemon({name: text for name, text in files(one).items()})
    assert {name: {**link, "fired": 0, "lastFired": None} for name, link in links(other).items()} == before
    assert not list(one.config.rglob(".*"))


def test_one_file_takes_many_changes(one: Daemon) -> None:
    for number in range(5):
        one.ctl("attach", f"knock{number}", SYSTEM_TO_SYSTEM, "--persist")
    one.ctl("set", "knock3", "onState={ Open: { by: boss } }", "--persist")
    one.ctl("detach", "knock1", "--persist")
    one.ctl("set", "announce", "when=state.times > 1", "--persist")
    one.ctl("set", "announce", "emitValue=a", "--persist")
    one.ctl("set", "announce", "when=", "--persist")
    one.ctl("detach", "ring", "--persist")
    assert "nothing to do" in one.ctl("plan").stdout
    assert status(one)["transient"] == 0
    text = (one.config / OWN).read_text()
    assert [line.strip(" :") for line in text.splitlines() if line.startswith("  k")] == [
        "knock0", "knock2", "knock3", "knock4",
    ]
    drop_in = (one.config / "wiring.yaml.d" / OWN).read_text()
    assert drop_in.endswith("links:\n  announce:\n    emitValue: a\n  ring: null\n")
    one.ctl("attach", "ring", "{ attach: bell, to: visitor, onValue: boss, emitEvent: Ring }", "--persist")
    assert "nothing to do" in one.ctl("plan").stdout
    assert (one.config / "wiring.yaml").read_text() == WIRING
    assert stat.S_IMODE((one.config / OWN).stat().st_mode) == 0o644


def test_what_cannot_be_written_is_not_done(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION)
    # A file in the way of the directory; unlike rights, root does not pass it.
    (one.config / "wiring.yaml.d").write_text("in the way")
    text = refused(one, "detach", "ring", "--persist")
    assert "cannot be written, so nothing has changed" in text and "leave out --persist" in text, text
    # It is no matter of rights.
    assert "ReadWritePaths=" not in text
    (one.config / OWN).mkdir()
    assert OWN in refused(one, "attach", "knock", SYSTEM_TO_SYSTEM, "--persist")
    (one.config / OWN).rmdir()
    # Nor is what somebody else has written.
    (one.config / OWN).write_text("links: {}\n")
    assert "changed since the last reload" in refused(one, "attach", "knock", SYSTEM_TO_SYSTEM, "--persist")
    one.ctl("reload")
    assert "somebody else has written it" in refused(one, "attach", "knock", SYSTEM_TO_SYSTEM, "--persist")
    one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)


def test_a_drop_in_that_would_win_is_told(daemon: Callable[..., Daemon]) -> None:
    late = {"wiring.yaml.d/95-local.yaml": "links: { announce: { emitValue: late } }\n"}
    one = daemon({**CONFIGURATION, **late})
    text = refused(one, "set", "announce", "emitValue=mine", "--persist")
    assert f"'{one.config}/wiring.yaml.d/95-local.yaml' is read later, and says otherwise of 'announce'" in text
    assert f"Change the link in '{one.config}/wiring.yaml.d/95-local.yaml'" in text
    with VarlinkSocket(one.socket) as connection:
        settings = [{"key": "emitValue", "value": "mine"}]
        connection.call("io.mediatord.Control.SetLink", {"link": "announce", "settings": settings, "persist": True})
        assert connection.reply()["parameters"]["winner"] == f"{one.config}/wiring.yaml.d/95-local.yaml"
    one.ctl("set", "announce", "emitValue=mine")
    one.ctl("emit", "door", "Push", "by=ann")
    assert json.loads(one.ctl("show", "visitor", "--json").stdout)["bus"]["summary"]["value"] == "mine"


def test_a_drop_in_that_is_gone_is_no_reason(daemon: Callable[..., Daemon]) -> None:
    late = {"wiring.yaml.d/95-local.yaml": "links: { announce: { emitValue: late } }\n"}
    one = daemon({**CONFIGURATION, **late})
    drop_in = one.config / "wiring.yaml.d" / "95-local.yaml"
    drop_in.rename(drop_in.with_name("96-local.yaml"))
    text = refused(one, "set", "announce", "emitValue=mine", "--persist")
    assert f"'{drop_in}' is not there any longer; reload first" in text and "read later" not in text
    drop_in.with_name("96-local.yaml").unlink()
    one.ctl("reload")
    one.ctl("set", "announce", "emitValue=mine", "--persist")


def test_what_was_edited_meanwhile_is_not_persisted_upon(one: Daemon) -> None:
    wiring = one.config / "wiring.yaml"
    edited = WIRING.replace("  ring: {", "  bell-rings: {")
    wiring.write_text(edited)
    refused = one.ctl("set", "ring", "onValue=stranger", "--persist", check=False)
    assert refused.returncode == 1
    assert f"'{wiring}' has been changed since the last reload; reload first" in refused.stderr
    assert sorted(path.name for path in one.config.iterdir()) == ["bell.yaml", "door.yaml", "wiring.yaml"]
    assert wiring.read_text() == edited
    # What lies in no file can be changed all the same.
    one.ctl("set", "ring", "onValue=stranger")


def test_a_name_that_a_file_has_taken_meanwhile_is_not_persisted(one: Daemon) -> None:
    (one.config / "later.yaml").write_text(f"links: {{ knock: {SYSTEM_TO_SYSTEM} }}\n")
    message = refused(one, "attach", "knock", SYSTEM_TO_SYSTEM, "--persist")
    assert "later.yaml' has a link 'knock' since the last reload; reload, or give this one another name" in message
    assert "knock" not in links(one) and OWN not in files(one)
    # For the time being it can be had.
    one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)
    assert links(one)["knock"]["origin"] == "attached"


def test_what_is_persisted_may_be_read_by_whom_the_file_may(one: Daemon) -> None:
    (one.config / "wiring.yaml").chmod(0o640)
    one.ctl("set", "ring", "onValue=stranger", "--persist")
    drop_in = one.config / "wiring.yaml.d" / OWN
    assert stat.S_IMODE(drop_in.stat().st_mode) == 0o640
    drop_in.chmod(0o600)
    one.ctl("set", "ring", "onValue=friend", "--persist")
    assert stat.S_IMODE(drop_in.stat().st_mode) == 0o600


def test_an_empty_file_of_ours_is_none(one: Daemon) -> None:
    (one.config / OWN).touch()
    one.ctl("attach", "visit", SYSTEM_TO_SYSTEM, "--persist")
    assert "visit" in (one.config / OWN).read_text()


def test_a_mask_of_our_file_is_told(one: Daemon) -> None:
    (one.config / OWN).symlink_to("/dev/null")
    refused = one.ctl("attach", "visit", SYSTEM_TO_SYSTEM, "--persist", check=False)
    assert refused.returncode == 1 and "symbolic link" in refused.stderr
    assert (one.config / OWN).is_symlink()


@pytest.mark.parametrize("persisted", [False, True])
def test_what_was_detached_is_told_and_comes_back(one: Daemon, persisted: bool) -> None:
    written = files(one)
    option = ["--persist"] if persisted else []
    before = links(one)
    one.ctl("detach", "ring", *option)
    for arguments in (["onValue=x"], ["onValue=x", "--persist"], ["--persist"]):
        text = refused(one, "set", "ring", *arguments)
        assert "the link 'ring' was detached" in text and "`mediatorctl attach ring` brings it back" in text
    assert "did you mean 'ring'?" in refused(one, "attach", "rign")
    one.ctl("attach", "ring")
    assert {name: link["description"] for name, link in links(one).items()} == {
        name: link["description"] for name, link in before.items()
    }
    if not persisted:
        assert files(one) == written and status(one)["transient"] == 0
        return
    # The file still says otherwise, until that is taken back for good.
    assert f"wiring.yaml.d/{OWN}" in files(one) and links(one)["ring"]["origin"] == "attached"
    one.ctl("detach", "ring")
    assert status(one)["transient"] == 0 and "ring" not in links(one)
    assert "removed would be" in one.ctl("attach", "ring", "--persist", "--dry-run").stdout
    reply = json.loads(one.ctl("attach", "ring", "--persist", "--json").stdout)
    assert reply["file"] == {"path": f"{one.config}/wiring.yaml.d/{OWN}", "text": "", "removed": True}
    assert files(one) == written and not (one.config / "wiring.yaml.d").exists()
    assert status(one)["transient"] == 0 and links(one)["ring"]["origin"] == "written"
    assert "nothing to do" in one.ctl("plan").stdout


def test_an_emptied_loop_goes_and_a_key_is_set_once(one: Daemon) -> None:
    one.ctl("set", "ring", "loop.limit=10 per 1s", "--persist")
    one.ctl("set", "ring", "loop.limit=", "--persist")
    assert files(one) == CONFIGURATION
    result = one.ctl("set", "ring", "onValue=a", "onValue=b", check=False)
    assert result.returncode == 2 and "'onValue' is set twice" in result.stderr
