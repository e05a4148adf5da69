import Systemd
import Testing

@Suite
struct `Notify messages` {
    @Test(arguments: [
        (NotifyMessage.ready, "READY=1"),
        (.stopping, "STOPPING=1"),
        (.watchdog, "WATCHDOG=1"),
        (.errno(2), "ERRNO=2"),
        (.exitStatus(78), "EXIT_STATUS=78"),
        (.mainPID(4711), "MAINPID=4711"),
        (.reloading(monotonic: .seconds(12) + .nanoseconds(34_567)), "RELOADING=1\nMONOTONIC_USEC=12000034"),
        (.extendTimeout(.milliseconds(1_500)), "EXTEND_TIMEOUT_USEC=1500000"),
        (.extendTimeout(.seconds(-3)), "EXTEND_TIMEOUT_USEC=0"),
        (.extendTimeout(.nanoseconds(-1)), "EXTEND_TIMEOUT_USEC=0"),
        (.extendTimeout(.seconds(Int64.max)), "EXTEND_TIMEOUT_USEC=18446744073709551614"),
    ])
    func `An assignment is written as systemd reads it`(message: NotifyMessage, assignment: String) {
        #expect(message.assignment == assignment)
    }

    @Test(arguments: [
        ("3 systems: 3 healthy", "3 systems: 3 healthy"),
        ("", ""),
        (" \n ", ""),
        ("one\ntwo\r\nthree\n", "one two three"),
        ("a\0b\u{7}c\u{1B}[31m", "a b c [31m"),
        ("tab\t\ttab", "tab tab"),
        ("READY=0\nSTOPPING=1", "READY=0 STOPPING=1"),
        ("grün ▶ done", "grün ▶ done"),
    ])
    func `A status is one line`(text: String, line: String) {
        #expect(NotifyMessage.status(text).assignment == "STATUS=\(line)")
    }

    @Test(arguments: ["a", "ü", "▶", "👩‍👩‍👧‍👦", "x "])
    func `A long status is cut at a character and ends in an ellipsis`(unit: String) {
        let text = String(repeating: unit, count: 4096)
        let status = NotifyMessage.status(text).assignment.dropFirst("STATUS=".count)
        #expect(status.utf8.count <= NotifyMessage.statusLimit)
        #expect(status.utf8.count > NotifyMessage.statusLimit - unit.utf8.count - "…".utf8.count)
        #expect(status.last == "…")
        #expect(text.hasPrefix(status.dropLast()))
    }

    @Test
    func `A status of exactly the limit stays whole`() {
        let text = String(repeating: "a", count: NotifyMessage.statusLimit)
        #expect(NotifyMessage.status(text).assignment == "STATUS=\(text)")
    }

    @Test
    func `A reload has the current time by default`() throws {
        let before = NotifyMessage.monotonicNow()
        let assignment = NotifyMessage.reloading().assignment
        let after = NotifyMessage.monotonicNow()
        let number = try #require(assignment.split(separator: "=").last.flatMap { Int64($0) })
        let moment = Duration.microseconds(number)
        #expect(before - .microseconds(1) <= moment && moment <= after)
    }
}
