import CommonExpression
import Foundation
import SideEffects
import Testing

/// Marks the process that has its own network namespace.
private let mark = "MEDIATORD_TEST_OWN_NETWORK"
private let hasOwnNetwork = ProcessInfo.processInfo.environment[mark] != nil

/// A Boolean value that indicates whether this user may create a network namespace with interfaces.
private let canMakeNetworks: Bool = {
    let made = try? command("unshare", "-n", "ip", "link", "add", "one", "type", "veth", "peer", "name", "two")
    return made?.code == 0
}()

@Suite(.timeLimit(.minutes(5))) struct `The side effect interface` {
    @Test(
        .enabled(if: !hasOwnNetwork),
        .enabled(if: canMakeNetworks, "SKIPPED: needs the superuser, unshare(1), ip(8) and the kernel's veth"))
    func `reports real interfaces in a separate network`() async throws {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        // Running commands needs the loopback interface, which is down at first.
        let script = "ip link set lo up && exec \"$0\" --testing-library swift-testing --filter Interfaces.in.a.network"
        // The call blocks, so it runs on a separate thread and not on one of the pool.
        let result = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<(code: Int32, text: String), any Error>) in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try command(
                            "timeout", "60", "unshare", "-n", "sh", "-c", script, program, environment: [mark: "1"])
                    })
            }
        }
        #expect(result.code == 0, "\(result.text)")
        #expect(result.text.contains("with 4 tests in 1 suite passed"), "\(result.text)")
    }

    @Test func `the loopback interface and a missing interface are reported at once`() async {
        let loopback = Sensing(InterfaceEffect(), ["name": .string("lo")])
        let nothing = Sensing(InterfaceEffect(), ["name": .string("no-such-one")])
        await loopback.reported(1)
        await nothing.reported(1)
        #expect(["onUp", "onDown"].contains(loopback.names[0]))
        #expect(loopback.text(0, "name") == "lo" && loopback.text(0, "mtu") == "65536")
        #expect(nothing.names == ["onGone"] && nothing.text(0, "state") == "none")
        await loopback.cancel()
        await nothing.cancel()
        #expect(loopback.failures + nothing.failures == [])
    }
}

/// Real interfaces, made and removed by `ip`.
@Suite(.serialized, .enabled(if: hasOwnNetwork), .timeLimit(.minutes(5))) struct `Interfaces in a network` {
    @Test func `it appears, works, loses its carrier, and disappears`() async throws {
        let sensing = Sensing(InterfaceEffect(), ["name": .string("one")])
        await sensing.reported(1)
        try command("ip", "link", "add", "one", "mtu", "1400", "type", "veth", "peer", "name", "two")
        await sensing.reported(2)
        try command("ip", "link", "set", "one", "up")
        try command("ip", "link", "set", "two", "up")
        await sensing.reported(3)
        #expect(sensing.last("state") == "up" && sensing.last("mtu") == "1400")
        #expect(sensing.value(2, "carrier") == .bool(true))
        // Without the other end there is no carrier.
        try command("ip", "link", "set", "two", "down")
        await sensing.reported(4)
        #expect(sensing.last("state") == "lowerlayerdown" && sensing.value(3, "carrier") == .bool(false))
        try command("ip", "link", "set", "two", "up")
        await sensing.reported(5)
        try command("ip", "link", "del", "one")
        await sensing.until { $0.names.last == "onGone" }
        #expect(sensing.last("state") == "none" && sensing.last("mtu") == "0")
        #expect(sensing.names.filter { $0 != "onDown" } == ["onGone", "onUp", "onUp", "onGone"])
        await sensing.cancel()
        #expect(sensing.failures == [])
    }

    @Test func `renaming makes it appear and disappear`() async throws {
        try command("ip", "link", "add", "one", "type", "veth", "peer", "name", "two")
        let sensing = Sensing(InterfaceEffect(), ["name": .string("one")])
        await sensing.reported(1)
        try command("ip", "link", "set", "one", "name", "other")
        await sensing.reported(2)
        try command("ip", "link", "set", "two", "name", "one")
        await sensing.reported(3)
        #expect(sensing.names == ["onDown", "onGone", "onDown"])
        await sensing.cancel()
        try command("ip", "link", "del", "other")
    }

    @Test func `many changes of other interfaces and its own do not confuse it`() async throws {
        try command("ip", "link", "add", "one", "type", "veth", "peer", "name", "two")
        try command("ip", "link", "set", "two", "up")
        let sensing = Sensing(InterfaceEffect(), ["name": .string("one")])
        await sensing.reported(1)
        let flood = """
            i=0
            while [ $i -lt 300 ]; do
                echo "link set one up"; echo "link set one down"; echo "link set lo mtu $((60000 + i))"; i=$((i + 1))
            done | ip -batch -
            """
        try command("sh", "-c", flood)
        // Only this is sure to be reported: of the flood some may be lost, and the end may be as the last report says.
        try command("ip", "link", "del", "one")
        await sensing.until { $0.names.last == "onGone" }
        try command("ip", "link", "add", "one", "mtu", "1300", "type", "veth", "peer", "name", "two")
        try command("ip", "link", "set", "two", "up")
        try command("ip", "link", "set", "one", "up")
        await sensing.until { $0.names.last == "onUp" && $0.last("mtu") == "1300" }
        for (first, second) in zip(sensing.names, sensing.names.dropFirst()) { #expect(first != second) }
        await sensing.cancel()
        try command("ip", "link", "del", "one")
    }

    @Test func `a hundred cancelled runs leak no descriptor`() async {
        let before = openDescriptors(on: "socket:")
        for round in 0..<100 {
            let sensing = Sensing(InterfaceEffect(), ["name": .string("lo")])
            if round % 2 == 0 { await sensing.reported(1) }
            await sensing.cancel()
        }
        #expect(openDescriptors(on: "socket:") <= before)
    }
}
