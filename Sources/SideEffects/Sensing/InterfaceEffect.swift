import CLinux
public import CommonExpression
import Glibc
public import MediatorConfiguration
public import MediatorHost
import SystemPackage

/// The side effect `interface`: reports when a network interface becomes able or unable to carry packets, and when it
/// disappears.
public struct InterfaceEffect: EffectImplementation {
    /// The time before it tries to watch again.
    public let retryInterval: Duration

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .interface }

    /// Creates the side effect with the time before it tries to watch again.
    public init(retryInterval: Duration = .seconds(10)) {
        self.retryInterval = retryInterval
    }

    /// Watches until it is cancelled. Reports the current condition of the interface, then each change.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let name = arguments["name"]?.text else { return }
        var complaints = Complaints()
        while !Task.isCancelled {
            do {
                let watch = try InterfaceWatch(name)
                defer { watch.close() }
                var last: InterfaceWatch.Condition?
                while true {
                    for condition in try await watch.next() where condition.outcome != last?.outcome {
                        context.report(
                            condition.outcome, of: .interface,
                            [
                                .string(name), .string(condition.state), .bool(condition.hasCarrier),
                                .int(condition.mtu),
                            ])
                        last = condition
                    }
                    complaints.clear(context)
                }
            } catch let problem as SensingProblem {
                complaints.add(problem.message, context)
            } catch let failure as Errno {
                complaints.add("cannot watch the interface \(name): \(failure)", context)
            } catch {
                return
            }
            guard (try? await context.clock.sleep(for: retryInterval)) != nil else { return }
        }
    }
}

/// The system's reports about one network interface, from a netlink socket (rtnetlink(7)).
private final class InterfaceWatch {
    /// The condition of an interface.
    struct Condition {
        var outcome = "onGone"
        var state = "none"
        var hasCarrier = false
        var mtu: Int64 = 0
    }

    /// The names of the states of RFC 2863, as in `/sys/class/net/*/operstate`.
    private static let states = ["unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"]
    /// The flags of netdevice(7).
    private static let (isUp, isRunning, hasCarrier): (UInt32, UInt32, UInt32) = (1, 1 << 6, 1 << 16)
    /// The most messages that are read before other tasks run.
    private static let burst = 64

    private let descriptor: Int32
    private let name: String
    /// The number of the interface with the name; `nil` if it does not exist.
    private var number: Int32?
    private var isFirst = true
    /// A Boolean value that indicates whether the system has dropped messages since the last look.
    private var hasLost = false

    init(_ name: String) throws {
        self.name = name
        descriptor = linux_link_watch()
        guard descriptor >= 0 else {
            throw SensingProblem(
                "cannot watch the interface \(name)", Errno(rawValue: errno),
                hint: "does RestrictAddressFamilies= of the unit leave AF_NETLINK out?")
        }
    }

    func close() { _ = Glibc.close(descriptor) }

    /// Waits for conditions and returns them in order. The first one is the current condition.
    func next() async throws -> [Condition] {
        if isFirst {
            isFirst = false
            return [try await look()]
        }
        if hasLost {
            // More is there to read, so this does not wait. Under a steady flood others still have their turn in between.
            try Task.checkCancellation()
            await Task.yield()
        } else {
            try await Poller.shared.readable(descriptor)
        }
        var conditions: [Condition] = []
        var links = [linux_link](repeating: linux_link(), count: Self.burst)
        for _ in 0..<Self.burst {
            let count = linux_link_receive(descriptor, &links, Int32(links.count))
            if count < 0 {
                switch errno {
                case EAGAIN where hasLost:
                    // Older messages are read by now, so none of them follows the look. The system drops further messages
                    // until all are read, so a look before that would miss them (netlink(7)).
                    hasLost = false
                    return conditions + [try await look()]
                case EAGAIN: return conditions
                case EINTR: continue
                case ENOBUFS:
                    hasLost = true
                    continue
                default: throw Errno(rawValue: errno)
                }
            }
            for link in links[..<Int(count)] {
                if let condition = take(link) { conditions.append(condition) }
            }
        }
        return conditions
    }

    /// Queries the system.
    private func look() async throws -> Condition {
        let name = name
        let answer = try await Blocking.call { () -> Result<linux_link?, Errno> in
            var link = linux_link()
            switch linux_link_find(name, &link) {
            case 1: return .success(link)
            case 0: return .success(nil)
            default: return .failure(Errno(rawValue: errno))
            }
        }
        guard let link = try answer.get() else {
            number = nil
            return Condition()
        }
        number = link.number
        return Self.condition(link)
    }

    /// Returns the condition in a message; `nil` if the message is about another interface.
    private func take(_ link: linux_link) -> Condition? {
        let name = withUnsafeBytes(of: link.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if link.is_gone == 0, name == self.name {
            number = link.number
            return Self.condition(link)
        }
        // The interface was removed or renamed.
        guard link.number == number else { return nil }
        number = nil
        return Condition()
    }

    private static func condition(_ link: linux_link) -> Condition {
        let works = link.flags & isUp != 0 && link.flags & isRunning != 0
        return Condition(
            outcome: works ? "onUp" : "onDown",
            state: states.indices.contains(Int(link.state)) ? states[Int(link.state)] : "unknown",
            hasCarrier: link.flags & hasCarrier != 0, mtu: Int64(link.mtu))
    }
}
