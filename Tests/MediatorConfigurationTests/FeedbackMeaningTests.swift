import CommonExpression
import MediatorConfiguration
import Testing

@Suite struct `What feedbacks and links mean` {
    static let disk = #"""
        system: disk
        states: { Normal: {}, Full: { used: int, since: timestamp } }
        events: { Measured: { used: int }, Cleaned: {}, Tick: {} }
        initialState: Normal
        feedbacks:
          measure:
            onState: any
            every: 5s
            run: { command: [df, --output=pcent, /], timeout: 10s, environment: { LANG: C } }
            onLine:
              - { when: 'result.line.contains("%")', emit: { Measured: { used: "${int(result.number)}" } } }
              - { emit: Tick }
            onFailure: Cleaned
          clean:
            onState: { Full: { used: 100 } }
            when: state.used > 90
            strategy: continueOnNewState
            after: "${duration(string(state.used) + 's')}"
            run: [clean, "--used=${state.used}", "${state.used > 95 ? 'hard' : 'soft'}"]
          tick:
            onState: [Normal, Full]
            after: 200ms
            emit: { Measured: { used: 3 } }
          tell:
            onState: Full
            log: "full: ${state.used} %"
        """#

    private func evaluated(_ data: DataProgram?, _ variables: [Value]) throws -> Value {
        try #require(data).evaluate(variables)
    }

    @Test func `a summary says when and what in a line, and no value from elsewhere`() throws {
        #expect(
            try system(Self.disk).feedbacks.map(\.summary) == [
                "every 5s: run { command: [df, --output=pcent, /], timeout: 10s, environment: { LANG: C } }",
                #"after "${duration(string(state.used) + 's')}": run [clean, "--used=${state.used}", "#
                    + #""${state.used > 95 ? 'hard' : 'soft'}"]"#,
                "after 200ms: emit { Measured: { used: 3 } }", #"log "full: ${state.used} %""#,
            ])
        let text = """
            system: s
            states: { A: {} }
            initialState: A
            feedbacks:
              f:
                onState: A
                run:
                  command: [sh, -c, !env SECRET]
            """
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)],
            values: ExternalValues(environment: { _ in "hunter2" }))
        let feedback = try #require(result.graph?.systems.first?.feedbacks.first)
        #expect(feedback.summary == "run { command: [sh, -c, !env SECRET] }")
    }

    @Test func `selectors name states and data`() throws {
        let disk = try system(Self.disk)
        let selectors = disk.feedbacks.map(\.selector)
        #expect(selectors.map(\.states) == [[0, 1], [1], [0, 1], [1]])
        #expect(selectors.map(\.text) == ["any", "{ Full: { used: 100 } }", "Normal, Full", "Full"])
        #expect(selectors[1].equals.map(\.field) == [0])
        #expect(selectors[1].equals.map(\.value) == [.int(100)])
        let now = try #require(Timestamp(seconds: 0, nanoseconds: 0))
        for used in [Int64(90), 91] {
            let state = try disk.value("Full", .int(used), .timestamp(now))
            #expect(
                try selectors[1].conditions[1]?.evaluateBool([.structure(state), .timestamp(now)]) == (used > 90))
        }
    }

    @Test func `side effects get their arguments`() throws {
        let disk = try system(Self.disk)
        let now = try #require(Timestamp(seconds: 0, nanoseconds: 0))
        let full = [Value.structure(try disk.value("Full", .int(96), .timestamp(now))), .timestamp(now)]
        let measure = disk.feedbacks[0]
        #expect(measure.effect == "run")
        #expect(measure.strategy == .cancelOnNewState)
        let command = Value.list(["df", "--output=pcent", "/"].map { .string($0) })
        for state in [0, 1] {
            let arguments = try #require(measure.arguments[state])
            #expect(try evaluated(arguments["command"], []) == command)
            #expect(try evaluated(arguments["timeout"], []) == .duration(try #require(TimeSpan(text: "10s"))))
            #expect(try evaluated(arguments["environment"], []) == .map([.string("LANG"): .string("C")]))
            #expect(arguments["directory"] == nil)
        }
        let clean = disk.feedbacks[1]
        #expect(clean.strategy == .continueOnNewState)
        #expect(
            try evaluated(clean.arguments[1]?["command"], full)
                == .list([.string("clean"), .string("--used=96"), .string("hard")]))
        let tell = disk.feedbacks[3]
        #expect(try evaluated(tell.arguments[1]?["message"], full) == .string("full: 96 %"))
        #expect(try evaluated(tell.arguments[1]?["level"], full) == .string("info"))
    }

    @Test func `schedules are durations`() throws {
        let disk = try system(Self.disk)
        let now = try #require(Timestamp(seconds: 0, nanoseconds: 0))
        guard case .every(let periods) = disk.feedbacks[0].schedule,
            case .after(let delays) = disk.feedbacks[1].schedule,
            case .atOnce = disk.feedbacks[3].schedule
        else {
            Issue.record("the schedules are of the wrong kind")
            return
        }
        #expect(try evaluated(periods[1], []) == .duration(try #require(TimeSpan(text: "5s"))))
        let full = [Value.structure(try disk.value("Full", .int(96), .timestamp(now))), .timestamp(now)]
        #expect(try evaluated(delays[1], full) == .duration(try #require(TimeSpan(text: "96s"))))
    }

    @Test(arguments: [("42%", 0, 42 as Int64?), ("total", 2, nil)])
    func `the first rule of an outcome that holds emits`(line: String, event: Int, used: Int64?) throws {
        let disk = try system(Self.disk)
        let now = try #require(Timestamp(seconds: 0, nanoseconds: 0))
        let type = try #require(EffectSchema.run.outcomes.first { $0.name == "onLine" }).result
        let result = Structure(type: type, fields: [.string(line), .int(42)])
        let variables: [Value] = [.structure(try disk.value("Normal")), .timestamp(now), .structure(result)]
        let rules = try #require(disk.feedbacks[0].outcomes[0]?["onLine"])
        let rule = try #require(try rules.first { try $0.condition?.evaluateBool(variables) ?? true })
        #expect(rule.event.event == event)
        let data = try rule.event.data.evaluate(variables)
        #expect(data == .structure(Structure(type: disk.events[event].type, fields: used.map { [.int($0)] } ?? [])))
        #expect(disk.feedbacks[0].outcomes[1]?["onFailure"]?.first?.event.event == 1)
    }

    @Test func `emit carries its event in the outcomes`() throws {
        let disk = try system(Self.disk)
        let tick = disk.feedbacks[2]
        #expect(tick.effect == "emit")
        #expect(tick.arguments[0]?.isEmpty == true)
        let rule = try #require(tick.outcomes[1]?["emit"]?.first)
        #expect(rule.event.event == 0)
        #expect(
            try rule.event.data.evaluate([]) == .structure(Structure(type: disk.events[0].type, fields: [.int(3)])))
    }

    @Test func `links know whom they join, and say so`() throws {
        let graph = try graph(
            [`The format's sketch`.uplink, `The format's sketch`.wiring, `The format's sketch`.others]
                .joined(separator: "\n---\n"))
        let now = try #require(Timestamp(rfc3339: "2026-11-21T10:00:00Z"))
        #expect(
            graph.links.map(\.summary) == [
                "uplink: Offline → pager: Page", "bus uplink.status → backup: Pause", "bus alarms → backup: Pause",
                "uplink: Offline → bus uplink.status", "uplink: Online → bus uplink.status",
            ])
        #expect(
            graph.links.map(\.emits) == [
                "{ Page: { text: \"uplink down since ${state.since}\" } }", "Pause", "Pause", "offline", "online",
            ])
        #expect(
            graph.links.map(\.conditionText) == [nil, "onValue: offline", "value.severity >= 3", nil, nil])
        #expect(graph.links.map(\.system) == [2, 0, 0, 2, 2])
        let offline = [Value.structure(try graph.systems[2].value("Offline", .timestamp(now))), .timestamp(now)]
        guard case .systemToSystem(let target, let selector, let events) = graph.links[0].form,
            case .busToSystem(let bus, .equals(let value), _) = graph.links[1].form,
            case .busToSystem(let alarms, .condition(let condition), let pause) = graph.links[2].form,
            case .systemToBus(let status, _, let values) = graph.links[3].form
        else {
            Issue.record("a link has the wrong form")
            return
        }
        #expect(graph.systems[target].name == "pager")
        #expect(selector.states == [3])
        let page = try #require(events[3])
        #expect(
            try page.data.evaluate(offline)
                == .structure(
                    Structure(
                        type: graph.systems[target].events[page.event].type,
                        fields: [.string("uplink down since 2026-11-21T10:00:00Z")])))
        #expect(graph.buses[bus].name == "uplink.status")
        #expect(value == .string("offline"))
        guard case .structure(let type) = graph.buses[alarms].valueType else {
            Issue.record("alarms carries a structure")
            return
        }
        for severity in [Int64(2), 3] {
            let alarm = Value.structure(Structure(type: type, fields: [.string("x"), .int(severity)]))
            #expect(try condition.evaluateBool([alarm, .timestamp(now)]) == (severity >= 3))
        }
        #expect(pause.event == 0)
        #expect(status == bus)
        #expect(try values[3]?.evaluate(offline) == .string("offline"))
    }

    @Test func `a system may be linked to itself`() throws {
        let graph = try graph(
            """
            system: a
            states: { A: {}, B: {} }
            events: { E: {} }
            initialState: A
            ---
            links: { again: { attach: a, toSystem: a, onState: any, emitEvent: E } }
            """)
        #expect(graph.links[0].summary == "a: any → a: E")
    }

    @Test(arguments: ["from", "to"]) func `the bus that a link reads may be called so`(key: String) throws {
        let graph = try graph(
            """
            system: a
            states: { A: {} }
            events: { E: {} }
            initialState: A
            ---
            buses: { numbers: { kind: passthrough, value: int } }
            links: { go: { attach: a, \(key): numbers, emitEvent: E } }
            """)
        #expect(graph.links[0].summary == "bus numbers → a: E")
    }

    @Test func `a link may take an event's data from a bus and pass a structure on`() throws {
        let graph = try graph(
            """
            system: a
            states: { A: { n: int }, B: { n: int } }
            events: { E: { n: int } }
            initialState: { A: { n: 1 } }
            ---
            buses:
              numbers: { kind: passthrough, value: int }
              pairs: { kind: currentValue, value: { x: int, y: double }, initial: { y: 2, x: 1 } }
            links:
              from: { attach: a, to: numbers, when: "value > 3", emitEvent: { E: { n: "${value * 2}" } } }
              into: { attach: a, to: pairs, onState: any, when: state.n > 1, emitValue: { x: "${state.n}", y: 0.5 } }
            """)
        let now = try #require(Timestamp(seconds: 0, nanoseconds: 0))
        guard case .busToSystem(_, _, let event) = graph.links[0].form,
            case .systemToBus(_, let selector, let values) = graph.links[1].form,
            case .structure(let pair) = graph.buses[1].valueType
        else {
            Issue.record("a link has the wrong form")
            return
        }
        #expect(
            try event.data.evaluate([.int(4), .timestamp(now)])
                == .structure(Structure(type: graph.systems[0].events[0].type, fields: [.int(8)])))
        #expect(selector.conditions.count == 2)
        let state = try graph.systems[0].value("B", .int(7))
        #expect(
            try values[1]?.evaluate([.structure(state), .timestamp(now)])
                == .structure(Structure(type: pair, fields: [.int(7), .double(0.5)])))
        #expect(graph.buses[1].initial == .structure(Structure(type: pair, fields: [.int(1), .double(2)])))
    }
}
