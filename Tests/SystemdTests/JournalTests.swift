import Glibc
import Logging
import Testing
import TestSupport

@testable import Systemd

@Suite
struct `Journal entries` {
    /// The ID of a message.
    static let id = "0123456789abcdef0123456789abcdef"

    private func logger(_ format: LogFormat, _ journal: JournalSocket, _ descriptor: Int32 = -1) -> Logger {
        Logger(label: "test") { _ in
            StandardErrorLogHandler(
                level: .debug, writer: LineWriter(descriptor: descriptor), format: format, journal: journal,
                detailsKey: "journal", lossID: Self.id, now: { .zero })
        }
    }

    @Test
    func `A line has fields for its metadata, its location and its subject`() throws {
        let socket = try NotifySocket()
        var logger = logger(.journal, JournalSocket(path: socket.path))
        logger[metadataKey: "system"] = "uplink@eth0"
        logger[metadataKey: "journal"] = ["state": "Up", "cause": "start"]
        let line = #line + 1
        logger.error(
            "It broke",
            metadata: [
                "link-source": "a b.yaml:3", "count": "7", "list": ["one", "two"], "none": "",
                "journal": ["message-id": .string(Self.id), "cause": "uplink@eth0/2026-01-02T03:04:05Z"],
            ])
        let name = CommandLine.arguments[0].split(separator: "/").last ?? ""
        #expect(
            try socket.receive() == """
                MESSAGE=It broke  count=7 link-source="a b.yaml:3" list=[one, two] none="" system=uplink@eth0
                PRIORITY=3
                SYSLOG_IDENTIFIER=\(name)
                CODE_FILE=SystemdTests/JournalTests.swift
                CODE_LINE=\(line)
                CODE_FUNC=\(#function)
                MESSAGE_ID=\(Self.id)
                MEDIATOR_CAUSE=uplink@eth0/2026-01-02T03:04:05Z
                MEDIATOR_COUNT=7
                MEDIATOR_LINK_SOURCE=a b.yaml:3
                MEDIATOR_LIST=[one, two]
                MEDIATOR_STATE=Up
                MEDIATOR_SYSTEM=uplink@eth0

                """)
    }

    @Test(arguments: zip(Logger.Level.allCases, [7, 7, 6, 5, 4, 3, 2]))
    func `The priority follows the level`(level: Logger.Level, priority: Int) {
        #expect(JournalRecord(message: "m", level: level).fields.contains { $0 == ("PRIORITY", "\(priority)") })
    }

    @Test
    func `Details for the journal are printed nowhere, not even without a journal`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let metadata: Logger.Metadata = [
            "key": "value", "journal": ["message-id": .string(Self.id), "cause": "start"],
        ]
        logger(.journal, JournalSocket(path: "/nowhere"), ends[1]).info("Said", metadata: metadata)
        logger(.file, JournalSocket(path: "/nowhere"), ends[1]).info("Said", metadata: metadata)
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &buffer, buffer.count)
        #expect(
            String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
                == "<6>Said  key=value\n1970-01-01T00:00:00.000Z info Said  key=value\n")
    }

    @Test
    func `An invalid message ID is neither an ID nor a field`() {
        for text in ["", "0123", Self.id + "0", Self.id.uppercased(), "g" + Self.id.dropFirst()] {
            let entry = JournalRecord(message: "m", level: .info, metadata: ["message-id": .string(text)])
            #expect(entry.fields.map(\.name) == ["MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER"])
        }
    }

    @Test
    func `Fields have names that the journal accepts`() {
        #expect(JournalRecord.name(of: "system") == "MEDIATOR_SYSTEM")
        #expect(JournalRecord.name(of: "denied-warnings") == "MEDIATOR_DENIED_WARNINGS")
        #expect(JournalRecord.name(of: "größe 2=3\n") == "MEDIATOR_GR_SSE_2_3_")
        for key in ["größe", "a=b", "x\ny", "", "_", String(repeating: "long", count: 40), "\u{0}", "日本"] {
            #expect(JournalFields.isName(JournalRecord.name(of: key)), "\(key)")
        }
        // Two keys with the same field name give one field.
        let entry = JournalRecord(message: "m", level: .info, metadata: ["a-b": "1", "a_b": "2"])
        #expect(entry.fields.dropFirst(3).map { "\($0.name)=\($0.value)" } == ["MEDIATOR_A_B=1"])
    }

    @Test
    func `An entry is bounded, however much metadata it has`() {
        let long = JournalRecord(
            message: String(repeating: "ü", count: 20_000), level: .info,
            metadata: ["a": .string(String(repeating: "é", count: 4_000)), "b": .string("two\nlines")])
        #expect(long.fields[0].value.utf8.count <= LogFormat.lineLimit && long.fields[0].value.hasSuffix("ü…"))
        #expect(long.fields[3].value.utf8.count <= JournalRecord.valueLimit && long.fields[3].value.hasSuffix("é…"))
        #expect(long.fields[4].value == "two\nlines")
        let many = Dictionary(uniqueKeysWithValues: (0..<1_000).map { ("key\($0)", Logger.MetadataValue.string("v")) })
        #expect(
            JournalRecord(message: "m", level: .info, metadata: many).fields.count == 3 + JournalRecord.limits.fields)
        let large = many.mapValues { _ in Logger.MetadataValue.string(String(repeating: "v", count: 4_000)) }
        let bytes = JournalRecord(message: "m", level: .info, metadata: large).fields.dropFirst(3).reduce(0) {
            $0 + $1.name.utf8.count + $1.value.utf8.count
        }
        #expect((60_000...JournalRecord.limits.bytes).contains(bytes))
    }

    @Test
    func `The largest entry fits into a datagram`() throws {
        let socket = try NotifySocket()
        let text = Logger.MetadataValue.string(String(repeating: "v", count: 4_000))
        let metadata = Dictionary(uniqueKeysWithValues: (0..<64).map { ("key\($0)", text) })
        let own = JournalFields(["own": String(repeating: "o", count: 32_768)])
        let entry = JournalRecord(
            message: String(repeating: "m", count: 20_000), level: .info, metadata: metadata, own: own)
        #expect(JournalSocket(path: socket.path).send(entry.fields) == .taken)
        #expect(try socket.receive().utf8.count > 100_000)
    }
}

@Suite
struct `Journal socket` {
    private let fields = [(name: "MESSAGE", value: "said")]

    /// Sends until an entry is lost. Returns the number of accepted entries.
    private func fill(_ journal: JournalSocket) -> Int {
        var count = 0
        while journal.send(fields) == .taken { count += 1 }
        return count
    }

    @Test
    func `A journal that does not read costs one wait, and lost entries are counted and reported`() throws {
        let socket = try NotifySocket()
        let journal = JournalSocket(path: socket.path)
        let begin = ContinuousClock.now
        let taken = fill(journal)
        #expect(taken > 0 && journal.lostEntries == 1)
        #expect(ContinuousClock.now - begin >= .milliseconds(Int(JournalSocket.timeout)))
        // A hundred waits would take ten seconds.
        let second = ContinuousClock.now
        for _ in 0..<99 { #expect(journal.send(fields) == .lost) }
        #expect(ContinuousClock.now - second < .seconds(5))
        #expect(journal.lostEntries == 100)

        for _ in 0..<taken { #expect(try socket.receive() == "MESSAGE=said\n") }
        let notice = { (count: Int) in [(name: "MESSAGE", value: "\(count) lost")] }
        #expect(journal.send(fields, notice: notice) == .taken)
        #expect(try socket.receive() == "MESSAGE=100 lost\n")
        #expect(try socket.receive() == "MESSAGE=said\n")
        #expect(journal.send(fields, notice: notice) == .taken)
        #expect(try socket.receive() == "MESSAGE=said\n")
    }

    @Test
    func `A loss that cannot be reported yet is reported later`() throws {
        let socket = try NotifySocket()
        let journal = JournalSocket(path: socket.path)
        let taken = fill(journal)
        let notice = { (count: Int) in [(name: "MESSAGE", value: "\(count) lost")] }
        // The notice does not fit either, so the entry after it is also lost.
        #expect(journal.send(fields, notice: notice) == .lost)
        for _ in 0..<taken { _ = try socket.receive() }
        #expect(journal.send(fields, notice: notice) == .taken)
        #expect(try socket.receive() == "MESSAGE=2 lost\n")
    }

    @Test
    func `Another journal at the same path receives later entries; without one they are refused`() throws {
        var socket: NotifySocket? = try NotifySocket()
        let path = try #require(socket?.path)
        let journal = JournalSocket(path: path)
        #expect(journal.send(fields) == .taken)
        socket = nil
        #expect(journal.send(fields) == .refused && journal.lostEntries == 0)
        let next = try NotifySocket(at: path)
        #expect(journal.send(fields) == .taken)
        #expect(try next.receive() == "MESSAGE=said\n")
    }

    @Test
    func `Each entry of many threads arrives, in the order of its thread`() throws {
        let socket = try NotifySocket()
        let journal = JournalSocket(path: socket.path)
        for thread in 0..<4 {
            let isStarted = DetachedThread.start {
                for number in 0..<200 {
                    blockThread(until: journal.send([(name: "MESSAGE", value: "\(thread) \(number)")]) == .taken)
                }
            }
            try #require(isStarted)
        }
        var texts: [[String]] = Array(repeating: [], count: 4)
        for _ in 0..<800 {
            let text = try socket.receive().dropFirst("MESSAGE=".count).dropLast()
            let thread = try #require(text.first?.wholeNumberValue)
            texts[thread].append(String(text.dropFirst(2)))
        }
        #expect(texts == Array(repeating: (0..<200).map { "\($0)" }, count: 4))
    }
}
