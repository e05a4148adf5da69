import NIOCore
import SideEffects
import Synchronization
import Testing
import TestSupport

/// A lookup function that blocks until the test releases it.
private final class Slow: Sendable {
    let begun = AsyncStream<String>.makeStream()
    let mayEnd = ThreadSemaphore()
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
    ]) func `returns the addresses`(name: String, family: NameResolver.Family, expected: [String]) async throws {
        let addresses = try await NameResolver().addresses(of: name, port: 80, family: family)
        #expect(addresses.map(\.ipAddress) == expected && addresses.allSatisfy { $0.port == 80 })
    }

    @Test(arguments: [("127.0.0.1", NameResolver.Family.v6), ("::1", .v4), ("", .any)])
    func `reports a name without addresses`(name: String, family: NameResolver.Family) async {
        await #expect(throws: NameResolver.LookupProblem.self) {
            _ = try await NameResolver().addresses(of: name, family: family)
        }
    }

    @Test func `does not delay cancelled tasks, and bounds the threads that hang`() async throws {
        let slow = Slow()
        let resolver = NameResolver { name, _, _ in slow.lookUp(name) }
        let tasks = (0..<NameResolver.threads).map { number in
            Task { try await resolver.addresses(of: "slow\(number)") }
        }
        var begun = slow.begun.stream.makeAsyncIterator()
        for _ in tasks { _ = await begun.next() }
        // All threads are busy. A cancelled task leaves, although the function has not returned.
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        // A task that waits for a thread leaves too, and its name is never looked up.
        let waiting = Task { try await resolver.addresses(of: "never") }
        let patient = Task { try await resolver.addresses(of: "patient") }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(slow.calls.load(ordering: .relaxed) == NameResolver.threads)
        // A thread that returns works on the waiting names.
        slow.mayEnd.signal()
        #expect(await begun.next() == "patient")
        for _ in 0..<NameResolver.threads { slow.mayEnd.signal() }
        #expect(try await patient.value.first?.ipAddress == "127.0.0.1")
        // After all threads have ended, the next name starts a new one.
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
        // The surplus one is refused at once; the others wait.
        var results = outcomes.stream.makeAsyncIterator()
        #expect(await results.next() == false)
        for task in waiting { task.cancel() }
        for task in waiting { await task.value }
        for _ in begun { slow.mayEnd.signal() }
        for task in begun { #expect(try await task.value.count == 1) }
    }
}
