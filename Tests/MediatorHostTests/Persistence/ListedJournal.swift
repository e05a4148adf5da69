import CommonExpression
import MediatorConfiguration
import MediatorHost
import Synchronization

/// A journal in memory. It lists the changes that it gets, and the test completes them.
final class ListedJournal: StateJournal {
    /// A part, by kind and name.
    struct Key: Sendable, Hashable {
        let part: HostChange.Part
        let name: String
    }

    /// A change that the journal has got.
    struct Entry: Sendable {
        let key: Key
        let incarnation: UInt32
        let phase: UInt8
        let content: HostChange.Content?

        /// The same change as one of an earlier life of the process, which loses to any present one.
        var ofEarlierLife: Entry { Entry(key: key, incarnation: 0, phase: phase, content: content) }

        /// The fields of the state or the value, as text.
        var text: String {
            switch content {
            case .system(let state, _): ([state.state.name] + state.fields.map(\.description)).joined(separator: " ")
            case .bus(let bus, _): bus.value.description
            case nil: "removed"
            }
        }
    }

    private struct State {
        var isManual = false
        var given: [Entry] = []
        var waiting: [(entry: Entry, done: @Sendable (Bool) -> Void)] = []
        var rows: [Key: Entry] = [:]

        mutating func store(_ entry: Entry) {
            if entry.incarnation >= rows[entry.key]?.incarnation ?? 0 { rows[entry.key] = entry }
        }
    }

    private let state: Mutex<State>

    /// - Parameter isManual: A Boolean value that indicates whether changes wait for the test.
    init(isManual: Bool = false) { state = Mutex(State(isManual: isManual)) }

    func write(_ change: HostChange, done: @escaping @Sendable (_ goesOn: Bool) -> Void) {
        let entry = Entry(
            key: Key(part: change.part, name: change.name), incarnation: change.incarnation, phase: change.phase,
            content: change.content())
        let waits = state.withLock { state in
            state.given.append(entry)
            if state.isManual { state.waiting.append((entry, done)) } else { state.store(entry) }
            return state.isManual
        }
        if !waits { done(true) }
    }

    /// Everything that it was given, as text.
    var given: [String] { state.withLock { $0.given.map(\.text) } }

    /// The last change of a system that it was given.
    func lastGiven(_ name: String) -> Entry? {
        state.withLock { $0.given.last { $0.key == Key(part: .system, name: name) } }
    }

    /// The changes that wait, as text.
    var waiting: [String] { state.withLock { $0.waiting.map(\.entry.text) } }

    /// The stored row of a system.
    func row(_ name: String) -> Entry? { row(.system, name) }

    /// The highest incarnation of a system that it was given.
    func incarnation(of name: String) -> UInt32 {
        state.withLock { $0.given.filter { $0.key.name == name }.map(\.incarnation).max() ?? 0 }
    }

    /// The rows, as a host begins from them after the end of the process.
    var restored: (state: HostState, details: SavedParts) {
        var (restored, details) = (HostState(), SavedParts())
        for (key, entry) in state.withLock({ $0.rows }) where entry.phase == HostChange.running {
            switch entry.content {
            case .system(let system, let saved):
                restored.systems[key.name] = system
                details.systems[key.name] = SavedParts.Part(saved, isStored: true)
            case .bus(let bus, let saved):
                restored.buses[key.name] = bus
                details.buses[key.name] = SavedParts.Part(saved, isStored: true)
            case nil: break
            }
        }
        return (restored, details)
    }

    // MARK: The test

    /// Completes or refuses one waiting change: the first one, the first of a part, or the one at an index.
    ///
    /// - Returns: The change, or `nil` if no such change waits.
    @discardableResult
    func complete(_ name: String? = nil, at index: Int? = nil, refused: Bool = false) -> Entry? {
        let taken = state.withLock { state -> (entry: Entry, done: @Sendable (Bool) -> Void)? in
            let found = index ?? state.waiting.firstIndex { name == nil || $0.entry.key.name == name }
            guard let found, state.waiting.indices.contains(found) else { return nil }
            let taken = state.waiting.remove(at: found)
            if !refused { state.store(taken.entry) }
            return taken
        }
        taken?.done(true)
        return taken?.entry
    }

    /// A journal with the rows after the end of the process. Some of the changes that wait have come on the disk, in their
    /// order.
    func cut(after count: Int) -> ListedJournal {
        let rows = state.withLock { state in
            var copy = state
            for (entry, _) in state.waiting.prefix(count) { copy.store(entry) }
            return copy.rows
        }
        let next = ListedJournal(isManual: true)
        next.state.withLock { $0.rows = rows.mapValues { $0.ofEarlierLife } }
        return next
    }

    /// The stored row of a part.
    func row(_ part: HostChange.Part, _ name: String) -> Entry? {
        state.withLock { $0.rows[Key(part: part, name: name)] }
    }

    /// Completes all changes that wait, and the later ones at once.
    func completeAll() {
        state.withLock { $0.isManual = false }
        var completed = complete()
        while completed != nil { completed = complete() }
    }

    /// Lets later changes wait.
    func waits() { state.withLock { $0.isManual = true } }
}
