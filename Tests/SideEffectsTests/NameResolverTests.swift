import Dispatch
import NIOCore
import SideEffects
import Synchronization
import Testing

/// A system's function that does not answer until it is told to.
private final class Slow: Sendable {
    let begun = AsyncStream<String>.makeStream()
    let mayEnd = DispatchSemaphore(value: 0)
    let calls = Atomic(0)

    func lookUp(_ name: String) -> NameResolver.Answer {
        calls.add(1, ordering: .relaxed)
        begun.continuation.yield(name)
        mayEnd.wait()
        return NameResolver.ask("127.0.0.1", 0, .any)
    }
}

@Suite(.timeLimit(.minutes(5))) struct `The lookup of names` {
    @Test(arguments: [
        ("127.0.0.1", NameResolver.Family.any, ["127.0.0.1"]), ("::1", .any, ["::1"]),
        ("127.0.0.1", .v4, ["127.0.0.1"]),
        ("::1", .v6, ["::1"]), ("localhost", .v4, ["127.0.0.1"]),
    ]) func `gives the addresses`(name: String, family: NameResolver.Family, expected: [String]) async throws {
        let addresses = try await NameResolver().addresses(of: name, port: 80, family: family)
        #expect(addresses.map(\.ipAddress) == expected && addresses.allSatisfy { $0.port == 80 })
    }

    @Test(arguments: [("127.0.0.1", NameResolver.Family.v6), ("::1", .v4), ("", .any)])
    func `says that there are none`(name: String, family: NameResolver.Family) async {
        await #expect(throws: NameResolver.LookupProblem.self) {
            _ = try await NameResolver().addresses(of: name, family: family)
        }
    }

    @Test func `does not hold who is cancelled, and no more threads hang than there may be`() async throws {
        let slow = Slow()
        let resolver = NameResolver { name, _, _ in slow.lookUp(name) }
        let tasks = (0..<NameResolver.threads).map { number in
            Task { try await resolver.addresses(of: "slow\(number)") }
        }
        var begun = slow.begun.stream.makeAsyncIterator()
        for _ in tasks { _ = await begun.next() }
        // All threads are taken. Who is cancelled goes, though the function has not returned.
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        // One who waits for a thread goes as well, and is never looked up.
        let waiting = Task { try await resolver.addresses(of: "never") }
        let patient = Task { try await resolver.addresses(of: "patient") }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(slow.calls.load(ordering: .relaxed) == NameResolver.threads)
        // When a thread comes back, it does what waits.
        slow.mayEnd.signal()
        #expect(await begun.next() == "patient")
        for _ in 0..<NameResolver.threads { slow.mayEnd.signal() }
        #expect(try await patient.value.first?.ipAddress == "127.0.0.1")
        // When all have ended, the next begins anew.
        slow.mayEnd.signal()
        #expect(try await resolver.addresses(of: "next").count == 1)
    }

    @Test func `refuses when too many wait`() async throws {
        let slow = Slow()
        let resolver = NameResolver { name, _, _ in slow.lookUp(name) }
        let begun = (0..<NameResolver.threads).map { number in
            Task { try await resolver.addresses(of: "slow\(number)") }
        }
        var names = slow.begun.stream.makeAsyncIterator()
        for _ in begun { _ = await names.next() }
        let outcomes = AsyncStream<Bool>.makeStream()
        let waiting = (0..<NameResolver.queueLimit + 1).map { _ in
            Task {
                do {
                    _ = try await resolver.addresses(of: "one more")
                    outcomes.continuation.yield(true)
                } catch {
                    outcomes.continuation.yield(false)
                }
            }
        }
        // The one too many is refused at once; the others wait.
        var results = outcomes.stream.makeAsyncIterator()
        #expect(await results.next() == false)
        for task in waiting { task.cancel() }
        for task in waiting { await task.value }
        for _ in begun { slow.mayEnd.signal() }
        for task in begun { #expect(try await task.value.count == 1) }
    }
}
