import Glibc
import Logging
import Systemd
import Testing

@Suite
struct `Log format` {
    /// 2025-01-02T03:04:05.067Z
    private static let time = Duration.seconds(1_735_787_045) + .milliseconds(67)

    @Test(arguments: [
        (LogFormat.terminal(colour: false, localTime: false), "03:04:05 info     Started  system=disk\n"),
        (.terminal(colour: true, localTime: false), "03:04:05 \u{1B}[32minfo    \u{1B}[0m Started  system=disk\n"),
        (.file, "2025-01-02T03:04:05.067Z info Started  system=disk\n"),
        (.journal, "<6>Started  system=disk\n"),
    ])
    func `A line has the format of its destination`(format: LogFormat, line: String) {
        #expect(format.line(time: Self.time, level: .info, message: "Started", metadata: ["system": "disk"]) == line)
    }

    @Test(arguments: [
        ("2025-01-02T04:05:06.239976038Z", "04:05:06"), ("2025-01-02T04:05:06Z", "04:05:06"),
        ("2025-01-03T04:05:06Z", #""2025-01-03 04:05:06""#),
        ("since 2025-01-02T00:00:01Z, more", #""since 00:00:01, more""#),
        ("2025-01-02T04:05:06.Z", "2025-01-02T04:05:06.Z"), ("2025-01-02T04:05:06.12", "2025-01-02T04:05:06.12"),
        ("2025-13-02T04:05:06Z", "2025-13-02T04:05:06Z"), ("AZ-12345678901234567Z", "AZ-12345678901234567Z"),
    ])
    func `On a terminal times are as on the clock`(value: String, shown: String) {
        let format = LogFormat.terminal(colour: false, localTime: false)
        let metadata: Logger.Metadata = ["until": .string(value)]
        #expect(
            format.line(time: Self.time, level: .info, message: "Waits", metadata: metadata)
                == "03:04:05 info     Waits  until=\(shown)\n")
        #expect(
            LogFormat.journal.line(
                time: Self.time, level: .info, message: "m", metadata: ["k": .string("a2025-01-02T04:05:06Z")])
                == "<6>m  k=a2025-01-02T04:05:06Z\n")
    }

    @Test(arguments: [
        (Logger.Level.trace, 7), (.debug, 7), (.info, 6), (.notice, 5), (.warning, 4), (.error, 3), (.critical, 2),
    ])
    func `The journal gets the priority of syslog`(level: Logger.Level, priority: Int) {
        let line = LogFormat.journal.line(time: Self.time, level: level, message: "m", metadata: [:])
        #expect(line == "<\(priority)>m\n")
    }

    @Test(arguments: Logger.Level.allCases)
    func `On a terminal messages are aligned`(level: Logger.Level) {
        let format = LogFormat.terminal(colour: false, localTime: false)
        let line = format.line(time: Self.time, level: level, message: "m", metadata: [:])
        #expect(line.utf8.count == "03:04:05 critical m\n".utf8.count)
        #expect(line.hasSuffix(" m\n"))
    }

    @Test(arguments: [
        ("one\ntwo", #"one\ntwo"#), ("a\r\tb", #"a\r\tb"#), ("\u{1B}[31mred", #"\u{1b}[31mred"#),
        ("grün ▶", "grün ▶"), ("\u{202E}gnp", #"\u{202e}gnp"#), ("\u{85}\u{2028}", #"\u{85}\u{2028}"#), ("", ""),
    ])
    func `A message stays on its line and does not control the terminal`(message: String, shown: String) {
        let line = LogFormat.journal.line(time: Self.time, level: .info, message: message, metadata: [:])
        #expect(line == "<6>\(shown)\n")
    }

    @Test(arguments: [
        ("plain", "plain"), ("", #""""#), ("two words", #""two words""#), (#"say "no""#, #""say \"no\"""#),
        ("a=b", #""a=b""#), ("line\nbreak", #""line\nbreak""#), (#"C:\dir"#, #"C:\dir"#),
        (#"C:\my dir"#, #""C:\\my dir""#),
        ("größe", "größe"),
    ])
    func `A value is quoted if it would be ambiguous`(value: String, shown: String) {
        let line = LogFormat.journal.line(time: Self.time, level: .info, message: "m", metadata: ["k": .string(value)])
        #expect(line == "<6>m  k=\(shown)\n")
    }

    @Test
    func `Keys are in order, and nested values are readable`() {
        let metadata: Logger.Metadata = [
            "b": .array(["x", "y z", .array([])]), "a": .stringConvertible(42), "c": .dictionary(["n": "1", "m": "2"]),
        ]
        let line = LogFormat.journal.line(time: Self.time, level: .info, message: "m", metadata: metadata)
        #expect(line == "<6>m  a=42 b=[x, \"y z\", []] c={m: 2, n: 1}\n")
    }

    @Test
    func `Nesting is printed up to a limit`() {
        var value = Logger.MetadataValue.string("core")
        for _ in 0..<10_000 { value = .array([value]) }
        let line = LogFormat.journal.line(time: Self.time, level: .info, message: "m", metadata: ["k": value])
        #expect(line == "<6>m  k=[[[[[[[[…]]]]]]]]\n")
    }

    @Test(arguments: ["a", "ü", "▶", "👩‍👩‍👧‍👦"])
    func `A line has a limit`(unit: String) {
        let message = String(repeating: unit, count: LogFormat.lineLimit)
        let line = LogFormat.journal.line(time: Self.time, level: .info, message: message, metadata: [:])
        #expect(line.utf8.count <= LogFormat.lineLimit)
        #expect(line.utf8.count > LogFormat.lineLimit - 8)
        #expect(line.hasSuffix("…\n"))
        #expect(("<6>" + message).unicodeScalars.starts(with: line.unicodeScalars.dropLast(2)))
    }

    @Test(arguments: [
        (Duration.zero, "1970-01-01T00:00:00.000Z"), (.seconds(951_782_400), "2000-02-29T00:00:00.000Z"),
        (.seconds(253_402_300_799) + .milliseconds(999), "9999-12-31T23:59:59.999Z"),
    ])
    func `Times follow RFC 3339`(time: Duration, text: String) {
        let line = LogFormat.file.line(time: time, level: .info, message: "m", metadata: [:])
        #expect(line == "\(text) info m\n")
    }

    @Test
    func `A terminal may show local time`() async {
        await #expect(processExitsWith: .success) {
            setenv("TZ", "UTC-3", 1)
            tzset()
            let format = LogFormat.terminal(colour: false)
            let line = format.line(time: .seconds(1_735_787_045), level: .notice, message: "m", metadata: [:])
            #expect(line == "06:04:05 notice   m\n")
        }
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .nanoseconds(-1)])
    func `An absurd time is printed without a crash`(time: Duration) {
        let line = LogFormat.file.line(time: time, level: .info, message: "m", metadata: [:])
        #expect(line.hasSuffix("Z info m\n"))
    }

    @Test
    func `A pipe has the format of a file, and the journal its own`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        var status = stat()
        try #require(fstat(ends[1], &status) == 0)
        let journal = "\(status.st_dev):\(status.st_ino)"
        #expect(LogFormat.suited(to: ends[1], environment: { _ in nil }) == .file)
        #expect(LogFormat.suited(to: ends[1], environment: { ["JOURNAL_STREAM": journal][$0] }) == .journal)
        #expect(LogFormat.suited(to: -1, environment: { ["JOURNAL_STREAM": journal][$0] }) == .file)
    }

    @Test(arguments: [
        ([:], true), (["NO_COLOR": ""], true), (["NO_COLOR": "1"], false), (["TERM": "dumb"], false),
        (["TERM": "xterm"], true),
    ])
    func `A terminal has colours unless they are turned off`(environment: [String: String], colour: Bool) throws {
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        try #require(terminal >= 0)
        defer { close(terminal) }
        #expect(LogFormat.suited(to: terminal, environment: { environment[$0] }) == .terminal(colour: colour))
    }
}

@Suite
struct `Journal stream` {
    @Test
    func `Only the device and inode of the descriptor match`() throws {
        var status = stat()
        let descriptor = open("/dev/null", O_WRONLY)
        try #require(fstat(descriptor, &status) == 0)
        let (device, inode) = (status.st_dev, status.st_ino)
        #expect(JournalStream.isConnected(descriptor, journalStream: "\(device):\(inode)"))
        for other in [
            "\(device):\(inode + 1)", "\(device + 1):\(inode)", "", ":", "\(device)", "1:2:3", "a:b",
            "99999999999999999999:1",
        ] {
            #expect(!JournalStream.isConnected(descriptor, journalStream: other), "\(other)")
        }
        #expect(!JournalStream.isConnected(descriptor, journalStream: nil))
        close(descriptor)
        #expect(!JournalStream.isConnected(-1, journalStream: "\(device):\(inode)"))
    }

    @Test
    func `The variable is read from the environment`() async {
        await #expect(processExitsWith: .success) {
            unsetenv("JOURNAL_STREAM")
            #expect(!JournalStream.isConnected(0))
            var status = stat()
            #expect(fstat(0, &status) == 0)
            setenv("JOURNAL_STREAM", "\(status.st_dev):\(status.st_ino)", 1)
            #expect(JournalStream.isConnected(0))
        }
    }
}
