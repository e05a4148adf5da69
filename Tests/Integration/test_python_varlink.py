"""The control socket with python-varlink, a library that others have written."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import varlink

from daemon import Daemon
from door_and_bell import CONFIGURATION
from varlink_socket import VarlinkSocket


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


@pytest.fixture
def library(one: Daemon) -> Iterator[varlink.client.SimpleClientInterfaceHandler]:
    with varlink.Client.new_with_address(f"unix:{one.socket}") as client, client.open("io.mediatord.Control") as control:
        yield control


def test_python_varlink_reads_the_interface(one: Daemon) -> None:
    with varlink.Client.new_with_address(f"unix:{one.socket}") as client:
        assert "io.mediatord.Control" in client.get_interfaces()
        with client.open("org.varlink.service") as service:
            assert service.GetInfo()["product"] == "mediatord"
            text = service.GetInterfaceDescription("io.mediatord.Control")["description"]
            assert "method WatchBus" in text
        interface = client.get_interface("io.mediatord.Control")
        assert interface is not None


def test_python_varlink_lists_and_describes(library: varlink.client.SimpleClientInterfaceHandler) -> None:
    assert [system["name"] for system in library.ListSystems()["systems"]] == ["bell", "door"]
    assert {bus["name"] for bus in library.ListBuses()["buses"]} == {"visitor", "alarms"}
    assert len(library.ListLinks()["links"]) == 4
    assert library.DescribeSystem("door")["system"]["initialState"] == "Closed"
    assert library.DescribeBus("alarms")["bus"]["fields"][1] == {"name": "severity", "type": "int"}
    assert library.DescribeLink("announce")["link"]["summary"]["bus"] == "visitor"
    with pytest.raises(varlink.VarlinkError) as failure:
        library.DescribeSystem("dorr")
    assert failure.value.error() == "io.mediatord.Control.NoSuchSystem"
    assert failure.value.parameters()["nearest"] == "door"


def test_python_varlink_watches_while_another_publishes(one: Daemon) -> None:
    # Twenty lines: watch a bus, publish to it.
    with (
        varlink.Client.new_with_address(f"unix:{one.socket}") as watching,
        varlink.Client.new_with_address(f"unix:{one.socket}") as publishing,
        watching.open("io.mediatord.Control") as watch,
        publishing.open("io.mediatord.Control") as control,
    ):
        changes = watch.WatchBus("visitor", _more=True)
        first = next(changes)
        assert (first["value"], first["replayed"]) == ("nobody", True)
        for name in ("ann", "bob"):
            control.Publish("visitor", name)
            change = next(changes)
            assert (change["value"], change["replayed"]) == (name, False)
        states = watch_state(one)
        control.Emit("door", "Push", {"by": "carl"})
        assert next(states)["state"]["data"]["by"] == "carl"


def watch_state(one: Daemon) -> Iterator[dict]:
    connection = VarlinkSocket(one.socket)
    connection.call("io.mediatord.Control.WatchSystem", {"name": "door"}, more=True)
    first = connection.reply()
    assert first is not None and first["continues"] and first["parameters"]["state"]["name"] == "Closed"

    def rest() -> Iterator[dict]:
        with connection:
            while (reply := connection.reply()) is not None:
                yield reply["parameters"]

    return rest()
