import NIOCore
import Testing
import Varlink

/// A machine with its answers, so that a test reads as a timeline.
private struct Script {
    var machine = ConnectionStateMachine(maximumMessageLength: 8, maximumReadAhead: 4)

    mutating func receive(_ text: String) -> String { Self.text(machine.receive(ByteBuffer(string: text))) }
    mutating func demand() -> String { Self.text(machine.demand()) }
    mutating func endInput() -> String { Self.text(machine.endInput()) }
    mutating func drain() -> String { Self.text(machine.drain()) }
    mutating func blocked(_ isBlocked: Bool) -> String { Self.text(machine.setOutputBlocked(isBlocked)) }

    static func text(_ action: ConnectionStateMachine.Action) -> String {
        switch action {
        case .doNothing: "-"
        case .serve(let message, let call): "\(call):\(String(buffer: message))"
        case .close(nil): "close"
        case .close(let error?): "close \(error.code)"
        }
    }
}

struct ConnectionStateMachineTests {
    @Test func `calls are served one at a time, in order`() {
        var script = Script()
        #expect(script.demand() == "-")
        #expect(script.receive("a\0b\0c") == "1:a")
        #expect(script.receive("d\0") == "-")
        script.machine.finish(1)
        #expect(script.demand() == "2:b")
        script.machine.finish(2)
        #expect(script.demand() == "3:cd")
        script.machine.finish(3)
        #expect(script.demand() == "-")
    }

    @Test func `a call that arrives early is served on demand`() {
        var script = Script()
        #expect(script.receive("a\0") == "-")
        #expect(script.demand() == "1:a")
        #expect(script.demand() == "-")
    }

    @Test func `only the call that is running may be answered`() {
        var script = Script()
        _ = script.demand()
        #expect(!script.machine.accepts(replyTo: 1))
        _ = script.receive("a\0")
        #expect(script.machine.accepts(replyTo: 1))
        #expect(!script.machine.accepts(replyTo: 2))
        script.machine.finish(2)
        #expect(script.machine.accepts(replyTo: 1))
        script.machine.finish(1)
        #expect(!script.machine.accepts(replyTo: 1))
    }

    @Test func `while a call is running, reading ahead is bounded`() {
        var script = Script()
        _ = script.demand()
        #expect(script.machine.wantsBytes)
        _ = script.receive("a\0")
        #expect(script.machine.wantsBytes)
        _ = script.receive("bcd\0")
        #expect(!script.machine.wantsBytes)
        script.machine.finish(1)
        #expect(!script.machine.wantsBytes)
        _ = script.demand()
        #expect(script.machine.wantsBytes)
    }

    @Test func `a long message is read to its end on demand`() {
        var script = Script()
        _ = script.demand()
        #expect(script.receive("123456") == "-")
        #expect(script.machine.wantsBytes)
        #expect(script.receive("78\0") == "1:12345678")
    }

    @Test func `a message beyond the limit closes`() {
        var script = Script()
        _ = script.demand()
        #expect(script.receive("123456789") == "close messageTooLarge")
        #expect(script.receive("more") == "-")
        #expect(script.demand() == "close")
        #expect(!script.machine.wantsBytes)
    }

    @Test func `the end of input closes if nothing is left`() {
        var script = Script()
        _ = script.demand()
        #expect(script.endInput() == "close")
    }

    @Test func `calls sent before the end of input are served`() {
        var script = Script()
        _ = script.demand()
        #expect(script.receive("a\0b\0") == "1:a")
        #expect(script.endInput() == "-")
        #expect(!script.machine.wantsBytes)
        script.machine.finish(1)
        #expect(script.demand() == "2:b")
        script.machine.finish(2)
        #expect(script.demand() == "close")
    }

    @Test func `the end of input within a message is a violation`() {
        var script = Script()
        _ = script.demand()
        _ = script.receive("a")
        #expect(script.endInput() == "close protocolViolation")
    }

    @Test func `while replies are unsent, no call is served`() {
        var script = Script()
        _ = script.demand()
        #expect(script.blocked(true) == "-")
        #expect(script.receive("a\0") == "-")
        #expect(script.machine.wantsBytes)
        #expect(script.receive("bcde\0") == "-")
        #expect(!script.machine.wantsBytes)
        #expect(script.blocked(false) == "1:a")
    }

    @Test func `draining ends at once if nothing is running, otherwise after the call`() {
        var idle = Script()
        _ = idle.demand()
        #expect(idle.drain() == "close")
        var busy = Script()
        _ = busy.demand()
        _ = busy.receive("a\0b\0")
        #expect(busy.drain() == "-")
        busy.machine.finish(1)
        #expect(busy.demand() == "close")
        var early = Script()
        #expect(early.drain() == "-")
        #expect(early.demand() == "close")
    }

    @Test func `draining can serve one call of a client that has not called yet`() {
        var idle = Script()
        _ = idle.demand()
        #expect(Script.text(idle.machine.drain(servingFirstCall: true)) == "-")
        #expect(idle.receive("a\0b\0") == "1:a")
        idle.machine.finish(1)
        #expect(idle.demand() == "close")
        var early = Script()
        #expect(Script.text(early.machine.drain(servingFirstCall: true)) == "-")
        #expect(early.demand() == "-")
        #expect(early.endInput() == "close")
        var served = Script()
        _ = served.demand()
        _ = served.receive("a\0")
        served.machine.finish(1)
        _ = served.demand()
        #expect(Script.text(served.machine.drain(servingFirstCall: true)) == "close")
    }

    @Test func `at most one time limit is running`() {
        var script = Script()
        #expect(script.machine.timer == .doNothing)
        _ = script.demand()
        #expect(script.machine.timer == .idle)
        _ = script.receive("a")
        #expect(script.machine.timer == .message)
        _ = script.receive("\0b")
        #expect(script.machine.timer == .doNothing)
        _ = script.blocked(true)
        #expect(script.machine.timer == .unread)
        script.machine.finish(1)
        _ = script.demand()
        #expect(script.machine.timer == .unread)
        _ = script.blocked(false)
        #expect(script.machine.timer == .message)
        _ = script.receive("\0")
        script.machine.finish(2)
        _ = script.demand()
        #expect(script.machine.timer == .idle)
        script.machine.close()
        #expect(script.machine.timer == .doNothing)
    }

    /// Every event in every state reachable in five steps: no call is served twice, and none after the end.
    @Test func `in every order of events, calls are served once and in order, and none after the end`() {
        let events: [(inout Script) -> String] = [
            { $0.demand() }, { $0.receive("a\0") }, { $0.receive("b") }, { $0.receive("123456789") }, { $0.endInput() },
            { $0.blocked(true) }, { $0.blocked(false) }, { $0.drain() },
            { script in
                (1...5).forEach { script.machine.finish($0) }
                return "-"
            },
            { script in
                script.machine.close()
                return "-"
            },
        ]
        var count = 0
        for number in 0..<100_000 {
            var script = Script()
            var rest = number
            var served = 0
            var isOver = false
            for _ in 0..<5 {
                let answer = events[rest % 10](&script)
                if answer.hasPrefix("close") {
                    #expect(!isOver || answer == "close")
                    isOver = true
                } else if answer != "-" {
                    served += 1
                    if isOver || !answer.hasPrefix("\(served):") || !script.machine.accepts(replyTo: served) {
                        Issue.record("\(number): \(answer)")
                    }
                }
                if isOver, script.machine.wantsBytes || script.machine.timer != .doNothing {
                    Issue.record("\(number): goes on after its end")
                }
                rest /= 10
            }
            count += served
        }
        #expect(count > 1000)
    }
}
