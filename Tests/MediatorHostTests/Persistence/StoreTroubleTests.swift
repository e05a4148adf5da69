import MediatorHost
import Testing

/// The health of systems whose states are not stored.
@Suite struct `A refusal of the store` {
    @Test func `degrades the system, with the reason, until the store has its state`() async throws {
        let fixture = try PersistedFixture(PersistedFixture.counter, journal: ListedJournal())
        await fixture.settle()
        #expect(try fixture.host.systemStatus("counter").health == .healthy)
        fixture.host.note(storeTroubles: ["counter": "no room; make room", "other": "no system"])
        #expect(try fixture.host.systemStatus("counter").health == .degraded)
        #expect(try fixture.host.systemStatus("counter").healthReason == "state: is not stored: no room; make room")
        #expect(fixture.host.statusText == "1 system: 1 degraded (counter: state)")
        try fixture.add(1)
        await fixture.settle()
        #expect(try fixture.host.systemStatus("counter").health == .degraded, "a new state does not end it")
        fixture.host.note(storeTroubles: ["counter": "a full disk"])
        #expect(try fixture.host.systemStatus("counter").healthReason == "state: is not stored: a full disk")
        fixture.host.note(storeTroubles: [:])
        #expect(try fixture.host.systemStatus("counter").health == .healthy)
    }

    @Test func `does not concern a system that is not persisted`() async throws {
        let fixture = try PersistedFixture(PersistedFixture.counter, persisting: [], journal: ListedJournal())
        await fixture.settle()
        fixture.host.note(storeTroubles: ["counter": "no room"])
        #expect(try fixture.host.systemStatus("counter").health == .healthy)
    }
}
