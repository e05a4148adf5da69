import CommonExpression
import MediatorConfiguration
import Testing

/// Habits from other languages, and the message about each.
@Suite struct `Habits of other languages` {
    private static func page(
        feedback: String = "log: x", rule: String = "Press: On",
        states: String = "Off: { n: int, s: string, since: timestamp }",
        more: String = ""
    ) -> String {
        """
        system: lamp
        states: { \(states), On: {} }
        events: { Press: { n: int, on: bool, s: string }, Other: {} }
        fromOutside: any
        initialState: { Off: { n: 1, s: a, since: "${now}" } }
        feedbacks:
          f: { onState: Off, \(feedback) }
        transitions:
          On: { Press: stay, Other: On }
          Off:
            Other: On
            \(rule)
        \(more)
        """
    }

    /// The diagnostics but those of a failure without a rule and of what survives a crash, which is no habit.
    private static func told(_ text: String) -> [Diagnostic] {
        compile(text).diagnostics.filter { ![.unhandledFailure, .undecidedPersistence].contains($0.code) }
    }
    private static func shown(_ found: [Diagnostic]) -> String {
        found.map { $0.rendered() }.joined(separator: "\n")
    }

    // Conditions

    @Test(arguments: [
        ("not (event.n > 1)", "'not' is written '!'"), ("not event.on", "'not' is written '!'"),
        ("states(sensor.x) > 1", "bus"), ("states('sensor.x') == 'on'", "bus"), ("is_state(a.b, c.d)", "bus"),
        ("event.s ~= 'a'", ".matches("), ("event.s =~ 'a'", ".matches("), ("min(event.n, 1) > 0", "math.least"),
        ("Busy", "'onState'"), ("On", "'onState'"), ("now() > state.since", "'now', without parentheses"),
        ("event.on ? 1 : 2", "bool"), ("float(event.n) > 1.0", "double"),
    ])
    func `in a condition are told once`(condition: String, advice: String) {
        let found = Self.told(Self.page(rule: "Press: { when: \"\(condition)\", to: On }"))
        #expect(found.count == 1, "\(Self.shown(found))")
        #expect((found.first.map { $0.message + ($0.hint ?? "") } ?? "").contains(advice), "\(Self.shown(found))")
    }

    @Test(arguments: ["when", "condition", "guard", "if"])
    func `braces around a condition are one mistake, whatever the key is called`(key: String) {
        let found = Self.told(Self.page(rule: "Press: { \(key): \"{{ event.n > 1 }}\", to: On }"))
        #expect(found.count == 1, "\(Self.shown(found))")
        #expect(found.first?.hint?.hasSuffix("event.n > 1") == true, "\(Self.shown(found))")
    }

    // Times

    /// The advice is a sound expression itself.
    @Test(arguments: [
        ("${duration('5s') / 1.5}", "duration('5s') * (1.0 / 1.5)"),
        ("${state.n}s", "${duration(string(state.n) + 's')}"), ("${state.n}m", "${duration(string(state.n) + 'm')}"),
        ("${duration(state.n)}", "duration(string(state.n) + \"s\")"),
        ("${state.n}", "duration(string(state.n) + \"s\")"),
        ("${duration(5)}", "duration(\"5s\")"),
    ])
    func `a duration that is computed is shown as it must be`(written: String, advice: String) throws {
        let found = Self.told(Self.page(feedback: "log: x, after: \"\(written)\""))
        #expect(found.count == 1, "\(Self.shown(found))")
        let said = found.first.map { $0.message + " " + ($0.hint ?? "") } ?? ""
        #expect(said.contains(advice), "\(Self.shown(found))")
        let right = advice.hasPrefix("${") ? advice : "${\(advice)}"
        let again = Self.told(Self.page(feedback: "log: x, after: '\(right.replacing("'", with: "''"))'"))
        #expect(again.isEmpty, "\(Self.shown(again))")
    }

    @Test(arguments: ["duration('5s') * 2", "2 * duration('5s')", "duration('5s') / 2", "duration('5s') * 1.5"])
    func `a duration is multiplied by a number`(expression: String) {
        let found = Self.told(Self.page(feedback: "log: x, after: \"${\(expression)}\""))
        #expect(found.isEmpty, "\(Self.shown(found))")
    }

    @Test func `the present time is an expression`() {
        let found = Self.told(Self.page(rule: "Press: { to: Off, set: { since: now } }"))
        #expect(found.map(\.hint) == ["write \"${now}\""], "\(Self.shown(found))")
    }

    @Test(arguments: [
        ("America/NewYork", "America/New_York"), ("NewYork", "America/New_York"), ("Berlin", "Europe/Berlin"),
    ])
    func `a time zone is named as the database has it`(written: String, name: String) {
        let found = Self.told(Self.page(feedback: "log: x, at: \"08:00 \(written)\""))
        #expect(found.map(\.hint) == ["did you mean '\(name)'?"], "\(Self.shown(found))")
    }

    // Texts

    private static let bus = "---\nbuses: { b: { kind: passthrough, value: string, fromOutside: both } }\n"

    @Test(arguments: [
        "log: \"n is {{ state.n }}\"", "log: \"{{ state.n }} and ${state.s}\"", "log: \"{{ $value }}\"",
        "log: \"{{ trigger.id }}\"", "log: \"{{ state.s | upper }}\"",
        "notify: { url: \"http://a\", text: \"{{ state.n }} x\" }",
        "notify: { url: \"http://a\", text: \"{{ $labels.x }}\" }",
        "publish: { to: b, value: \"{{ state.s }}\" }", "publish: { to: b, value: \"x {{ state.s }}\" }",
        "run: [echo, \"{{ state.n }}\"]", "run: [echo, \"n={{state.n}}\"]",
        "run: { command: [cat], input: \"{{ state.s }}\" }",
        "emit: { Press: { n: 1, on: true, s: \"{{ event.s }}\" } }",
    ])
    func `braces that mean nothing are warned of once`(feedback: String) {
        let found = Self.told(Self.page(feedback: feedback, more: feedback.hasPrefix("emit") ? "" : Self.bus))
        #expect(found.filter { $0.code == .literalExpression }.count == 1, "\(Self.shown(found))")
        #expect(found.allSatisfy { $0.severity == .warning }, "\(Self.shown(found))")
        #expect(found.first?.hint?.contains("${") == true, "\(Self.shown(found))")
    }

    @Test(arguments: [
        "run: [docker, ps, --format, \"{{.State}}\"]", "run: [docker, inspect, -f, \"{{ json .State }}\", x]",
        "run: [docker, inspect, -f, \"{{range .Mounts}}{{.Source}}{{end}}\", x]",
        "run: [podman, info, \"{{ .Host }}\"]",
        "run: [ansible, all, -a, \"{{ inventory_hostname }}\"]", "log: \"as docker has it: {{.State}}\"",
        "http: { url: \"http://a\", method: POST, body: '{\"a\":{\"b\":{\"c\":1}}}' }", "log: \"{ {a} }\"",
        "log: \"n ${{'a': state.n}['a']}\"", "run: [sh, -c, \"a() { { true; } }\"]",
    ])
    func `braces of other programs are left alone`(feedback: String) {
        let found = Self.told(Self.page(feedback: feedback))
        #expect(found.isEmpty, "\(Self.shown(found))")
    }

    // Commands

    @Test(arguments: [
        ("[rsync -a /srv /mnt]", "[rsync, -a, /srv, /mnt]"), ("[/usr/bin/rsync -a /srv]", "[/usr/bin/rsync, -a, /srv]"),
        ("[\"rsync -a 'x y' > z\"]", "[sh, -c, "), ("[systemctl restart, nginx]", "[systemctl, restart, …]"),
        ("[/bin/echo hello]", "[/bin/echo, hello]"),
    ])
    func `a command line as the name of a program is warned of`(command: String, list: String) {
        let found = Self.told(Self.page(feedback: "run: \(command)"))
        #expect(found.map(\.code) == [.shellSyntax], "\(Self.shown(found))")
        #expect(found.first?.hint?.contains(list) == true, "\(Self.shown(found))")
    }

    @Test(arguments: ["[\"/opt/My App/run\", x]", "[\"/opt/a b/c\"]", "[ls, \"a b\"]"])
    func `a program may have a space in its path`(command: String) {
        let found = Self.told(Self.page(feedback: "run: \(command)"))
        #expect(found.isEmpty, "\(Self.shown(found))")
    }

    // Transitions

    @Test(arguments: [
        ("Press: { when: event.on }", "write to: stay to change nothing"),
        ("Press: [{ when: event.on }, stay]", "write to: stay to change nothing"),
    ])
    func `a transition without a target is shown the one that is right`(rule: String, hint: String) {
        let found = Self.told(Self.page(rule: rule))
        #expect(found.map(\.hint) == [hint], "\(Self.shown(found))")
    }
}

/// Warnings about side effects in a state, the events that these emit, and the values of buses.
@Suite struct `Side effects and the time of their states` {
    /// The diagnostics but those of a failure without a rule and of what survives a crash, which is no habit.
    private static func told(_ text: String) -> [Diagnostic] {
        compile(text).diagnostics.filter { ![.unhandledFailure, .undecidedPersistence].contains($0.code) }
    }
    private static func shown(_ found: [Diagnostic]) -> String {
        found.map { $0.rendered() }.joined(separator: "\n")
    }

    private static func page(_ feedbacks: String, leave: String = "Idle") -> String {
        """
        system: a
        states: { Idle: { n: int }, Told: { n: int } }
        events: { Go: {}, Next: {} }
        fromOutside: Go
        initialState: { Idle: { n: 0 } }
        feedbacks:
        \(feedbacks)
        transitions:
          Idle: { Go: { to: Told, set: { n: "${state.n + 1}" } }, Next: stay }
          Told: { Next: \(leave), Go: stay }
        ---
        buses: { b: { kind: passthrough, value: int, fromOutside: read } }

        """
    }

    @Test(arguments: [
        "run: [x]", "http: { url: \"http://a\" }", "notify: { url: \"http://a\", text: x }", "run: [x], every: 5s",
        "log: x, after: 5s", "run: [x], at: \"08:00\"", "emit: Go, after: 5s",
        "tcp: { host: a, port: 1 }, every: 5s", "unit: { name: a.service }, onState: Told",
    ])
    func `a state that is left at once leaves no time for a side effect`(effect: String) {
        let own = effect.replacing(", onState: Told", with: "")
        let found = Self.told(Self.page("  say: { onState: Told, \(own) }\n  go: { onState: Told, emit: Next }"))
            .filter { $0.code == .cutShort }
        #expect(found.map(\.code) == [.cutShort], "\(Self.shown(found))")
        #expect(found.first?.notes.first?.location.line == 8, "\(Self.shown(found))")
    }

    @Test(arguments: [
        (
            "  say: { onState: Told, log: x }\n  put: { onState: Told, publish: { to: b, value: 1 } }", "emit: Next",
            "Idle"
        ),
        ("  say: { onState: Told, run: [x], strategy: continueOnNewState }", "emit: Next", "Idle"),
        ("  say: { onState: Told, run: [x] }", "emit: Next, after: 1s", "Idle"),
        ("  say: { onState: Told, run: [x] }", "emit: Next, when: state.n > 1", "Idle"),
        ("  say: { onState: [Told, Idle], run: [x], every: 5s }", "emit: Next", "Idle"),
        ("  say: { onState: Told, run: [x] }", "emit: Next", "[{ when: state.n > 3, to: Idle }, stay]"),
    ])
    func `a state that may last is not blamed`(feedbacks: String, emission: String, leave: String) {
        let found = Self.told(Self.page("\(feedbacks)\n  go: { onState: Told, \(emission) }", leave: leave))
        #expect(found.allSatisfy { $0.code != .cutShort }, "\(Self.shown(found))")
    }

    /// With `unhandled: warn`, what a side effect reports that ends with its state can arrive nowhere else.
    @Test func `an outcome need be handled only where it can arrive`() {
        func found(_ strategy: String) -> [Diagnostic] {
            Self.told(
                """
                system: a
                states: { Idle: {}, Busy: {} }
                events: { Go: {}, Done: {}, Failed: {} }
                fromOutside: Go
                initialState: Idle
                unhandled: warn
                feedbacks:
                  work: { onState: Busy, run: [x], onSuccess: Done, onFailure: Failed\(strategy) }
                transitions:
                  Idle: { Go: Busy }
                  Busy: { Go: stay, Done: Idle, Failed: Idle }

                """)
        }
        #expect(found("").isEmpty, "\(Self.shown(found("")))")
        let going = found(", strategy: continueOnNewState")
        #expect(going.map(\.code) == [.unhandledEvent, .unhandledEvent], "\(Self.shown(going))")
    }

    @Test(arguments: [
        ("currentValue", "initial: \"\"", "t", "\"\"", []), ("currentValue", "initial: \"\"", "t", "none", []),
        ("currentValue", "initial: \"\"", "t", "tt", []),
        ("passthrough", "", "t", "\"\"", [Diagnostic.Code.unmatchedValue]),
        ("currentValue", "initial: \"\"", "x", "\"\"", [.unmatchedValue, .unmatchedValue, .needlessLoop]),
    ])
    func `a value that only takes the place of another is no mistake`(
        kind: String, initial: String, on: String, off: String, codes: [Diagnostic.Code]
    ) {
        let found = Self.told(
            """
            system: a
            states: { Idle: {}, Busy: {} }
            events: { Go: {} }
            fromOutside: Go
            initialState: Idle
            transitions: { Idle: { Go: Busy }, Busy: { Go: Idle } }
            ---
            buses: { turn: { kind: \(kind), value: string\(initial.isEmpty ? "" : ", \(initial)") } }
            links:
              on: { attach: a, to: turn, onState: Busy, emitValue: \(on) }
              off: { attach: a, to: turn, onState: Idle, emitValue: \(off) }
              take: { attach: a, to: turn, onValue: t, emitEvent: Go, loop: { limit: 1 per 1s } }

            """)
        #expect(found.map(\.code) == codes, "\(Self.shown(found))")
    }
}

/// The key for what other programs do, under its old name and under another, both of which sound like a permission.
@Suite struct `What comes from outside` {
    @Test(arguments: ["external", "clients"]) func `has one name`(word: String) {
        let found = compile(
            """
            system: lamp
            states: { Off: {} }
            events: { Press: {} }
            \(word): [Press]
            initialState: Off
            transitions: { Off: { Press: stay } }
            ---
            buses: { b: { kind: passthrough, value: int, \(word): both } }

            """
        ).diagnostics
        #expect(
            found.map(\.hint) == ["did you mean 'fromOutside'?", "did you mean 'fromOutside'?"],
            "\(found.map { $0.rendered() })")
    }
}
