import MediatorDaemon
import Testing

struct MetricsConnectionsTests {
    /// Adds a connection, and returns its number.
    private func enter(_ connections: inout MetricsConnections, closing closed: Int?) throws -> Int {
        let place = connections.enter()
        #expect(place?.closed == closed)
        return try #require(place).number
    }

    @Test func `a new connection takes the place of the one that has waited longest for its request`() throws {
        var connections = MetricsConnections(limit: 3, unreadLimit: 100)
        let numbers = try (0..<3).map { _ in try enter(&connections, closing: nil) }
        connections.answer(numbers[0])
        #expect(connections.enter()?.closed == numbers[1])
        // A read answer counts as a change.
        #expect(connections.send(numbers[0], bytes: 10) == true)
        connections.wait(numbers[0])
        #expect(connections.enter()?.closed == numbers[2])
        // The first two that came later have waited longer than the one that has read its answer.
        #expect(connections.enter()?.closed != numbers[0])
    }

    @Test func `one that reads its answer goes before one whose answer is made, and after all that wait`() throws {
        var connections = MetricsConnections(limit: 3, unreadLimit: 100)
        let numbers = try (0..<3).map { _ in try enter(&connections, closing: nil) }
        for number in numbers { connections.answer(number) }
        #expect(connections.enter() == nil)
        #expect(connections.send(numbers[2], bytes: 10) == true)
        #expect(connections.send(numbers[1], bytes: 10) == true)
        #expect(connections.enter()?.closed == numbers[2])
        // The one that took the place waits for a request.
        let place = connections.enter()
        let next = try #require(place)
        #expect(next.closed.map(numbers.contains) == false)
        connections.answer(next.number)
        #expect(connections.enter()?.closed == numbers[1])
        connections.leave(numbers[0])
        #expect(connections.enter()?.closed == nil)
    }

    @Test func `answers that are not read have a limit together, and one alone has none`() throws {
        var connections = MetricsConnections(limit: 3, unreadLimit: 100)
        let numbers = try (0..<3).map { _ in try enter(&connections, closing: nil) }
        for number in numbers { connections.answer(number) }
        #expect(connections.send(numbers[0], bytes: 60) == true)
        #expect(connections.send(numbers[1], bytes: 40) == true)
        #expect(connections.send(numbers[2], bytes: 1) == false)
        connections.leave(numbers[0])
        #expect(connections.send(numbers[2], bytes: 60) == true)
        connections.wait(numbers[1])
        connections.wait(numbers[2])
        connections.answer(numbers[1])
        connections.answer(numbers[2])
        #expect(connections.send(numbers[1], bytes: 1_000) == true)
        #expect(connections.send(numbers[2], bytes: 1) == false)
        // It was closed meanwhile.
        #expect(connections.send(numbers[0], bytes: 1) == false)
    }
}
