import CommonExpression
import FeedbackKitTesting
import Glibc
import MediatorHost
import SideEffects
import Synchronization
import Systemd
import Testing

/// A journal whose files can be cut at will, in the call of one's choice; the rest is tested with a real one, in a container.
private final class CutJournal: Sendable {
    enum Call: Hashable {
        case open(passesDamage: Bool)
        case process, read, skip
    }

    private struct Machine {
        var count = 0
        var microseconds: UInt64 = 0
        var calls: [Call: Int] = [:]
        var fails: @Sendable (Call, Int) -> JournalError? = { _, _ in nil }
        var damaged: Set<Int> = []
    }

    private let machine = Mutex(Machine())
    /// Can be read when entries have come.
    let descriptor: Int32
    private let writing: Int32

    deinit {
        close(descriptor)
        close(writing)
    }

    static let cut = JournalError("cut", isOfCutFile: true)

    /// - Parameter fails: asked at each call, and how many of its kind there have been with it.
    init(_ count: Int = 0, fails: @escaping @Sendable (Call, Int) -> JournalError? = { _, _ in nil }) {
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        (descriptor, writing) = (ends[0], ends[1])
        machine.withLock {
            $0.count = count
            $0.fails = fails
        }
    }

    /// How often something has been called.
    func calls(_ call: Call) -> Int { machine.withLock { $0.calls[call, default: 0] } }

    /// Entries that are passed over by who passes over damage.
    func damage(_ entries: Set<Int>) { machine.withLock { $0.damaged = entries } }

    /// More entries come; those of a flood are newer than any run.
    func append(_ count: Int, isNew: Bool = false) {
        machine.withLock {
            $0.count += count
            if isNew { $0.microseconds = .max }
        }
        write(writing, "x", 1)
    }

    private func check(_ call: Call) throws(JournalError) {
        let (fails, number) = machine.withLock { machine in
            machine.calls[call, default: 0] += 1
            return (machine.fails, machine.calls[call, default: 0])
        }
        if let error = fails(call, number) { throw error }
    }

    var effect: JournalEffect {
        JournalEffect(retryInterval: .seconds(10)) { _, _, beginning, passesDamage throws(JournalError) in
            try self.check(.open(passesDamage: passesDamage))
            let next = if case .after(let cursor) = beginning { Int(cursor) ?? 0 } else { 0 }
            return Source(journal: self, position: beginning, passesDamage: passesDamage, next: Mutex(next))
        }
    }

    final class Source: JournalSource {
        let journal: CutJournal
        let position: JournalReader.Beginning
        let passesDamage: Bool
        let next: Mutex<Int>
        let isReliable = true
        var descriptor: Int32 { journal.descriptor }

        init(journal: CutJournal, position: JournalReader.Beginning, passesDamage: Bool, next: consuming Mutex<Int>) {
            self.journal = journal
            self.position = position
            self.passesDamage = passesDamage
            self.next = next
        }

        func process() throws(JournalError) {
            var bytes: (UInt64, UInt64) = (0, 0)
            while Glibc.read(journal.descriptor, &bytes, 16) > 0 {}
            try check(.process)
        }

        /// Who passes over damage is told nothing of it.
        private func check(_ call: Call) throws(JournalError) {
            do throws(JournalError) {
                try journal.check(call)
            } catch {
                guard passesDamage, error.isOfCutFile else { throw error }
            }
        }

        private func advance(_ limit: Int) -> (Range<Int>, UInt64, Set<Int>) {
            let (count, microseconds, damaged) = journal.machine.withLock { ($0.count, $0.microseconds, $0.damaged) }
            return next.withLock { next in
                defer { next = min(next + limit, count) }
                return (next..<min(next + limit, count), microseconds, damaged)
            }
        }

        func read(limit: Int) throws(JournalError) -> (entries: [JournalEntry], damaged: Int) {
            let (range, microseconds, damaged) = advance(limit)
            try check(.read)
            let entries = range.filter { !damaged.contains($0) }.map { number in
                JournalEntry(microseconds: microseconds, cursor: "\(number + 1)", fields: ["MESSAGE": "\(number)"])
            }
            return (entries, range.count - entries.count)
        }

        func skip(limit: Int) throws(JournalError) -> (count: Int, cursor: String?)? {
            let (range, _, _) = advance(limit)
            try check(.skip)
            return range.isEmpty ? nil : (range.count, "\(range.upperBound)")
        }
    }
}

extension Sensing {
    /// The texts that were told, in order.
    fileprivate var messages: [String] { names.indices.compactMap { text($0, "message") } }
    /// How many entries were told by their number only.
    fileprivate var dropped: Int {
        names.indices.reduce(0) { sum, index in
            guard names[index] == "onDropped", case .int(let count)? = value(index, "count") else { return sum }
            return sum + Int(count)
        }
    }
}

/// What becomes of a run whose files are cut, or cannot be read.
@Suite(.timeLimit(.minutes(5))) struct `The side effect journal` {
    private let clock = ManualClock()

    private func reading(
        _ journal: CutJournal, perSecond: Int64, memory: EffectMemory = EffectMemory()
    ) -> Sensing {
        Sensing(
            journal.effect, ["perSecond": .int(perSecond), "since": .string("boot")], clock: clock, memory: memory)
    }

    /// Lets time pass by seconds, whenever somebody waits for it, until something holds.
    private func pass(until condition: () -> Bool) async {
        while !condition() {
            if clock.sleeperCount > 0 { clock.advance(by: .seconds(1)) }
            await Task.yield()
        }
    }

    @Test func `tells each entry once and in order, wherever a file is cut`() async {
        let journal = CutJournal(60) { call, number in
            // No two without anything in between.
            call == .read && number.isMultiple(of: 3) || call == .open(passesDamage: false) && number == 5
                ? CutJournal.cut : nil
        }
        let sensing = reading(journal, perSecond: 5)
        await pass { sensing.names.count >= 60 }
        #expect(sensing.messages == (0..<60).map(String.init))
        #expect(journal.calls(.open(passesDamage: false)) > 6 && journal.calls(.open(passesDamage: true)) == 0)
        await sensing.cancel()
        #expect(sensing.failures == [] && sensing.dropped == 0)
    }

    @Test func `goes on at once after each of many cuts`() async {
        let journal = CutJournal { call, _ in call == .process ? CutJournal.cut : nil }
        let sensing = reading(journal, perSecond: 10_000)
        for number in 1...150 {
            journal.append(1)
            await sensing.reported(number)
        }
        #expect(sensing.messages == (0..<150).map(String.init))
        await sensing.cancel()
        #expect(sensing.failures == [] && journal.calls(.open(passesDamage: true)) == 0)
        #expect(clock.now == ManualClock().now)
    }

    @Test func `counts all of a flood in which a file is cut`() async {
        let journal = CutJournal { call, number in
            (call == .skip && [2, 4].contains(number)) || (call == .process && number == 4) ? CutJournal.cut : nil
        }
        let sensing = reading(journal, perSecond: 100)
        journal.append(45_000, isNew: true)
        await pass { sensing.messages.count + sensing.dropped >= 45_000 }
        #expect(sensing.messages.count + sensing.dropped == 45_000)
        // It is no more old after a cut than before: a few seconds' entries are told, the rest only counted.
        #expect(sensing.messages.count <= 500)
        await sensing.cancel()
        #expect(sensing.failures == [])
    }

    @Test func `counts also what it passed over before it was ended`() async {
        let first = Mutex<Sensing?>(nil)
        let journal = CutJournal { call, number in
            if call == .skip, number == 2 { first.withLock { $0 }?.stop() }
            return nil
        }
        let memory = EffectMemory()
        let sensing = reading(journal, perSecond: 100, memory: memory)
        first.withLock { $0 = sensing }
        journal.append(35_000, isNew: true)
        await pass { sensing.isOver }
        first.withLock { $0 = nil }
        #expect(sensing.messages.count == 100 && sensing.dropped == 0)
        let next = reading(journal, perSecond: 100, memory: memory)
        await next.reported(1)
        #expect(next.dropped == 10_000)
        await pass { sensing.messages.count + next.messages.count + next.dropped >= 35_000 }
        #expect(sensing.messages.count + next.messages.count + next.dropped == 35_000)
        await next.cancel()
    }

    @Test func `passes over what can never be read, and says so once`() async {
        // Four times at once, then after a while what is damaged is passed over; and then it is tried once.
        let journal = CutJournal(10) { call, number in
            call == .read && number <= 4 || call == .open(passesDamage: false) && number == 5 ? CutJournal.cut : nil
        }
        journal.damage([3, 4])
        let sensing = reading(journal, perSecond: 10_000)
        await sensing.failed(1)
        #expect(sensing.names.isEmpty && clock.now == ManualClock().now)
        #expect(journal.calls(.open(passesDamage: false)) == 4 && journal.calls(.open(passesDamage: true)) == 0)
        await pass { sensing.names.count >= 9 }
        #expect(sensing.messages == [0, 1, 2, 5, 6, 7, 8, 9].map(String.init) && sensing.dropped == 2)
        #expect(journal.calls(.open(passesDamage: false)) == 4 && journal.calls(.open(passesDamage: true)) == 1)
        await pass { journal.calls(.open(passesDamage: true)) == 2 }
        #expect(journal.calls(.open(passesDamage: false)) == 5)
        await pass { journal.calls(.open(passesDamage: false)) == 6 }
        // It is well again.
        let begin = clock.now
        journal.append(1)
        await sensing.reported(10)
        #expect(sensing.messages.last == "10" && clock.now == begin)
        #expect(sensing.failures == ["cut, again and again: damage is passed over"])
        await sensing.cancel()
        #expect(journal.calls(.open(passesDamage: true)) == 2)
    }

    @Test func `says once what goes on to be wrong, and again when it was well in between`() async {
        let isWell = Mutex(false)
        let journal = CutJournal(1) { call, _ in
            call == .read && !isWell.withLock { $0 } ? JournalError("no such luck") : nil
        }
        let sensing = reading(journal, perSecond: 100)
        await sensing.failed(1)
        await pass { journal.calls(.read) >= 4 }
        #expect(sensing.failures == ["no such luck"])
        isWell.withLock { $0 = true }
        await pass { sensing.names == ["onEntry"] }
        isWell.withLock { $0 = false }
        journal.append(1)
        await pass { journal.calls(.read) >= 8 }
        #expect(sensing.failures == ["no such luck", "no such luck"])
        await sensing.cancel()
    }
}
