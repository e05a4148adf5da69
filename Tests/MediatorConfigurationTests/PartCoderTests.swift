import CommonExpression
import MediatorConfiguration
import Testing

/// Random types, values of these types, and parts.
private struct RandomParts {
    var random: Random

    init(seed: UInt64) { random = Random(state: seed) }

    mutating func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

    mutating func text() -> String {
        let pieces = ["", "a", "\u{0}", "\"", "\\", "ä", "\u{1F600}", "\n", "since", "\u{202E}"]
        return (0..<number(below: 4)).map { _ in pieces[number(below: pieces.count)] }.joined()
    }

    mutating func time() -> Timestamp {
        let second = Int64.random(in: Timestamp.firstSecond...Timestamp.lastSecond, using: &random)
        guard let time = Timestamp(seconds: second, nanoseconds: Int32(number(below: 1_000_000_000))) else {
            preconditionFailure("\(second) is in the range")
        }
        return time
    }

    mutating func span() -> TimeSpan {
        guard let span = TimeSpan(.nanoseconds(Int64.random(in: .min ... .max, using: &random))) else {
            preconditionFailure("300 years are in the range")
        }
        return span
    }

    mutating func structure(_ depth: Int) -> StructureType {
        StructureType(
            name: text(), fields: (0..<number(below: 4)).map { .init(name: "f\($0)", type: type(depth)) })
    }

    mutating func type(_ depth: Int) -> ValueType {
        let plain: [ValueType] = [
            .null, .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration, .type,
        ]
        guard depth > 0 else { return plain[number(below: plain.count)] }
        return switch number(below: 8) {
        case 0: .list(type(depth - 1))
        case 1: .optional(type(depth - 1))
        case 2: .map(key: [.bool, .int, .uint, .string][number(below: 4)], value: type(depth - 1))
        case 3: .structure(structure(depth - 1))
        case 4: .dyn
        default: plain[number(below: plain.count)]
        }
    }

    mutating func value(of type: ValueType, _ depth: Int) -> Value {
        switch type {
        case .null: .null
        case .bool: .bool(.random(using: &random))
        case .int: .int(.random(in: .min ... .max, using: &random))
        case .uint: .uint(random.next())
        case .double: .double([0, -0.5, .infinity, 1e300, .leastNonzeroMagnitude][number(below: 5)])
        case .string: .string(text())
        case .bytes: .bytes((0..<number(below: 4)).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        case .timestamp: .timestamp(time())
        case .duration: .duration(span())
        case .type: .typeValue(self.type(depth))
        case .list(let element): .list((0..<number(below: 3)).map { _ in value(of: element, depth - 1) })
        case .optional(let wrapped): .optional(number(below: 2) == 0 ? nil : value(of: wrapped, depth - 1))
        case .map(let key, let element):
            .map(
                Dictionary(
                    (0..<number(below: 3)).map { _ in (value(of: key, 0), value(of: element, depth - 1)) },
                    uniquingKeysWith: { $1 }))
        case .structure(let structure):
            .structure(Structure(type: structure, fields: structure.fields.map { value(of: $0.type, depth - 1) }))
        case .dyn: dynamic(depth)
        }
    }

    /// Returns a value whose type does not tell the types of its elements.
    mutating func dynamic(_ depth: Int) -> Value {
        switch depth > 0 ? number(below: 5) : 4 {
        case 0: .list((0..<number(below: 3)).map { _ in dynamic(depth - 1) })
        case 1: .optional(dynamic(depth - 1))
        case 2: .map([.int(1): dynamic(depth - 1), .string("a"): dynamic(depth - 1)])
        default: value(of: type(0), 0)
        }
    }

    mutating func number() -> UInt64? { [nil, 0, .max, random.next()][number(below: 4)] }

    mutating func details() -> SavedDetails {
        var details = SavedDetails(epoch: number(), serial: number())
        for _ in 0..<number(below: 3) {
            details.heard[text()] = .init(link: text(), since: time(), serial: random.next(), output: number())
        }
        if number(below: 2) == 0 { details.entered = .init(boot: text(), time: span()) }
        return details
    }

    mutating func system() -> SavedPart<SavedSystem> {
        let state = structure(4)
        let fields = state.fields.map { value(of: $0.type, 4) }
        return SavedPart(SavedSystem(state: state, fields: fields, since: time()), details())
    }

    mutating func bus() -> SavedPart<SavedBus> {
        let type = type(4)
        return SavedPart(SavedBus(type: type, value: value(of: type, 4), since: time()), details())
    }
}

@Suite struct `The text of one saved part` {
    private func decodeSystem(_ text: String) throws -> SavedPart<SavedSystem> {
        try PartCoder.decode(Array(text.utf8))
    }

    private func decodeBus(_ text: String) throws -> SavedPart<SavedBus> { try PartCoder.decode(Array(text.utf8)) }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `is read as it was written`(seed: UInt64) throws {
        var parts = RandomParts(seed: seed)
        let (system, bus) = (parts.system(), parts.bus())
        #expect(try PartCoder.decode(PartCoder.encode(system)) == system)
        #expect(try PartCoder.decode(PartCoder.encode(bus)) == bus)
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `is refused wherever it is cut`(seed: UInt64) throws {
        var parts = RandomParts(seed: seed)
        let (system, bus) = (try PartCoder.encode(parts.system()), try PartCoder.encode(parts.bus()))
        for length in system.indices {
            #expect(throws: PartCoder.Flaw.self) {
                try PartCoder.decode(Array(system[..<length]), as: SavedSystem.self)
            }
        }
        for length in bus.indices {
            #expect(throws: PartCoder.Flaw.self) { try PartCoder.decode(Array(bus[..<length]), as: SavedBus.self) }
        }
    }

    @Test func `is refused with the name of the member that is wrong`() throws {
        let time = #""since":"2026-11-22T04:05:06Z""#
        let systems = [
            (#"{}"#, "fields"), (#"{"fields":{},"state":"A",\#(time)}"#, "fields"),
            (#"{"fields":[],"state":1,\#(time)}"#, "state"), (#"{"fields":[],"state":"A"}"#, "since"),
            (#"{"fields":[],"state":"A","since":1}"#, "since"),
            (#"{"fields":[1],"state":"A",\#(time)}"#, "type"),
            (#"{"fields":[{"type":"int","value":1}],"state":"A",\#(time)}"#, "name"),
            (#"{"fields":[{"name":"f","type":"number","value":1}],"state":"A",\#(time)}"#, "type"),
            (#"{"fields":[{"name":"f","type":"int"}],"state":"A",\#(time)}"#, "value"),
            (#"{"fields":[{"name":"f","type":"int","value":"1"}],"state":"A",\#(time)}"#, "value"),
        ]
        for (text, name) in systems {
            #expect(throws: PartCoder.Flaw.wrong(name), "\(text)") { try decodeSystem(text) }
        }
        let buses = [
            (#"{"value":1,\#(time)}"#, "type"), (#"{"type":"int",\#(time)}"#, "value"),
            (#"{"type":{"list":"int"},"value":[1,"2"],\#(time)}"#, "value"),
            (#"{"type":{"key":"int"},"value":[],\#(time)}"#, "type"),
            (#"{"type":"dyn","value":1,\#(time)}"#, "value"), (#"{"type":"int","value":1}"#, "since"),
            (#"{"type":"bytes","value":[256],\#(time)}"#, "value"),
        ]
        let details = [
            (#""epoch":1"#, "epoch"), (#""epoch":null"#, "epoch"), (#""epoch":"-1""#, "epoch"),
            (#""epoch":"18446744073709551616""#, "epoch"), (#""serial":"x""#, "serial"), (#""heard":[]"#, "heard"),
            (#""heard":{"l":{}}"#, "heard"), (#""heard":{"l":{"since":"now"}}"#, "heard"),
            (#""heard":{"l":{\#(time),"serial":1}}"#, "heard"), (#""entered":{"time":"1s"}"#, "entered"),
            (#""entered":{"boot":"b"}"#, "entered"), (#""entered":{"boot":"b","time":"soon"}"#, "entered"),
        ]
        for (text, name) in details {
            #expect(throws: PartCoder.Flaw.wrong(name), "\(text)") {
                try decodeBus(#"{"type":"int","value":1,\#(time),\#(text)}"#)
            }
        }
        for (text, name) in buses {
            #expect(throws: PartCoder.Flaw.wrong(name), "\(text)") { try decodeBus(text) }
        }
        for text in ["", "1", "null", "[]", "{"] {
            #expect(throws: PartCoder.Flaw.self) { try decodeBus(text) }
        }
        #expect(throws: PartCoder.Flaw.self, "a bus is not a system") {
            try decodeSystem(#"{"type":"int","value":1,\#(time)}"#)
        }
    }

    @Test func `has types and values at most 24 levels deep, in both directions`() throws {
        let time = try #require(Timestamp(rfc3339: "2026-11-22T04:05:06Z"))
        func text(_ levels: Int) -> String {
            let type =
                String(repeating: #"{"list":"#, count: levels) + #""int""# + String(repeating: "}", count: levels)
            let value = String(repeating: "[", count: levels) + "1" + String(repeating: "]", count: levels)
            return #"{"type":\#(type),"value":\#(value),"since":"\#(time)"}"#
        }
        var bus = SavedBus(type: .int, value: .int(1), since: time)
        for levels in 0..<PartCoder.deepest {
            #expect(try decodeBus(text(levels)) == SavedPart(bus))
            #expect(try PartCoder.decode(PartCoder.encode(SavedPart(bus))) == SavedPart(bus))
            bus.type = .list(bus.type)
            bus.value = .list([bus.value])
        }
        #expect(throws: PartCoder.Flaw.self) { try PartCoder.encode(SavedPart(bus)) }
        for levels in [PartCoder.deepest, 60, 100_000] {
            #expect(throws: PartCoder.Flaw.self) { try decodeBus(text(levels)) }
        }
    }

    @Test func `is bounded`() throws {
        let time = try #require(Timestamp(rfc3339: "2026-11-22T04:05:06Z"))
        let long = String(repeating: "a", count: PartCoder.largest)
        #expect(throws: PartCoder.Flaw.self) {
            try PartCoder.encode(SavedPart(SavedBus(type: .string, value: .string(long), since: time)))
        }
        #expect(throws: PartCoder.Flaw.self) {
            try decodeBus(#"{"type":"string","value":"\#(long)","since":"\#(time)"}"#)
        }
    }

    @Test func `without the details has none, and other members are ignored`() throws {
        let time = try #require(Timestamp(rfc3339: "2026-11-22T04:05:06Z"))
        let old = #""type":"int","value":1,"since":"\#(time)""#
        let part = SavedPart(SavedBus(type: .int, value: .int(1), since: time))
        #expect(try decodeBus("{\(old)}") == part)
        #expect(try decodeBus(#"{\#(old),"later":{"a":[null]},"heard":{}}"#) == part)
        let text = String(decoding: try PartCoder.encode(part), as: UTF8.self)
        #expect(text == #"{"since":"2026-11-22T04:05:06Z","type":"int","value":1}"#)
    }
}

@Suite struct `The newer one of a stored and an inherited part` {
    /// A part of an epoch and a serial, entered at a second.
    private func part(_ epoch: UInt64?, _ serial: UInt64?, since second: Int64, _ value: Int64) throws -> SavedPart<
        SavedBus
    > {
        let time = try #require(Timestamp(seconds: second, nanoseconds: 0))
        return SavedPart(
            SavedBus(type: .int, value: .int(value), since: time), SavedDetails(epoch: epoch, serial: serial))
    }

    @Test func `is the one that exists`() throws {
        let only = try part(nil, nil, since: 1, 1)
        #expect(SavedPart.newer(stored: only, inherited: nil) == only)
        #expect(SavedPart.newer(stored: nil, inherited: only) == only)
        #expect(SavedPart<SavedBus>.newer(stored: nil, inherited: nil) == nil)
    }

    /// Epoch, serial and `since` of the stored part, then those of the inherited one, and whether the inherited one is newer.
    private static let table: [((UInt64?, UInt64?, Int64), (UInt64?, UInt64?, Int64), Bool)] = [
        // A higher epoch wins over serial and time.
        ((2, 1, 1), (1, 9, 9), false), ((1, 9, 9), (2, 1, 1), true), ((1, 9, 9), (2, nil, 1), true),
        // Within an epoch the serial decides, whatever the clock says.
        ((1, 2, 1), (1, 1, 9), false), ((1, 1, 9), (1, 2, 1), true), ((1, 1, 1), (1, nil, 9), false),
        ((1, nil, 9), (1, 1, 1), true),
        // The end of an incarnation is not before its last write.
        ((1, 1, 1), (1, 1, 1), true), ((1, nil, 1), (1, nil, 1), true),
        // Without an epoch the time decides. A process that began with the inherited part has stored the same time.
        ((1, 1, 1), (nil, nil, 2), true), ((1, 1, 2), (nil, nil, 1), false), ((1, 1, 1), (nil, nil, 1), false),
        ((nil, nil, 2), (1, 1, 1), false), ((nil, 5, 1), (nil, 1, 2), true),
    ]

    @Test(arguments: table.indices) func `is decided by epoch, serial and time`(row: Int) throws {
        let (stored, inherited, isInherited) = Self.table[row]
        let left = try part(stored.0, stored.1, since: stored.2, 1)
        let right = try part(inherited.0, inherited.1, since: inherited.2, 2)
        #expect(SavedPart.newer(stored: left, inherited: right) == (isInherited ? right : left))
    }
}
