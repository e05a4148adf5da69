import Glibc
import Logging
import Systemd
import Testing

@Suite
struct `Line writer` {
    @Test
    func `Lines of many tasks stay whole`() async throws {
        let file = try TemporaryFile()
        let writer = LineWriter(descriptor: file.descriptor)
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask { for _ in 0..<50 { writer.write(String(repeating: "\(task)", count: 9_000) + "\n") } }
            }
        }
        let lines = try file.contents().split(separator: "\n")
        #expect(lines.count == 400)
        #expect(lines.allSatisfy { Set($0).count == 1 && $0.count == 9_000 })
        #expect(writer.lostLines == 0)
    }

    @Test
    func `A closed reader costs lines, not the process`() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            let writer = LineWriter(descriptor: ends[1])
            close(ends[0])
            for _ in 0..<3 { writer.write("line\n") }
            #expect(writer.lostLines == 3)
            // The signal is neither pending nor blocked.
            var signals = sigset_t()
            sigpending(&signals)
            #expect(sigismember(&signals, SIGPIPE) == 0)
            pthread_sigmask(SIG_BLOCK, nil, &signals)
            #expect(sigismember(&signals, SIGPIPE) == 0)
        }
    }

    @Test
    func `A closed descriptor costs lines, not the process`() {
        let writer = LineWriter(descriptor: -1)
        writer.write("line\n")
        #expect(writer.lostLines == 1)
    }

    @Test
    func `A full pipe costs lines, and the line after a cut one begins on a new line`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        try #require(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
        // F_GETPIPE_SZ of <fcntl.h>, which Glibc's module does not show.
        let capacity = Int(fcntl(ends[1], 1032))
        let writer = LineWriter(descriptor: ends[1])
        writer.write(String(repeating: "a", count: capacity + 1) + "\n")
        #expect(writer.lostLines == 1)
        var buffer = [UInt8](repeating: 0, count: capacity)
        #expect(read(ends[0], &buffer, capacity) == capacity)
        writer.write("next\n")
        #expect(read(ends[0], &buffer, capacity) == 6)
        #expect(String(decoding: buffer.prefix(6), as: UTF8.self) == "\nnext\n")
        #expect(writer.lostLines == 1)
    }
}

@Suite
struct `Standard error log handler` {
    @Test
    func `It reports the number of lost lines when there is room again`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        try #require(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
        let writer = LineWriter(descriptor: ends[1])
        let logger = Logger(label: "test") { _ in
            StandardErrorLogHandler(
                writer: writer, format: .journal, journal: JournalSocket(path: "/nowhere"), now: { .zero })
        }
        // F_GETPIPE_SZ of <fcntl.h>, which Glibc's module does not show.
        let capacity = Int(fcntl(ends[1], 1032))
        while writer.lostLines < 3 { logger.info("\(String(repeating: "a", count: 4_000))") }
        var buffer = [UInt8](repeating: 0, count: capacity)
        #expect(read(ends[0], &buffer, capacity) > 0)
        logger.info("There is room")
        logger.info("And more")
        let count = read(ends[0], &buffer, capacity)
        let text = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        #expect(
            text.drop { $0 == "\n" }
                == "<4>3 log lines could not be written and are lost\n<6>There is room\n<6>And more\n")
    }

    @Test
    func `It writes lines of sufficient level, with the keys of all sources`() throws {
        let file = try TemporaryFile()
        var logger = Logger(label: "test") { _ in
            StandardErrorLogHandler(
                level: .notice, writer: LineWriter(descriptor: file.descriptor), format: .file,
                metadataProvider: Logger.MetadataProvider { ["provided": "1", "both": "provided"] },
                now: { .seconds(1_735_787_045) })
        }
        logger[metadataKey: "own"] = "2"
        logger[metadataKey: "both"] = "own"
        #expect(logger[metadataKey: "own"] == "2")
        logger.info("Not this")
        logger.notice("This")
        logger.error("And this", metadata: ["both": "event"])
        #expect(
            try file.contents() == """
                2025-01-02T03:04:05.000Z notice This  both=provided own=2 provided=1
                2025-01-02T03:04:05.000Z error And this  both=event own=2 provided=1

                """)
    }

    /// Logs with a handler whose journal listens at a path. Returns the printed lines.
    private func logged(
        _ format: LogFormat, _ socket: String, _ metadata: Logger.Metadata
    ) throws -> String {
        let file = try TemporaryFile()
        var logger = Logger(label: "test") { _ in
            StandardErrorLogHandler(
                writer: LineWriter(descriptor: file.descriptor), format: format, journal: JournalSocket(path: socket),
                now: { .zero })
        }
        logger[metadataKey: "system"] = "backup"
        logger[metadataKey: "feedback"] = "tell"
        logger.warning("It is done", metadata: metadata)
        return try file.contents()
    }

    @Test
    func `Separate fields are in the journal`() throws {
        let socket = try NotifySocket()
        let fields = JournalFields(["share": "photos", "Text": "two\nlines"])
        #expect(try logged(.journal, socket.path, [JournalFields.key: .stringConvertible(fields)]) == "")
        let lines = try socket.receive()
        let name = CommandLine.arguments[0].split(separator: "/").last ?? ""
        #expect(
            lines == """
                MESSAGE=It is done  Text="two\\nlines" feedback=tell share=photos system=backup
                PRIORITY=4
                SYSLOG_IDENTIFIER=\(name)
                MEDIATOR_FEEDBACK=tell
                MEDIATOR_SYSTEM=backup
                TEXT
                \u{9}\0\0\0\0\0\0\0two
                lines
                SHARE=photos

                """)
    }

    @Test
    func `Elsewhere, and without a journal, fields are printed`() throws {
        let metadata: Logger.Metadata = [JournalFields.key: .stringConvertible(JournalFields(["share": "all photos"]))]
        let text = "It is done  feedback=tell share=\"all photos\" system=backup\n"
        #expect(try logged(.journal, "/nowhere/at/all", metadata) == "<4>\(text)")
        #expect(try logged(.journal, String(repeating: "x", count: 200), metadata) == "<4>\(text)")
        #expect(try logged(.file, "/nowhere", metadata) == "1970-01-01T00:00:00.000Z warning \(text)")
    }

    @Test
    func `An error is printed with its line`() throws {
        let file = try TemporaryFile()
        let handler = StandardErrorLogHandler(
            writer: LineWriter(descriptor: file.descriptor), format: .journal,
            journal: JournalSocket(path: "/nowhere"))
        handler.log(
            event: LogEvent(
                level: .error, message: "It failed", error: SocketError(errno: 2), metadata: nil, source: nil,
                file: "", function: "", line: 0))
        #expect(try file.contents() == "<3>It failed  error=\"SocketError(errno: 2)\"\n")
    }
}

/// A file without a name, open for reading and writing.
private final class TemporaryFile: Sendable {
    let descriptor: Int32

    init() throws {
        var template = Array("/tmp/lines-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw SocketError(errno: errno) }
        unlink(template)
    }

    func contents() throws -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = pread(descriptor, &buffer, buffer.count, bytes.count)
            guard count >= 0 else { throw SocketError(errno: errno) }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer.prefix(count)
        }
    }

    deinit { close(descriptor) }
}

@Suite
struct `Log level switch` {
    @Test
    func `It changes the level of every logger that shares it, and resets it`() throws {
        let file = try TemporaryFile()
        let levels = LogLevelSwitch(.notice)
        let logger = Logger(label: "test") { _ in
            StandardErrorLogHandler(
                levels: levels, writer: LineWriter(descriptor: file.descriptor), format: .journal,
                journal: JournalSocket(path: "/nowhere"), now: { .zero })
        }
        var own = logger
        logger.info("Not this")
        #expect(levels.set(.debug) == .notice)
        #expect(levels.get() == .debug && logger.logLevel == .debug)
        logger.debug("This")
        // A level that was set separately stays separate.
        own.logLevel = .error
        own.warning("Not this either")
        #expect(levels.reset() == .debug)
        #expect(levels.initial == .notice)
        logger.info("Nor this")
        logger.notice("And this")
        #expect(try file.contents() == "<7>This\n<5>And this\n")
        for level in Logger.Level.allCases {
            levels.set(level)
            #expect(levels.get() == level)
        }
    }
}
