"""The unit of the daemon in a container: drop-ins, and waiting until it runs."""

from __future__ import annotations

from container import Container

UNIT = "mediatord.service"


def drop_in(system: Container, text: str) -> None:
    system.write(f"/etc/systemd/system/{UNIT}.d/test.conf", text)
    system.systemctl("daemon-reload")


UNLIMITED = "[Unit]\nStartLimitIntervalSec=0\n"


def wait_active(box: Container) -> None:
    def is_active() -> bool:
        return box.systemctl("is-active", UNIT, check=False).stdout.strip() == "active"

    try:
        box.wait_until(is_active, "the daemon")
    except AssertionError as failure:
        status = box.systemctl("status", "--full", UNIT, check=False).stdout
        raise AssertionError(f"{failure}\n{status}\n{box.journal(UNIT)}\n{box.console[-2000:]}") from None
