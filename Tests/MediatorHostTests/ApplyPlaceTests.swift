import CommonExpression
import MediatorConfiguration
import MediatorHost
import Testing

extension `Applying a configuration` {
    @Test func `what goes on is told where it is written now`() async throws {
        let before = """
            system: share
            states: { Idle: { n: int }, Much: {} }
            events: { Divide: { by: int }, Rest: {} }
            fromOutside: any
            initialState: { Idle: { n: 0 } }
            feedbacks:
              look: { onState: Idle, when: 10 / state.n > 3, work: 1s, onDone: Rest }
              rest: { onState: Much, work: 1s, onDone: Rest }
              tell: { onState: Idle, publish: { to: shares, value: "${10 / state.n}" } }
            transitions:
              Idle:
                Divide: { when: event.by < 100, to: Idle, set: { n: "${10 / event.by}" } }
              Much:
                Rest: { to: Idle, set: { n: 1 } }
            ---
            buses:
              parts: { kind: currentValue, value: int, initial: 5, fromOutside: both }
              seed: { kind: currentValue, value: int, initial: 2 }
              shares: { kind: passthrough, value: int }
            ---
            links:
              begin: { attach: share, to: seed, emitEvent: { Divide: { by: "${value}" } } }
              ask: { attach: share, to: parts, when: 10 / value > 3, emitEvent: { Divide: { by: "${value}" } } }
            """
        let after = """
            # Much has been written about this.
            system: share
            states:
              Much: {}
              Idle: { n: int }
            events: { Rest: {}, Divide: { by: int } }
            fromOutside: any
            initialState: { Idle: { n: 0 } }
            transitions:
              Much:
                Rest:
                  to: Idle
                  set: { n: 1 }
              Idle:
                # Less than a hundred.
                Divide: { when: event.by < 100, to: Idle, set: { n: "${10 / event.by}" } }
            feedbacks:
              # The first.
              look: { onState: Idle, when: 10 / state.n > 3, work: 1s, onDone: Rest }
              rest: { onState: Much, work: 1s, onDone: Rest }
              tell: { onState: Idle, publish: { to: shares, value: "${10 / state.n}" } }
            ---
            links:
              ask: { attach: share, to: parts, when: 10 / value > 3, emitEvent: { Divide: { by: "${value}" } } }
              begin: { attach: share, to: seed, emitEvent: { Divide: { by: "${value}" } } }
            ---
            # Changed by hand.
            buses:
              seed: { kind: currentValue, value: int, initial: 2 }
              shares: { kind: passthrough, value: int }
              parts: { kind: currentValue, value: int, initial: 5, fromOutside: both }
            """
        let fixture = try ApplyFixture(before)
        let host = fixture.host
        func place(of part: String, in text: String) throws -> String {
            for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                if line.contains(part) { return "test0.yaml:\(number + 1):" }
            }
            throw HostError.noSuchLink(part, nearest: nil)
        }
        func check(_ text: String) throws {
            let (rule, look) = (try place(of: "Divide: { when", in: text), try place(of: "look: {", in: text))
            let (link, tell) = (try place(of: "ask: {", in: text), try place(of: "tell: {", in: text))
            let trace = try host.trace("share")
            // Of each fault that there was.
            let faults = trace.filter { $0.kind == .fault }.compactMap(\.reason)
            for expected in [
                "feedback look, \(look)", "feedback tell, \(tell)", "transition from Idle on Divide, \(rule)",
                "link ask, \(link)",
            ] {
                #expect(faults.contains { $0.hasPrefix(expected) }, "\(expected) \(faults)")
            }
            #expect(faults.allSatisfy { $0.contains(": divide by zero") || $0.contains("division") }, "\(faults)")
            let status = try host.systemStatus("share")
            #expect(status.lastFault?.place.hasPrefix("link ask, \(link)") == true)
            #expect(trace.flatMap(\.guards).allSatisfy { "\($0.source)".hasPrefix(rule) })
            #expect(trace.contains { !$0.guards.isEmpty })
            let answer = try host.whyNot("share", event: "Divide", fields: [.int(1)])
            #expect(answer.transitions.map { "\($0.source)".hasPrefix(rule) } == [true])
            #expect(answer.senders.first { $0.name == "ask" }.map { "\($0.source)".hasPrefix(link) } == true)
            let rest = try host.whyNot("share", event: "Rest").senders.first { $0.name == "look" }
            #expect(try "\(#require(rest).source)".hasPrefix(look))
            let seed = try place(of: "seed: {", in: text)
            #expect(try "\(host.busStatus("seed").definition.source)".hasPrefix(seed))
            let origin = try host.why("share").hops.last
            #expect(
                origin?.text.hasPrefix("the first value of the bus, \(seed)") == true, "\(String(describing: origin))")
        }
        host.start()
        await fixture.settle()
        try host.emit("Divide", to: "share", fields: [.int(0)])
        await fixture.settle()
        try host.publish(.int(0), on: "parts")
        await fixture.settle()
        try check(before)
        // This also holds with another link and bus in the place of the old ones.
        let other = after.replacing("initial: 2 }", with: "initial: 2, limit: 9 }").replacing(
            "10 / value > 3", with: "10 / value > 4")
        for text in [after, "#\n" + after, other, "#\n" + other, before] {
            #expect(try await fixture.apply(text).plan.systems.map(\.action) == [.keep])
            try check(text)
            // A failure after that counts, too.
            try host.emit("Divide", to: "share", fields: [.int(0)])
            await fixture.settle()
            let place = try place(of: "Divide: { when", in: text)
            let fault = try host.systemStatus("share").lastFault
            #expect(
                fault?.place.hasPrefix("transition from Idle on Divide, \(place)") == true,
                "\(String(describing: fault))")
            try host.publish(.int(0), on: "parts")
            await fixture.settle()
        }
        await host.stop(within: .zero)
    }

    @Test func `what was written once for several rules is told where each is written now`() async throws {
        let head = """
            system: share
            states: { Ready: { n: int }, Other: { n: int } }
            events: { Divide: { by: int } }
            fromOutside: any
            initialState: { Ready: { n: 0 } }
            transitions:

            """
        let rule = #"{ Divide: { to: Ready, set: { n: "${10 / event.by}" } } }"#
        let fixture = try ApplyFixture(head + "  Ready: &rule \(rule)\n  Other: *rule\n")
        fixture.host.start()
        #expect(try await fixture.apply(head + "  Ready: \(rule)\n  Other: \(rule)\n").plan.isEmpty)
        try fixture.host.emit("Divide", to: "share", fields: [.int(0)])
        await fixture.settle()
        #expect(try fixture.host.systemStatus("share").lastFault?.place.contains("test0.yaml:7:") == true)
        #expect(try fixture.host.whyNot("share", event: "Divide").transitions.map(\.source.line) == [7])
        await fixture.host.stop(within: .zero)
    }
}
