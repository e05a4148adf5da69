import CommonExpression
import Glibc
import MediatorConfiguration
import MediatorDaemon
import MediatorHost
import StrictJSON
import Testing
import Varlink

@Suite struct `The state that one daemon leaves to the next` {
    private static let time = moment("2026-11-22T04:05:06.789012345Z")

    private static func moment(_ text: String) -> Timestamp {
        guard let time = Timestamp(rfc3339: text) else { preconditionFailure("\(text) is no time") }
        return time
    }

    private static func span(_ seconds: Int64, _ nanoseconds: Int32 = 0) -> TimeSpan {
        guard let span = TimeSpan(seconds: seconds, nanoseconds: nanoseconds) else { preconditionFailure() }
        return span
    }

    private static let point = StructureType(
        name: "", fields: [.init(name: "x", type: .int), .init(name: "y", type: .optional(.double))])

    /// Every type, with values at its edges.
    private static let values: [(type: ValueType, value: Value)] = [
        (.null, .null), (.bool, .bool(true)), (.int, .int(.min)), (.int, .int(.max)), (.uint, .uint(.max)),
        (.double, .double(0.1)), (.double, .double(-0.0)), (.double, .double(1e300)), (.double, .double(.infinity)),
        (.double, .double(3)), (.string, .string("")), (.string, .string("a\u{0}\n\"\\ä\u{1F600}")),
        (.bytes, .bytes([0, 255, 10])), (.timestamp, .timestamp(time)),
        (.duration, .duration(span(1, 500_000_001))),
        (.duration, .duration(span(-7200))),
        (.list(.int), .list([])), (.list(.int), .list([.int(1), .int(2)])),
        (.map(key: .string, value: .list(.uint)), .map([.string("a"): .list([.uint(1)]), .string(""): .list([])])),
        (.map(key: .int, value: .bool), .map([.int(-1): .bool(false)])),
        (.optional(.string), .optional(nil)), (.optional(.string), .optional(.string("a"))),
        (.optional(.optional(.int)), .optional(.optional(nil))),
        (.structure(point), .structure(Structure(type: point, fields: [.int(1), .optional(.double(2.5))]))),
        (.type, .typeValue(.list(.structure(point)))),
        (.dyn, .null), (.dyn, .int(1)), (.dyn, .double(1)), (.dyn, .list([.int(1), .string("a"), .list([])])),
        (.dyn, .map([.string("a"): .uint(1), .int(1): .null])), (.dyn, .optional(.bytes([1]))),
        (.dyn, .structure(Structure(type: point, fields: [.int(1), .optional(nil)]))),
        (.list(.dyn), .list([.timestamp(time), .typeValue(.int)])),
    ]

    private static func everything() -> HostState {
        var state = HostState()
        for (index, each) in values.enumerated() {
            state.buses["bus\(index)"] = HostState.Bus(type: each.type, value: each.value, since: time)
        }
        state.systems["all"] = HostState.System(
            state: StructureType(
                name: "Here", fields: values.enumerated().map { .init(name: "f\($0)", type: $1.type) }),
            fields: values.map(\.value), since: time)
        state.systems["none"] = HostState.System(
            state: StructureType(name: "Nothing", fields: []), fields: [], since: time)
        return state
    }

    @Test func `is read as it was written, whatever its types and values`() throws {
        let state = Self.everything()
        let time = Self.time
        let (bytes, left) = try StateSnapshot.encode(state, at: time)
        #expect(left == [])
        let read = try StateSnapshot.decode(bytes)
        #expect(read.systems.keys.sorted() == ["all", "none"])
        for (name, bus) in state.buses {
            #expect(read.buses[name] == bus, "\(name): \(bus)")
        }
        #expect(read.systems["none"] == state.systems["none"])
        for (index, value) in (read.systems["all"]?.fields ?? []).enumerated() {
            #expect(value == Self.values[index].value)
        }
        #expect(read.systems["all"]?.state == state.systems["all"]?.state)
        #expect(read.buses["bus6"]?.value == .double(0) && "\(read.buses["bus6"]?.value ?? .null)".contains("-"))
    }

    @Test func `looks as the documentation says`() throws {
        let time = Self.moment("2026-11-22T04:05:06Z")
        let state = HostState(
            systems: [
                "speaker": HostState.System(
                    state: StructureType(name: "Playing", fields: [.init(name: "volume", type: .int)]),
                    fields: [.int(12)],
                    since: time)
            ], buses: ["disk.status": HostState.Bus(type: .string, value: .string("filling"), since: time)])
        let (bytes, _) = try StateSnapshot.encode(state, at: time)
        let expected = try JSONValue(
            parsing: """
                {"format":"io.mediatord.state","version":1,"time":"2026-11-22T04:05:06Z",
                 "systems":{"speaker":{"state":"Playing","since":"2026-11-22T04:05:06Z",
                   "fields":[{"name":"volume","type":"int","value":12}]}},
                 "buses":{"disk.status":{"type":"string","value":"filling","since":"2026-11-22T04:05:06Z"}}}
                """)
        #expect(try JSONValue(parsing: String(decoding: bytes, as: UTF8.self)) == expected)
    }

    @Test func `keeps the details of its parts, and has no keys for those that are unknown`() throws {
        var state = Self.everything()
        let plain = try StateSnapshot.encode(state, at: Self.time).bytes
        for key in ["epoch", "serial", "heard", "entered"] {
            #expect(!String(decoding: plain, as: UTF8.self).contains("\"\(key)\":"))
        }
        #expect(try StateSnapshot.decode(plain).systemDetails == [:])
        state.systemDetails["all"] = SavedDetails(
            epoch: 1 << 32 | 7, serial: 3, heard: ["link": .init(link: "f", since: Self.time, serial: 9)],
            entered: .init(boot: "b", time: Self.span(5)))
        state.busDetails["bus0"] = SavedDetails(epoch: .max)
        let read = try StateSnapshot.decode(StateSnapshot.encode(state, at: Self.time).bytes)
        #expect(read.systemDetails == state.systemDetails)
        #expect(read.busDetails == state.busDetails)
        #expect(read.buses == state.buses)
    }

    @Test func `is refused with the name of the part that is wrong`() throws {
        let text =
            #"{"format":"io.mediatord.state","version":1,"systems":{},"buses":"#
            + #"{"door":{"type":"int","value":1,"since":"2026-11-22T04:05:06Z","epoch":7}}}"#
        #expect(throws: PartCoder.Flaw(description: "its 'door' is invalid: its 'epoch' is invalid")) {
            try StateSnapshot.decode(Array(text.utf8))
        }
    }

    @Test func `is refused if a map has a key twice`() throws {
        let bus = HostState.Bus(
            type: .map(key: .string, value: .int), value: .map([.string("a"): .int(1)]), since: Self.time)
        let (bytes, _) = try StateSnapshot.encode(HostState(systems: [:], buses: ["b": bus]), at: Self.time)
        let text = String(decoding: bytes, as: UTF8.self)
        let doubled = text.replacing(#"["a",1]"#, with: #"["a",1],["a",2]"#)
        #expect(doubled != text)
        #expect(try StateSnapshot.decode(bytes).buses["b"] == bus)
        #expect(throws: (any Error).self) { try StateSnapshot.decode(Array(doubled.utf8)) }
    }

    @Test func `leaves out what is nested too deep, and keeps the rest`() throws {
        let time = Self.time
        var (type, value) = (ValueType.int, Value.int(1))
        for _ in 0..<StateSnapshot.deepest { (type, value) = (.list(type), .list([value])) }
        var deep = Value.int(1)
        for _ in 0..<StateSnapshot.deepest { deep = .list([deep]) }
        let state = HostState(
            systems: [
                "deep": HostState.System(
                    state: StructureType(name: "A", fields: [.init(name: "f", type: type)]), fields: [value],
                    since: time)
            ],
            buses: [
                "any": HostState.Bus(type: .dyn, value: deep, since: time),
                "flat": HostState.Bus(type: .int, value: .int(1), since: time),
            ])
        let (bytes, left) = try StateSnapshot.encode(state, at: time)
        #expect(left == ["any", "deep"])
        #expect(try StateSnapshot.decode(bytes).buses.keys.sorted() == ["flat"])
    }

    @Test func `of the deepest kind is read, too`() throws {
        let time = Self.time
        var deep = Value.int(1)
        var depth = 0
        while true {
            let next = Value.list([.map([.int(1): deep])])
            let state = HostState(buses: ["any": HostState.Bus(type: .dyn, value: next, since: time)])
            let (bytes, left) = try StateSnapshot.encode(state, at: time)
            guard left.isEmpty else { break }
            #expect(try StateSnapshot.decode(bytes) == state)
            deep = next
            depth += 1
        }
        #expect(depth > 2)
    }

    @Test func `too long is none`() throws {
        let time = Self.time
        let text = String(repeating: "a", count: StateSnapshot.largest)
        let state = HostState(buses: ["long": HostState.Bus(type: .string, value: .string(text), since: time)])
        #expect(throws: StateSnapshot.Flaw.self) { _ = try StateSnapshot.encode(state, at: time) }
        #expect(throws: StateSnapshot.Flaw.self) {
            _ = try StateSnapshot.decode([UInt8](repeating: 0x20, count: StateSnapshot.largest + 1))
        }
    }

    @Test(arguments: [
        "", "{", "null", "[]", "{}", "\"io.mediatord.state\"", #"{"format":"io.mediatord.state"}"#,
        #"{"format":"io.mediatord.state","version":2,"systems":{},"buses":{}}"#,
        #"{"format":"io.mediatord.state","version":"1","systems":{},"buses":{}}"#,
        #"{"format":"another","version":1,"systems":{},"buses":{}}"#,
        #"{"format":"io.mediatord.state","version":1,"systems":{}}"#,
        #"{"format":"io.mediatord.state","version":1,"systems":[],"buses":{}}"#,
        #"{"format":"io.mediatord.state","version":1,"systems":{"a":{}},"buses":{}}"#,
        #"{"format":"io.mediatord.state","version":1,"systems":{},"buses":{"a":{"type":"int","value":"1","since":"2026-11-22T04:05:06Z"}}}"#,
        #"{"format":"io.mediatord.state","version":1,"systems":{},"buses":{"a":{"type":"number","value":1,"since":"2026-11-22T04:05:06Z"}}}"#,
        #"{"format":"io.mediatord.state","version":1,"systems":{},"buses":{"a":{"type":"int","value":1,"since":"yesterday"}}}"#,
        #"{"format":"io.mediatord.state","version":1,"systems":{},"buses":{"a":{"type":{"list":"int"},"value":[1,"2"],"since":"2026-11-22T04:05:06Z"}}}"#,
        #"{"format":"io.mediatord.state","version":1,"systems":{},"buses":{"a":{"type":{"optional":"int"},"value":[1,2],"since":"2026-11-22T04:05:06Z"}}}"#,
    ])
    func `is refused where it is not as it is to be`(text: String) {
        #expect(throws: StateSnapshot.Flaw.self) { _ = try StateSnapshot.decode(Array(text.utf8)) }
    }

    @Test func `is refused, or read, and nothing worse, when bytes of it have changed`() throws {
        let (bytes, _) = try StateSnapshot.encode(Self.everything(), at: Self.time)
        var random = SystemRandomNumberGenerator()
        for _ in 0..<3_000 {
            var broken = bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: broken.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: broken[place] = UInt8.random(in: .min ... .max, using: &random)
                case 1: broken.remove(at: place)
                default: broken.insert(broken[Int.random(in: broken.indices, using: &random)], at: place)
                }
            }
            guard let state = try? StateSnapshot.decode(broken) else { continue }
            for bus in state.buses.values { #expect(bus.type.accepts(bus.value)) }
        }
    }

    @Test func `travels in a file that cannot be changed, and in no other`() throws {
        let file = try SealedFile.make(Array("abc".utf8))
        defer { close(file) }
        #expect(try SealedFile.read(file, limit: 3) == Array("abc".utf8))
        #expect(pwrite(file, "x", 1, 0) == -1)
        #expect(ftruncate(file, 0) == -1)
        #expect(throws: SealedFile.Failure.self) { _ = try SealedFile.read(file, limit: 2) }
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(null) }
        #expect(throws: SealedFile.Failure.self) { _ = try SealedFile.read(null, limit: 10) }
        #expect(throws: SealedFile.Failure.self) { _ = try SealedFile.read(-1, limit: 10) }
    }
}

@Suite struct `What the service manager passes to the daemon` {
    private func passed(_ names: String) throws -> Inheritance {
        let count = names.split(separator: ":").count
        // Numbers that no descriptor of the test has, since what nobody needs is closed.
        let environment = ["LISTEN_FDS": "\(count)", "LISTEN_PID": "7", "LISTEN_FDNAMES": names]
        return try Inheritance(ActivationSockets(environment: { environment[$0] }, processID: 7))
    }

    @Test func `is told apart by its names`() throws {
        let all = try passed("state:mediatord.socket:control")
        #expect(all.state == 3 && all.activated == 4 && all.kept == 5 && all.unused == [])
        let kept = try passed("control:state")
        #expect(kept.kept == 3 && kept.state == 4 && kept.activated == nil)
        let nothing = Inheritance()
        #expect(nothing.kept == nil && nothing.state == nil && nothing.activated == nil && nothing.activatedPath == nil)
    }

    @Test func `is refused where it is not clear what is the control socket`() {
        #expect(throws: VarlinkError.self) { _ = try passed("one:two") }
    }
}
