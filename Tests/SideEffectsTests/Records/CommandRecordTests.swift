import Glibc
import SideEffects
import Testing

private let here = CommandRecord.Origin(boot: "0a-1b", namespace: 4_026_531_836, session: 50)
private let leader = ProcessEntry.Identity(number: 100, begin: 7_000)

private func record(_ leader: ProcessEntry.Identity? = nil, origin: CommandRecord.Origin = here) -> CommandRecord {
    CommandRecord(origin: origin, system: "backup", feedback: "copy", program: "rsync", leader: leader)
}

@Suite struct `The record of a command` {
    private var text: String { record().firstLine + record().secondLine(leader) }

    @Test func `is read as it was written`() {
        #expect(CommandRecord(text: text) == record(leader))
        #expect(CommandRecord(text: record().firstLine) == record())
    }

    @Test func `has a checksum that does not change, because another version may read it`() {
        #expect(text == "1\t0a-1b\t4026531836\t50\tbackup\tcopy\trsync\n100\t7000\t568f224c3e1653ec\n")
    }

    @Test func `without the end of a line has no such line`() {
        for count in 0..<text.utf8.count {
            let found = CommandRecord(text: String(decoding: text.utf8.prefix(count), as: UTF8.self))
            #expect(found == (count < record().firstLine.utf8.count ? nil : record()))
        }
    }

    @Test func `with a damaged byte has no leader, or is no record`() {
        let whole = Array(text.utf8)
        for offset in whole.indices {
            let others = [UInt8(ascii: "\n"), UInt8(ascii: "\t"), 0, 0xff, whole[offset] ^ 1]
            for byte in others where byte != whole[offset] {
                var bytes = whole
                bytes[offset] = byte
                #expect(CommandRecord(text: String(decoding: bytes, as: UTF8.self))?.leader == nil)
            }
        }
    }

    @Test(arguments: [
        "", "\n", "\n\n\n", "\t\t\t\t\t\t\n", "2\ta\t1\t1\ts\tf\tp\n", "1\ta\t-1\t1\ts\tf\tp\n", "1\r\n2\r\n",
    ])
    func `that is none is not read`(text: String) {
        #expect(CommandRecord(text: text) == nil)
    }

    @Test func `has one line for texts with line breaks, and is not too long to be read`() {
        let long = String(repeating: "𝄞", count: 5_000)
        let one = CommandRecord(
            origin: here, system: "a\tb", feedback: long, program: "c\nd\r\ne\u{0}\u{7f}", leader: leader)
        #expect(one.system == "a?b")
        #expect(one.program == "c?d??e??")
        let text = one.firstLine + one.secondLine(leader)
        #expect(text.utf8.count < 4_096)
        #expect(CommandRecord(text: text) == one)
    }
}

/// The conclusions from a record and lists of processes.
@Suite struct `The judgement of a record` {
    private static let run = "00112233445566778899aabbccddeeff"
    private static let own: pid_t = 60

    private func process(
        _ number: pid_t, group: pid_t, begin: UInt64 = 8_000, session: pid_t = 50, isLiving: Bool = true,
        carries: Bool = false
    ) -> ProcessEntry {
        ProcessEntry(
            identity: .init(number: number, begin: begin), group: group, session: session, isLiving: isLiving,
            run: carries ? Self.run : nil)
    }

    private func judge(_ record: CommandRecord, _ processes: ProcessEntry...) -> RecordJudgement {
        let others = [
            process(1, group: 1, session: 1), process(Self.own, group: Self.own),
            ProcessEntry(identity: .init(number: 70, begin: 1), group: 70, session: 50, run: "another"),
        ]
        return record.judge(run: Self.run, here: here, own: Self.own, among: others + processes)
    }

    @Test func `is that nothing runs, if nothing of it is there`() {
        #expect(judge(record(leader)) == RecordJudgement(.over))
        #expect(judge(record()) == RecordJudgement(.unseen))
    }

    @Test func `is that it is ours, if the leader is there`() {
        #expect(judge(record(leader), process(100, group: 100, begin: 7_000)) == RecordJudgement(.ours(100)))
    }

    @Test func `is that it is ours, if the leader waits to be reaped and a member runs`() {
        let dead = process(100, group: 100, begin: 7_000, isLiving: false)
        #expect(judge(record(leader), dead, process(101, group: 100)) == RecordJudgement(.ours(100)))
        #expect(judge(record(leader), dead) == RecordJudgement(.over))
    }

    @Test func `is that it is ours, if the leader has moved to another group and a member is left`() {
        let moved = process(100, group: 200, begin: 7_000, carries: true)
        #expect(judge(record(leader), moved, process(101, group: 100)) == RecordJudgement(.ours(100), outside: [100]))
        #expect(judge(record(leader), moved) == RecordJudgement(.over, outside: [100]))
    }

    @Test func `is that it is ours, if the leader is gone and a member carries the ID`() {
        let members = [process(101, group: 100), process(102, group: 100, carries: true)]
        #expect(judge(record(leader), members[0], members[1]) == RecordJudgement(.ours(100)))
    }

    @Test func `is that nothing shows it, if the leader is gone and no member carries the ID`() {
        #expect(judge(record(leader), process(101, group: 100)) == RecordJudgement(.unproven(100)))
        let outside = process(300, group: 300, session: 300, carries: true)
        #expect(
            judge(record(leader), process(101, group: 100), outside) == RecordJudgement(.unproven(100), outside: [300]))
        #expect(judge(record(leader), process(101, group: 100, isLiving: false)) == RecordJudgement(.over))
    }

    @Test func `is that the number was used again, if another process has it`() {
        let other = process(100, group: 100, begin: 7_001)
        #expect(judge(record(leader), other) == RecordJudgement(.over))
        // Even if a process of the run has come into that group: it had left its own one.
        let late = process(101, group: 100, carries: true)
        #expect(judge(record(leader), other, late) == RecordJudgement(.over, outside: [101]))
    }

    @Test func `names the processes outside of the group`() {
        let found = judge(
            record(leader), process(100, group: 100, begin: 7_000, carries: true),
            process(101, group: 101, carries: true), process(102, group: 102, session: 102, carries: true),
            process(103, group: 103, isLiving: false, carries: true))
        #expect(found == RecordJudgement(.ours(100), outside: [101, 102]))
    }

    @Test func `without a leader takes the group of the oldest process in the daemon's session`() {
        let found = judge(
            record(), process(102, group: 102, begin: 7_002, carries: true),
            process(101, group: 101, begin: 7_001, carries: true),
            process(90, group: 90, begin: 7_000, session: 90, carries: true))
        #expect(found == RecordJudgement(.ours(101), outside: [102, 90]))
        let away = process(90, group: 90, session: 90, carries: true)
        #expect(judge(record(), away) == RecordJudgement(.over, outside: [90]))
    }

    @Test func `never is about the group of the daemon, or of all processes`() {
        let member = process(61, group: Self.own, carries: true)
        let isLed = ProcessEntry.Identity(number: Self.own, begin: 8_000)
        #expect(judge(record(isLed), member) == RecordJudgement(.over))
        #expect(judge(record(), member) == RecordJudgement(.unseen))
        for number in [0, 1, -1] as [pid_t] {
            let leader = ProcessEntry.Identity(number: number, begin: 8_000)
            #expect(judge(record(leader), process(number, group: number)) == RecordJudgement(.over))
        }
    }

    @Test func `leaves everything alone that is of another boot or namespace`() {
        let process = process(100, group: 100, begin: 7_000, carries: true)
        let boot = CommandRecord.Origin(boot: "other", namespace: here.namespace, session: 50)
        #expect(judge(record(leader, origin: boot), process) == RecordJudgement(.over))
        let namespace = CommandRecord.Origin(boot: here.boot, namespace: 1, session: 50)
        #expect(judge(record(leader, origin: namespace), process) == RecordJudgement(.elsewhere))
    }
}
