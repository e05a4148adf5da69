import MediatorDaemon
import Testing

@Suite struct `What belongs to generations` {
    private final class Thing: Sendable {}

    @Test func `is kept of the one that runs, and of one that is being applied`() {
        var generations = Generations("a", of: 1)
        generations.expect("b", of: 2)
        #expect(generations.known == [1, 2])
        #expect(generations[1] == "a" && generations[2] == "b")
        #expect(generations.settle(on: 2) == ["a"])
        #expect(generations.known == [2])
        // The rejected candidate is forgotten, and its successor is known.
        generations.expect("c", of: 3)
        #expect(generations.settle(on: 2) == ["c"])
        generations.expect("d", of: 3)
        #expect(generations[3] == "d" && generations[2] == "b")
    }

    @Test func `is let go when it is decided which one runs`() {
        weak var first: Thing?
        var generations: Generations<Thing>
        do {
            let thing = Thing()
            first = thing
            generations = Generations(thing, of: 1)
        }
        #expect(first != nil)
        generations.expect(Thing(), of: 2)
        _ = generations.settle(on: 2)
        #expect(first == nil)
    }
}
