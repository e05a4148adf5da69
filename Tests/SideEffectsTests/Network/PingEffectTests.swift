import CommonExpression
import FeedbackKitTesting
import Foundation
import Glibc
import SideEffects
import Testing
import TestSupport

/// Marks the process that has its own network namespace.
private let mark = "MEDIATORD_TEST_OWN_PINGS"
private let hasOwnNetwork = ProcessInfo.processInfo.environment[mark] != nil

/// The script that creates a network in which everyone may send echo requests, and in which nobody answers at
/// 192.0.2.1.
private let network = """
    ip link set lo up
    ip link add one type veth peer name two
    ip link set one up
    ip link set two up
    ip address add 192.0.2.2/24 dev one
    ip address add 203.0.113.1/24 dev two
    echo 10 >/proc/sys/net/ipv4/neigh/two/retrans_time_ms
    ip neighbour add 192.0.2.1 lladdr 02:00:00:00:00:01 dev one nud permanent
    echo 0 2147483647 > /proc/sys/net/ipv4/ping_group_range
    """

/// Runs a script in a separate network. Returns its exit code and its output.
private func script(_ text: String, _ arguments: String...) throws -> (code: Int32, text: String) {
    try command(["timeout", "60", "unshare", "-n", "sh", "-e", "-c", text] + arguments, environment: [mark: "1"])
}

private let canMakeNetworks = (try? script(network).code) == 0

private func ping(
    _ host: String, _ more: [String: Value] = [:], clock: any Clock<Duration> = ContinuousClock()
) -> Sensing {
    Sensing(PingEffect(), more.merging(["host": .string(host)]) { first, _ in first }, clock: clock)
}

/// The number of open sockets for echoes in this network (`/proc/net/icmp`).
private var sockets: Int { contents("/proc/self/net/icmp").split(separator: "\n").count - 1 }

@Suite(.timeLimit(.minutes(5))) struct `The side effect ping` {
    @Test(
        .enabled(if: !hasOwnNetwork),
        .enabled(if: canMakeNetworks, "SKIPPED: needs the superuser, unshare(1), ip(8) and the kernel's veth"))
    func `pings real addresses in a separate network`() async throws {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let text = network + "\nexec \"$0\" --testing-library swift-testing --filter Echoes.in.a.network"
        // The call blocks, so it runs on a separate thread and not on one of the pool.
        let result = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<(code: Int32, text: String), any Error>) in
            Thread.detachNewThread { continuation.resume(with: Result { try script(text, program) }) }
        }
        #expect(result.code == 0, "\(result.text)")
        #expect(result.text.contains("with 6 tests in 1 suite passed"), "\(result.text)")
    }

    @Test func `a name that does not exist is a failure`() async {
        let asking = ping("no-such-host.invalid")
        await asking.until(\.isOver)
        #expect(asking.names == ["onFailure"])
    }
}

/// Real echoes.
@Suite(.serialized, .enabled(if: hasOwnNetwork), .timeLimit(.minutes(5))) struct `Echoes in a network` {
    @Test(arguments: [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("192.0.2.2", "192.0.2.2")])
    func `a host that answers is a success`(host: String, address: String) async {
        let asking = ping(host)
        await asking.until(\.isOver)
        #expect(asking.names == ["onSuccess"], "\(asking.last("error") ?? "")")
        #expect(asking.last("address") == address)
        guard case .duration(let took)? = asking.value(0, "took") else {
            Issue.record("it took some time")
            return
        }
        #expect(took.swiftDuration > .zero && took.swiftDuration < .seconds(5))
    }

    @Test func `the first address of a name that answers counts`() async {
        let asking = ping("localhost")
        await asking.until(\.isOver)
        #expect(asking.names == ["onSuccess"])
        #expect(["127.0.0.1", "::1"].contains(asking.last("address")))
    }

    @Test func `without an answer it fails at the time limit, and leaves no socket open`() async {
        let clock = ManualClock()
        let asking = ping("192.0.2.1", ["timeout": time("2s")], clock: clock)
        await suspend(while: sockets == 0)
        await clock.nextDeadline(in: .seconds(2))
        clock.advance(by: .seconds(2))
        await asking.until(\.isOver)
        #expect(asking.names == ["onFailure"])
        #expect(asking.last("error") == "no answer within 2.0 seconds")
        let cancelled = ping("192.0.2.1", clock: clock)
        await suspend(while: sockets == 0)
        await cancelled.cancel()
        #expect(cancelled.names == [])
        #expect(sockets == 0)
    }

    @Test(arguments: [("198.51.100.1", "Network is unreachable"), ("2001:db8::1", "Network is unreachable")])
    func `the system's error about an address is reported`(host: String, error: String) async {
        let asking = ping(host)
        await asking.until(\.isOver)
        #expect(asking.names == ["onFailure"])
        #expect(asking.last("error") == error)
    }

    /// The kernel finds no neighbour with this address. It reports that on the socket, as it does the error of a router.
    @Test func `an error that comes later ends the wait`() async {
        let clock = ManualClock()
        let asking = ping("203.0.113.9", clock: clock)
        await asking.until(\.isOver)
        #expect(asking.names == ["onFailure"])
        #expect(asking.last("error") == "No route to host")
        #expect(sockets == 0)
    }

    /// The name puts this test last, because it takes the permission away.
    @Test func `without permission of the kernel, the error names the sysctl`() async throws {
        let range = "/proc/sys/net/ipv4/ping_group_range"
        defer { try? "0 2147483647".write(toFile: range, atomically: false, encoding: .utf8) }
        try "1 0".write(toFile: range, atomically: false, encoding: .utf8)
        for host in ["127.0.0.1", "::1", "localhost"] {
            let asking = ping(host)
            await asking.until(\.isOver)
            #expect(asking.names == ["onFailure"])
            #expect(
                asking.last("error")?.contains("net.ipv4.ping_group_range") == true, "\(asking.last("error") ?? "")")
        }
    }
}
