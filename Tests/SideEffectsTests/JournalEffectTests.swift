import CommonExpression
import FeedbackKitTesting
import Foundation
import Glibc
import MediatorHost
import SideEffects
import Synchronization
import Testing
import TestSupport

/// A program that prints the lines of a file, and may end or hang at any time, which the real journalctl does not do on
/// request. `Tests/Integration/test_journal.py` tests the real one.
private final class FaultyJournal: Sendable {
    private let folder = TemporaryDirectory()

    /// Creates the program with entries.
    ///
    /// - Parameters:
    ///   - following: Shell code for the lines of the file `$entries` from number `$from` on.
    ///   - last: Shell code for the last line.
    init(
        _ count: Int = 0, following: String = #"exec tail -n "+$from" -f "$entries""#,
        last: String = #"exec tail -n 1 "$entries""#
    ) {
        append(count)
        let script = """
            #!/bin/sh
            entries=\(folder("entries"))
            echo "$$" >>\(folder("started"))
            printf '%s\\n' "$@" >\(folder("arguments"))
            from=1
            for word; do
                case $word in
                --cursor=*) from=${word##*i=}; from=${from%%;*};;
                --lines=1) \(last);;
                esac
            done
            \(following)
            """
        #expect(FileManager.default.createFile(atPath: folder("journalctl"), contents: Data(script.utf8)))
        chmod(folder("journalctl"), 0o755)
    }

    func effect(_ program: String? = nil) -> JournalEffect {
        JournalEffect(program: program ?? folder("journalctl"), retryInterval: .seconds(10), grace: .milliseconds(200))
    }

    /// Appends entries.
    ///
    /// - Parameter isNew: A Boolean value that indicates whether the entries are newer than the run.
    func append(_ count: Int, isNew: Bool = false) {
        let first = contents(folder("entries")).utf8.count { $0 == UInt8(ascii: "\n") } + 1
        let time = isNew ? 4_000_000_000_000_000 : 1
        append(
            (first..<first + count).map { number in
                #"{"MESSAGE":"\#(number)","__CURSOR":"s=a;i=\#(number)","#
                    + #""__REALTIME_TIMESTAMP":"\#(time)","_BOOT_ID":"b0","_MACHINE_ID":"m0"}"#
            })
    }

    /// Appends lines.
    func append(_ lines: [String]) {
        let file = open(folder("entries"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        let bytes = Array(lines.joined(separator: "\n").utf8) + (lines.isEmpty ? [] : [UInt8(ascii: "\n")])
        #expect(write(file, bytes, bytes.count) == bytes.count)
        close(file)
    }

    /// The arguments of the last process.
    var arguments: [String] { contents(folder("arguments")).split(separator: "\n").map(String.init) }
    /// The numbers of all processes.
    var processes: [pid_t] { contents(folder("started")).split(separator: "\n").compactMap { pid_t($0) } }

    func path(_ name: String) -> String { folder(name) }
}

extension Sensing {
    /// The reported messages, in order.
    fileprivate var messages: [String] { names.indices.compactMap { text($0, "message") } }
    /// The number of entries that were counted instead of reported.
    fileprivate var dropped: Int {
        names.indices.reduce(0) { sum, index in
            guard names[index] == "onDropped", case .int(let count)? = value(index, "count") else { return sum }
            return sum + Int(count)
        }
    }
}

/// The side effect `journal` with a program that ends, hangs or prints invalid lines.
@Suite(.timeLimit(.minutes(5))) struct `The side effect journal` {
    private static let advice =
        "only root and members of the group systemd-journal may read the journal; for the unit of the daemon, use a "
        + "drop-in with SupplementaryGroups=systemd-journal"

    private let clock = ManualClock()

    private func reading(
        _ journal: FaultyJournal, perSecond: Int64 = 1_000, _ more: [String: Value] = ["since": .string("boot")],
        memory: EffectMemory = EffectMemory(), program: String? = nil
    ) -> Sensing {
        Sensing(
            journal.effect(program), more.merging(["perSecond": .int(perSecond)]) { $1 }, clock: clock, memory: memory)
    }

    /// Advances the clock by a second whenever a task sleeps, until a condition holds.
    private func pass(until condition: () -> Bool) async {
        while !condition(), !Task.isCancelled {
            if clock.nextDeadline != nil { clock.advance(by: .seconds(1)) }
            await Task.yield()
        }
    }

    @Test(
        arguments: [
            // The child ends, is killed, is killed within a line, and ends with an error.
            #"tail -n "+$from" "$entries" | head -n 8"#,
            #"tail -n "+$from" "$entries" | head -n 8; kill -9 $$"#,
            #"tail -n "+$from" "$entries" | head -c 700; kill -9 $$"#,
            #"tail -n "+$from" "$entries" | head -n 8; echo 'no such luck' >&2; exit 1"#,
        ])
    func `reports each entry once and in order, however often journalctl ends`(following: String) async {
        let journal = FaultyJournal(60, following: following)
        let sensing = reading(journal, perSecond: 5)
        await pass { sensing.names.count >= 60 }
        #expect(sensing.messages == (1...60).map(String.init))
        #expect(journal.processes.count > 6)
        await sensing.cancel()
        #expect(sensing.failures == [] && sensing.dropped == 0)
    }

    @Test func `starts with new entries, and continues behind them in the next run`() async {
        let journal = FaultyJournal(3)
        let memory = EffectMemory()
        let first = reading(journal, ["since": .string("now")], memory: memory)
        await pass { journal.processes.count == 2 }
        journal.append(2)
        await first.reported(2)
        await first.cancel()
        journal.append(1)
        let next = reading(journal, ["since": .string("now")], memory: memory)
        await next.reported(1)
        #expect(first.messages == ["4", "5"] && next.messages == ["6"])
        await next.cancel()
    }

    @Test func `reports the first entry behind a cursor whose own entry was removed`() async {
        let journal = FaultyJournal(2)
        let sensing = reading(journal, ["cursor": .string("s=b;i=1")])
        await sensing.reported(2)
        #expect(sensing.messages == ["1", "2"])
        await sensing.cancel()
        let other = reading(journal, ["cursor": .string("s=a;i=1;t=5")])
        await other.reported(1)
        #expect(other.messages == ["2"])
        await other.cancel()
    }

    @Test func `counts every entry of a flood during which journalctl ends`() async {
        let journal = FaultyJournal(
            1,
            following: #"""
                while [ "$(wc -l <"$entries")" -le "$from" ]; do sleep 0.01; done
                tail -n "+$from" "$entries" | head -n 20000
                """#)
        let sensing = reading(journal, perSecond: 100, ["since": .string("now")])
        await pass { journal.processes.count == 2 }
        journal.append(45_000, isNew: true)
        await pass { sensing.messages.count + sensing.dropped >= 45_000 }
        #expect(sensing.messages.count + sensing.dropped == 45_000)
        // Each of at least three children reports the first entries of a second, and counts the others.
        #expect(sensing.messages.count >= 300 && sensing.dropped > 0)
        await sensing.cancel()
        #expect(sensing.failures == [])
    }

    @Test func `counts entries that were skipped before the run ended`() async {
        let journal = FaultyJournal(1)
        let memory = EffectMemory()
        let sensing = reading(journal, perSecond: 100, ["since": .string("now")], memory: memory)
        await pass { journal.processes.count == 2 }
        journal.append(35_000, isNew: true)
        await sensing.reported(100)
        await sensing.cancel()
        let next = reading(journal, perSecond: 100, ["since": .string("now")], memory: memory)
        func total() -> Int { sensing.messages.count + sensing.dropped + next.messages.count + next.dropped }
        await pass { total() >= 35_000 }
        #expect(total() == 35_000)
        await next.cancel()
    }

    @Test func `counts lines that are no entries or too long, and continues`() async {
        let journal = FaultyJournal(1)
        journal.append(["{", "[]", "\(Int.max)", #"{"MESSAGE":"without a cursor","__REALTIME_TIMESTAMP":"1"}"#, ""])
        journal.append([#"{"MESSAGE":""# + String(repeating: "x", count: 1024 * 1024) + #"","__CURSOR":"s=a;i=99"}"#])
        journal.append(1)
        let sensing = reading(journal)
        await pass { sensing.dropped == 5 }
        #expect(sensing.messages == ["1", "8"])
        await sensing.cancel()
        #expect(sensing.failures == [])
    }

    @Test(
        arguments: [
            (#""plain""#, "plain"), (#""\u00e4\n\ud83d\ude00""#, "ä\n😀"), ("[97,255,98]", "a\u{FFFD}b"),
            (#"["first","second"]"#, "first"), ("[[97,98],[99]]", "ab"), ("null", ""), ("[]", ""), ("7", ""),
        ])
    func `reads text, bytes, and the first of several values`(json: String, text: String) async {
        let journal = FaultyJournal()
        journal.append([
            #"{"MESSAGE":\#(json),"__CURSOR":"s=a;i=1","__REALTIME_TIMESTAMP":"1500000","_BOOT_ID":"b0","#
                + #""PRIORITY":"4","_SYSTEMD_UNIT":"a.service","__SEQNUM":"1"}"#
        ])
        let sensing = reading(journal)
        await sensing.reported(1)
        #expect(sensing.messages == [text] && sensing.last("unit") == "a.service")
        #expect(sensing.value(0, "priority") == .int(4) && sensing.last("cursor") == "s=a;i=1")
        guard case .map(let fields)? = sensing.value(0, "fields") else {
            Issue.record("no fields")
            return
        }
        #expect(fields[.string("_BOOT_ID")] == .string("b0"))
        #expect(fields.keys.allSatisfy { $0.text?.hasPrefix("__") == false })
        await sensing.cancel()
    }

    @Test func `keeps a part of an entry that is too large`() async {
        let journal = FaultyJournal()
        let long = String(repeating: "x", count: 20_000)
        let fields = (0..<100).map { #""F\#($0)":"\#(long)""# }.joined(separator: ",")
        // This line is over the limit.
        journal.append([#"{\#(fields),"MESSAGE":"\#(long)","__CURSOR":"s=a;i=1","__REALTIME_TIMESTAMP":"1"}"#])
        let few = (0..<10).map { #""F\#($0)":"\#(long)""# }.joined(separator: ",")
        journal.append([#"{\#(few),"MESSAGE":"\#(long)","__CURSOR":"s=a;i=2","__REALTIME_TIMESTAMP":"1"}"#])
        let sensing = reading(journal)
        await pass { sensing.messages.count == 1 && sensing.dropped == 1 }
        #expect(sensing.messages == [String(repeating: "x", count: 16 * 1024 - "MESSAGE=".count)])
        await sensing.cancel()
    }

    @Test func `passes each match to journalctl as one argument, without a shell`() async {
        let journal = FaultyJournal(1)
        let match: [Value: Value] = [
            .string("SYSLOG_IDENTIFIER"): .string("a b; touch \(journal.path("x")) $(id) *"), .string("A"): .string(""),
        ]
        let sensing = reading(
            journal, ["match": .map(match), "priority": .string("warning"), "cursor": .string("s=a;i=1")])
        await pass { journal.arguments.contains("--follow") }
        await sensing.cancel()
        #expect(journal.arguments.contains("--priority=warning") && journal.arguments.contains("--cursor=s=a;i=1"))
        #expect(
            journal.arguments.suffix(4)
                == ["--", "A=", "SYSLOG_IDENTIFIER=a b; touch \(journal.path("x")) $(id) *", "_MACHINE_ID=m0"])
        #expect(access(journal.path("x"), F_OK) != 0)
    }

    @Test(
        arguments: [
            (
                ["match": .map([.string("-x"): .string("")])],
                "'-x' is no field of the journal; use a name such as _SYSTEMD_UNIT"
            ),
            (["match": .map([.string("A"): .string("\0")])], "the value of A in 'match' cannot contain NUL"),
            (["cursor": .string("nonsense")], "'nonsense' is no cursor of the journal; use the 'cursor' of an entry"),
            (["cursor": .string("s=1;i=--x")], "'s=1;i=--x' is no cursor of the journal; use the 'cursor' of an entry"),
            (["cursor": .string("s=1")], "'s=1' is no cursor of the journal; use the 'cursor' of an entry"),
        ] as [([String: Value], String)])
    func `starts nothing with arguments that journalctl could misread`(arguments: [String: Value], failure: String)
        async
    {
        let journal = FaultyJournal(1)
        let sensing = reading(journal, arguments)
        await sensing.failed(1)
        #expect(sensing.failures == [failure] && journal.processes.isEmpty)
        await sensing.cancel()
    }

    @Test func `reports once that journalctl is missing, and tries again`() async {
        let journal = FaultyJournal(1)
        let sensing = reading(journal, program: journal.path("missing"))
        await sensing.failed(1)
        let missing = journal.path("missing")
        #expect(
            sensing.failures == [
                "cannot read the journal, because there is no program \(missing); install the package systemd, or "
                    + "correct the daemon's PATH"
            ])
        rename(journal.path("journalctl"), missing)
        await pass { sensing.messages == ["1"] }
        #expect(sensing.failures.count == 1)
        await sensing.cancel()
    }

    @Test func `reports a lasting failure once, and again after it had worked in between`() async {
        let wrong = "echo 'no such luck' >&2; exit 3"
        let journal = FaultyJournal(1, following: wrong)
        let sensing = reading(journal)
        await sensing.failed(1)
        await pass { journal.processes.count >= 5 }
        let failure = "\(journal.path("journalctl")) ended with exit code 3 (no such luck); \(Self.advice)"
        #expect(sensing.failures == [failure])
        let script = contents(journal.path("journalctl"))
        func replace(_ text: String) {
            #expect(FileManager.default.createFile(atPath: journal.path("next"), contents: Data(text.utf8)))
            chmod(journal.path("next"), 0o755)
            rename(journal.path("next"), journal.path("journalctl"))
        }
        replace(script.replacing(wrong, with: #"exec tail -n "+$from" -f "$entries""#))
        await pass { sensing.names == ["onEntry"] }
        replace(script)
        kill(journal.processes.last ?? 0, SIGKILL)
        await pass { sensing.failures.count >= 2 }
        #expect(sensing.failures == [failure, failure])
        await sensing.cancel()
    }

    @Test func `advises on permissions if there is no last entry`() async {
        let journal = FaultyJournal()
        let sensing = reading(journal)
        await sensing.failed(1)
        #expect(
            sensing.failures == ["\(journal.path("journalctl")) found no entry in the journal; \(Self.advice)"])
        journal.append(1)
        await pass { sensing.messages == ["1"] }
        await sensing.cancel()
    }

    @Test func `ends a journalctl that hangs, and tries again`() async {
        let journal = FaultyJournal(
            1,
            last: #"""
                [ -e "$entries.asked" ] || { touch "$entries.asked"; exec sleep 1000; }
                exec tail -n 1 "$entries"
                """#)
        let sensing = reading(journal)
        await pass { sensing.failures.count == 1 }
        #expect(
            sensing.failures == [
                "\(journal.path("journalctl")) did not print the last entry within 60 s, so it was ended; check the "
                    + "disk of the journal"
            ])
        #expect(journal.processes.allSatisfy { !isAlive($0) })
        await pass { sensing.messages == ["1"] }
        await sensing.cancel()
    }

    @Test func `ends journalctl and its children with the run, even one that ignores SIGTERM`() async {
        let journal = FaultyJournal(
            1,
            following: #"""
                trap '' TERM
                sleep 1000 &
                echo $! >>"${entries%entries}started"
                tail -n "+$from" "$entries"
                while :; do sleep 0.01; done
                """#)
        let sensing = reading(journal)
        await sensing.reported(1)
        let processes = journal.processes.suffix(2)
        #expect(processes.allSatisfy { isAlive($0) })
        await sensing.cancel()
        #expect(!processes.contains { isAlive($0) })
    }
}
