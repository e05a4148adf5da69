package import MediatorControl

/// The model of `top`: a plain value that takes samples and keys.
package struct TopModel: Sendable {
    /// The counters of a daemon at a time.
    package struct Sample: Sendable {
        /// By a clock that is never set, in seconds.
        package var time: Double
        /// The daemon as a whole.
        package var status: StatusReply
        /// Every bus.
        package var buses: [BusSummary]
        /// Every link.
        package var links: [LinkSummary]

        /// A sample.
        package init(time: Double, status: StatusReply, buses: [BusSummary], links: [LinkSummary]) {
            self.time = time
            self.status = status
            self.buses = buses
            self.links = links
        }
    }

    /// A part with its activity since the sample before.
    package struct Row: Sendable, Equatable, Encodable {
        /// The kind of the part.
        package var kind: PartKind
        /// Its name.
        package var name: String
        /// Events, values or firings a second.
        package var rate: Double
        /// Events, values or firings in all.
        package var total: Int
        /// The drops and delays in a second.
        package var dropRate: Double
        /// The drops and delays in all.
        package var dropped: Int
        /// The number of a system's side effects that run.
        package var running: Int?
        /// The health of a system.
        package var health: Health?
        /// The state of a system, the value of a bus, or what a link does.
        package var state: String

        /// The state, behind how a system is that is not well: there may be no colours that tell so.
        package var told: String {
            guard let health, health != .healthy else { return state }
            return "\(health.rawValue): \(state)"
        }

        /// The identity of a part across samples.
        var id: Target { Target(kind: Target.Kind(rawValue: kind.rawValue), name: name) }
    }

    /// Which parts are listed.
    package enum View: Int, Sendable, CaseIterable {
        /// All.
        case all
        /// Systems.
        case systems
        /// Buses.
        case buses
        /// Links.
        case links

        /// Whether a part is listed.
        func lists(_ kind: PartKind) -> Bool {
            switch self {
            case .all: true
            case .systems: kind == .system
            case .buses: kind == .bus
            case .links: kind == .link
            }
        }
    }

    /// The order of parts.
    package enum Sort: Int, Sendable, CaseIterable {
        /// By activity in a second.
        case rate
        /// By activity in all.
        case total
        /// By drops.
        case drops
        /// By side effects that run.
        case running
        /// Their names.
        case name
    }

    /// A report that fills the screen.
    package enum Subject: Sendable, Equatable {
        /// One part.
        case part(Target)
        /// The pending waits of all systems.
        case waits
    }

    /// The content of the screen.
    package enum Page: Sendable, Equatable {
        /// The parts.
        case list
        /// A report; its lines, once they are there.
        case report(Subject, lines: [String]?)
        /// The keys.
        case help
    }

    /// The effect of a key outside the model.
    package enum Request: Sendable, Equatable {
        /// To end.
        case quit
        /// To fetch a report.
        case open(Subject)
        /// To fetch a sample now.
        case sample
    }

    /// The last sample.
    package private(set) var sample: Sample?
    /// Every part.
    package private(set) var rows: [Row] = []
    /// The listed parts.
    package private(set) var view = View.all
    /// The order.
    package private(set) var sort = Sort.rate
    /// Whether the order is reversed.
    package private(set) var isReversed = false
    /// The text that names must contain.
    package private(set) var filter = ""
    /// Whether the filter is being typed.
    package private(set) var isTyping = false
    /// Whether samples are not shown for now.
    package private(set) var isHeld = false
    /// The content of the screen.
    package private(set) var page = Page.list
    /// The line that is chosen, counted from the first that is listed.
    package private(set) var selection = 0
    /// The first line of a report.
    package private(set) var scroll = 0
    /// The reason why there are no samples.
    package private(set) var trouble: String?

    /// Nothing yet.
    package init() {}

    /// The parts that are listed, in their order.
    package var listed: [Row] {
        let rows = rows.filter { row in
            view.lists(row.kind) && (filter.isEmpty || row.name.lowercased().contains(filter.lowercased()))
        }
        let sorted = rows.sorted { left, right in
            let (first, second) = (key(left), key(right))
            // By name from the first, by numbers from the most; of equals, by name.
            if first != second { return first > second }
            return (left.name, left.kind.rawValue) < (right.name, right.kind.rawValue)
        }
        return isReversed ? sorted.reversed() : sorted
    }

    private func key(_ row: Row) -> Double {
        switch sort {
        case .rate: row.rate
        case .total: Double(row.total)
        case .drops: row.dropRate * 1e9 + Double(row.dropped)
        case .running: Double(row.running ?? -1)
        case .name: 0
        }
    }

    // MARK: Samples

    /// Takes a sample.
    ///
    /// - Parameter style: shows times in states and values as on the clock; nil: they stay as they travel.
    package mutating func take(_ new: Sample, _ style: TextStyle? = nil) {
        trouble = nil
        guard !isHeld else { return }
        // Without a choice the first row is chosen, whichever it is.
        let chosen = selection > 0 && listed.indices.contains(selection) ? listed[selection].id : nil
        let before = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
        let passed = sample.map { new.time - $0.time } ?? 0
        func row(
            _ kind: PartKind, _ name: String, _ total: Int, _ dropped: Int, running: Int? = nil, health: Health? = nil,
            state: String
        ) -> Row {
            var row = Row(
                kind: kind, name: name, rate: 0, total: total, dropRate: 0, dropped: dropped, running: running,
                health: health, state: state)
            // A counter that starts again counts from zero.
            guard let old = before[row.id], passed > 0, total >= old.total, dropped >= old.dropped else { return row }
            row.rate = Double(total - old.total) / passed
            row.dropRate = Double(dropped - old.dropped) / passed
            return row
        }
        rows =
            new.status.systems.map { system in
                row(
                    .system, system.name, system.counters.events, system.counters.dropped,
                    running: system.effectsRunning, health: system.health, state: StateText.text(system.state, style))
            }
            + new.buses.map { bus in
                row(
                    .bus, bus.name, bus.published, bus.dropped,
                    state: bus.value.map { style?.value($0) ?? PlainText.value($0) } ?? "")
            }
            + new.links.map { link in
                row(
                    .link, link.name, link.fired, link.dropped,
                    state: (link.open ? "held back: " : "") + PlainText.cleaned(link.description))
            }
        sample = new
        if let chosen, let place = listed.firstIndex(where: { $0.id == chosen }) { selection = place }
        clampSelection()
    }

    /// There are no samples for a reason.
    package mutating func lose(_ reason: String) { trouble = reason }

    /// The report that was opened and has no lines yet, or that is kept current.
    package var awaited: Subject? {
        guard case .report(let subject, let lines) = page else { return nil }
        return lines == nil || (subject == .waits && !isHeld) ? subject : nil
    }

    /// The lines of an opened report.
    package mutating func show(_ subject: Subject, _ lines: [String]) {
        guard case .report(subject, _) = page else { return }
        page = .report(subject, lines: lines)
        scroll = max(0, min(scroll, lines.count - 1))
    }

    private mutating func open(_ subject: Subject) -> Request {
        page = .report(subject, lines: nil)
        scroll = 0
        return .open(subject)
    }

    private mutating func clampSelection() { selection = max(0, min(selection, listed.count - 1)) }

    // MARK: Keys

    /// Takes a key.
    package mutating func press(_ key: TopKey, pageLength: Int) -> Request? {
        if key == .interrupt { return .quit }
        if isTyping { return type(key) }
        switch page {
        case .help:
            page = .list
            return nil
        case .report: return turn(key, pageLength: pageLength)
        case .list: return choose(key, pageLength: pageLength)
        }
    }

    private mutating func type(_ key: TopKey) -> Request? {
        switch key {
        case .enter: isTyping = false
        case .escape:
            isTyping = false
            filter = ""
        case .backspace: _ = filter.popLast()
        case .letter(let letter) where filter.count < 64: filter.append(letter)
        default: break
        }
        selection = 0
        return nil
    }

    private mutating func turn(_ key: TopKey, pageLength: Int) -> Request? {
        switch key {
        case .up, .letter("k"): scroll = max(0, scroll - 1)
        case .down, .letter("j"): scroll += 1
        case .pageUp: scroll = max(0, scroll - pageLength)
        case .pageDown: scroll += pageLength
        case .home: scroll = 0
        case .letter("?"), .letter("h"): page = .help
        case .letter(" "): return hold()
        case .escape, .enter, .left, .letter("q"), .backspace:
            page = .list
            scroll = 0
        default: break
        }
        if case .report(_, let lines?) = page { scroll = max(0, min(scroll, lines.count - pageLength)) }
        return nil
    }

    private mutating func hold() -> Request? {
        isHeld.toggle()
        return isHeld ? nil : .sample
    }

    private mutating func choose(_ key: TopKey, pageLength: Int) -> Request? {
        switch key {
        case .letter("q"): return .quit
        case .letter("?"), .letter("h"): page = .help
        case .letter("/"): isTyping = true
        case .escape: filter = ""
        case .letter("s"): sort = Sort(rawValue: (sort.rawValue + 1) % Sort.allCases.count) ?? .rate
        case .letter("r"): isReversed.toggle()
        case .letter(" "):
            return hold()
        case .letter("1"), .letter("2"), .letter("3"), .letter("4"):
            if case .letter(let digit) = key {
                view = digit.wholeNumberValue.flatMap { View(rawValue: $0 - 1) } ?? .all
            }
            selection = 0
        case .tab:
            view = View(rawValue: (view.rawValue + 1) % View.allCases.count) ?? .all
            selection = 0
        case .up, .letter("k"): selection -= 1
        case .down, .letter("j"): selection += 1
        case .pageUp: selection -= pageLength
        case .pageDown: selection += pageLength
        case .home, .letter("g"): selection = 0
        case .end, .letter("G"): selection = listed.count - 1
        case .enter, .right:
            guard listed.indices.contains(selection) else { return nil }
            return open(.part(listed[selection].id))
        case .letter("w"): return open(.waits)
        default: break
        }
        clampSelection()
        return nil
    }
}

/// A key that was pressed.
package enum TopKey: Sendable, Equatable {
    /// A letter, digit or sign.
    case letter(Character)
    /// The arrows and their kin.
    case up, down, left, right, pageUp, pageDown, home, end
    /// Others that have a name.
    case enter, escape, backspace, tab
    /// ^C.
    case interrupt

    /// The keys of what a terminal sends; what is not known is left out. An escape sequence comes in one piece.
    package static func keys(_ bytes: [UInt8]) -> [TopKey] {
        var keys: [TopKey] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            switch byte {
            case 0x1B:
                guard let next = rest.first, next == UInt8(ascii: "[") || next == UInt8(ascii: "O") else {
                    keys.append(.escape)
                    continue
                }
                rest.removeFirst()
                // Parameters, then one letter (ECMA-48, 5.4).
                let parameters = rest.prefix { (0x20...0x3F).contains($0) }
                rest = rest.dropFirst(parameters.count)
                guard let final = rest.popFirst() else { continue }
                if let key = named(final, String(decoding: parameters, as: UTF8.self)) { keys.append(key) }
            case 0x03: keys.append(.interrupt)
            case 0x09: keys.append(.tab)
            case 0x0A, 0x0D: keys.append(.enter)
            case 0x08, 0x7F: keys.append(.backspace)
            case 0x20..<0x7F: keys.append(.letter(Character(UnicodeScalar(byte))))
            case 0xC2...0xF4:
                let length = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3
                let text = String(decoding: [byte] + rest.prefix(length), as: UTF8.self)
                rest = rest.dropFirst(length)
                if let letter = text.first, letter != "\u{FFFD}" { keys.append(.letter(letter)) }
            default: break
            }
        }
        return keys
    }

    private static func named(_ final: UInt8, _ parameters: String) -> TopKey? {
        switch (final, parameters) {
        case (UInt8(ascii: "A"), _): .up
        case (UInt8(ascii: "B"), _): .down
        case (UInt8(ascii: "C"), _): .right
        case (UInt8(ascii: "D"), _): .left
        case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): .home
        case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): .end
        case (UInt8(ascii: "~"), "5"): .pageUp
        case (UInt8(ascii: "~"), "6"): .pageDown
        default: nil
        }
    }
}
