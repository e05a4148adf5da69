import MediatorConfiguration
import Testing

/// Words of other programs, each of which leads with one message to what says the same here.
@Suite struct `Words of other programs` {
    /// The keys at each place of a sound configuration.
    private struct Page {
        var feedback = ["onState": "Off", "run": "{ command: [ls] }"]
        var transition = ["to": "On", "set": "{ n: 1 }"]
        var bus = ["kind": "currentValue", "value": "string", "initial": "a"]
        var link = ["attach": "lamp", "to": "b", "onState": "On", "emitValue": "on"]
        var reader = ["attach": "lamp", "to": "b", "when": "value == 'on'", "emitEvent": "Other"]
        var supervision = ["onFault": "restart"]
        var state = ["n": "int"]
        var system: [String: String] = [:]

        private static func flow(_ keys: [String: String]) -> String {
            "{ \(keys.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")) }"
        }

        var text: String {
            """
            system: lamp
            states: { Off: {}, On: \(Self.flow(state)) }
            events: { Press: { n: int }, Other: {}, Third: {} }
            initialState: Off
            supervision: \(Self.flow(supervision))
            \(system.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\n" }.joined())
            feedbacks:
              f: \(Self.flow(feedback))
              more: { onState: Off, emit: { Press: { n: 1 } }, after: 5s }
              third: { onState: On, emit: Third, after: 5s }
            transitions:
              Off: { Press: \(Self.flow(transition)), Other: stay, Third: stay }
              On: { Press: stay, Other: stay, Third: Off }
            ---
            buses: { b: \(Self.flow(bus)) }
            links:
              l: \(Self.flow(link))
              r: \(Self.flow(reader))

            """
        }
    }

    /// The diagnostics but those of a failure without a rule and of what survives a crash.
    private static func told(_ page: Page) -> [Diagnostic] {
        compile(page.text).diagnostics.filter { ![.unhandledFailure, .undecidedPersistence].contains($0.code) }
    }

    private static func shown(_ found: [Diagnostic]) -> String {
        found.map { $0.rendered() }.joined(separator: "\n")
    }

    @Test func `stand in a page that is sound without them`() {
        let found = Self.told(Page())
        #expect(found.isEmpty, "\(Self.shown(found))")
    }

    /// Keys, side effects and their parameters.
    private static let keys: Set<String> = Set(
        [
            "buses", "links", "groups", "transitions", "feedbacks", "states", "health", "supervision", "watchdog",
            "ready",
            "mailbox", "system", "description", "parameters", "onState", "when", "limit", "every", "after", "at",
            "missed",
            "jitter", "debounce", "timeout", "retry", "to", "set", "kind", "overflow", "emitEvent", "emitValue", "loop",
            "beyond", "strategy", "onFailure", "initialState", "final",
        ]
            + EffectSchema.builtin.flatMap { [$0.name] + $0.parameters.map(\.name) + $0.outcomes.map(\.name) })

    @Test func `have one meaning at each place, and lead to keys that there are`() {
        var seen: Set<String> = []
        for word in ForeignWord.all {
            #expect(seen.insert("\(word.place) \(word.word)").inserted, "\(word.place) \(word.word)")
            #expect(Self.keys.contains(word.key), "\(word.key)")
            #expect(word.word == ForeignWord.normalized(word.word))
        }
        for keys in Names.otherKeys.values {
            for key in keys { #expect(Self.keys.contains(key) || Self.others.contains(key), "\(key)") }
        }
    }

    /// Keys of few places.
    private static let others: Set<String> = [
        "value", "initial", "initialState", "attach", "maxDelay", "delay", "times", "onFault", "fields",
        "fromOutside", "persist", "store",
    ]

    @Test(arguments: ForeignWord.all)
    func `lead to what says it here`(word: ForeignWord) throws {
        var page = Page()
        switch word.place {
        case .system: page.system[word.word] = "x"
        case .state: page.state[word.word] = "[x]"
        case .feedback: page.feedback[word.word] = "x"
        case .transition: page.transition[word.word] = "x"
        case .bus: page.bus[word.word] = "x"
        case .link: page.link[word.word] = "x"
        case .supervision: page.supervision[word.word] = "x"
        case .retry: page.feedback["retry"] = "{ times: 3, \(word.word): x }"
        }
        let found = Self.told(page)
        #expect(found.count == 1, "\(Self.shown(found))")
        let hint = try #require(found.first?.hint)
        #expect(hint.contains(word.key), "\(Self.shown(found))")
        #expect(!hint.hasPrefix("possible here"), "\(Self.shown(found))")
    }

    /// As a side effect of its own.
    @Test(
        arguments: ForeignWord.all.filter { word in
            word.place == .feedback && EffectSchema.builtin.contains { $0.name == word.key }
        })
    func `lead to a side effect`(word: ForeignWord) throws {
        var page = Page()
        page.feedback = ["onState": "Off", word.word: "x"]
        let found = Self.told(page)
        #expect(found.count == 1, "\(Self.shown(found))")
        #expect(found.first?.hint?.contains(word.key) == true, "\(Self.shown(found))")
    }

    /// Words that are only another name here: the place, the words, and the key.
    @Test(arguments: [
        (ForeignWord.Place.transition, "target goto next next_state then destination", "to"),
        (.transition, "data assign update with", "set"),
        (.transition, "if guard cond condition conditions filter unless value_template", "when"),
        (.feedback, "state onEnter entry inState", "onState"), (.feedback, "if guard condition only_if", "when"),
        (.feedback, "interval period time_pattern", "every"),
        (.feedback, "cron OnCalendar schedule crontab calendar", "at"),
        (.feedback, "delay", "after"), (.feedback, "retries", "retry"),
        (.feedback, "TimeoutSec timeout-minutes timeout_second RuntimeMaxSec TimeoutStartSec stopwaitsecs", "timeout"),
        (.feedback, "on_error onError onFailed on_failure", "onFailure"),
        (.feedback, "on_success onDone onComplete", "onSuccess"), (.feedback, "on_stdout", "onLine"),
        (.feedback, "on_unhealthy", "onDown"), (.feedback, "on_healthy", "onUp"),
        (.feedback, "exec cmd ExecStart", "run"),
        (.bus, "type schema", "value"), (.bus, "default", "initial"), (.bus, "queue size max-size capacity", "limit"),
        (.link, "from source system", "attach"), (.link, "bus topic destination", "to"), (.link, "state", "onState"),
        (.supervision, "restart autorestart action", "onFault"), (.supervision, "RestartSec backoff", "delay"),
        (.supervision, "RestartMaxDelaySec", "maxDelay"),
        (.retry, "count attempts max_attempts", "times"), (.retry, "backoff wait", "delay"),
    ])
    func `that are only called otherwise are named`(place: ForeignWord.Place, words: String, key: String) {
        let samples = [
            "when": "\"state.n > 1\"", "every": "5s", "at": "\"08:00\"", "after": "5s", "retry": "3", "timeout": "5s",
            "onFailure": "Other", "onSuccess": "Other", "onLine": "Other", "onDown": "Other", "onUp": "Other",
            "limit": "10", "initial": "a", "delay": "1s", "maxDelay": "20s", "times": "3",
        ]
        for word in words.split(separator: " ").map(String.init) {
            var page = Page()
            func put(_ keys: inout [String: String]) {
                keys[word] = keys.removeValue(forKey: key) ?? samples[key] ?? "x"
            }
            switch place {
            case .transition:
                if key == "when" { page.transition["when"] = "event.n > 1" }
                put(&page.transition)
            case .feedback:
                if key == "when" { page.feedback["when"] = "1 < now.getHours()" }
                put(&page.feedback)
            case .bus: put(&page.bus)
            case .link: put(&page.link)
            case .supervision: put(&page.supervision)
            case .retry:
                var keys = ["times": "3"]
                put(&keys)
                page.feedback["retry"] = "{ \(keys.map { "\($0.key): \($0.value)" }.joined(separator: ", ")) }"
            case .system, .state: break
            }
            let found = Self.told(page)
            #expect(found.count == 1, "\(word): \(Self.shown(found))")
            #expect(found.first?.hint?.contains("'\(key)'") == true, "\(word): \(Self.shown(found))")
        }
    }

    /// Parameters of side effects.
    @Test(arguments: [
        ("run: { command: [ls], WORD: x }", "cwd chdir workingDirectory working-directory", "directory"),
        ("run: { command: [ls], WORD: { A: b } }", "env environment_variables", "environment"),
        ("run: { command: [ls], WORD: \"0\" }", "exitcodes SuccessExitStatus exit_code", "expect"),
        ("run: { command: [ls], WORD: root }", "uid runAs", "user"),
        ("run: { command: [ls], WORD: x }", "stdin", "input"),
        ("tcp: { host: a, port: 1, WORD: 3 }", "fall unhealthy_threshold max_fails", "failureThreshold"),
        ("tcp: { host: a, port: 1, WORD: 3 }", "rise healthy-threshold", "successThreshold"),
        ("tcp: { host: a, port: 1, WORD: 3 }", "interval", "every"),
        ("tcp: { WORD: a, port: 1 }", "address hostname ip server", "host"),
        ("http: { WORD: \"http://a\" }", "uri endpoint", "url"),
        ("http: { url: \"http://a\", WORD: x }", "data json payload", "body"),
        ("http: { url: \"http://a\", WORD: \"200\" }", "status status_code expected_status", "expect"),
        ("http: { url: \"http://a\", WORD: true }", "insecure insecure_skip_verify verify_ssl", "verify"),
        ("http: { url: \"http://a\", WORD: 3 }", "allow_redirects follow_redirect", "followRedirects"),
        ("log: { WORD: x }", "msg text", "message"),
        ("log: { message: x, WORD: warning }", "severity priority", "level"),
        ("notify: { url: \"http://a\", WORD: x }", "message msg body content", "text"),
        ("notify: { url: \"http://a\", text: x, WORD: high }", "severity urgency level", "priority"),
        ("notify: { url: \"http://a\", text: x, WORD: x }", "subject summary", "title"),
    ])
    func `within side effects are named`(effect: String, words: String, key: String) {
        for word in words.split(separator: " ") {
            let text = Page().text.replacing(
                "f: { onState: Off, run: { command: [ls] } }",
                with: "f: { onState: Off, \(effect.replacing("WORD", with: word)) }")
            let errors = compile(text).diagnostics.filter { $0.severity == .error }
            // A required parameter under another name is also reported as missing.
            let found = errors.filter { $0.code != .missingParameter }
            #expect(found.count == 1, "\(word): \(Self.shown(errors))")
            #expect(found.first?.hint?.contains(key) == true, "\(word): \(Self.shown(errors))")
        }
    }

    @Test(arguments: [
        "[Unit]\nDescription=foo\n[Service]\nExecStart=/bin/x\n", "[Timer]\nOnCalendar=daily\n",
        "[program:foo]\ncommand=/bin/cat\n", "- alias: foo\n  trigger: { platform: state }\n",
        "automation:\n  - alias: foo\n    trigger: []\n", "id: lamp\ninitial: off\nstates:\n  off: { on: { P: on } }\n",
        "vrrp_script chk {\n  script \"killall -0 x\"\n  interval 2\n}\n",
        "check process nginx with pidfile /run/nginx.pid\n  start program = \"/bin/x\"\n",
        "operation = \"x\"\n[init]\naction = \"proceed\"\n", "route:\n  receiver: x\nreceivers:\n- name: x\n",
    ])
    func `as whole files lead to a system`(text: String) {
        let found = compile(text).diagnostics
        #expect(found.count == 1, "\(Self.shown(found))")
        #expect(found.first?.hint?.contains("system: NAME") == true, "\(Self.shown(found))")
    }

    @Test func `what a state does and where it leads is told once for all states`() {
        let found = compile(
            """
            system: lamp
            states:
              Off: { entry: [log], on: { PRESS: On } }
              On: { on: { PRESS: Off }, after: { 5s: Off } }
              Broken: { after: 5s, on: string, n: int }
            initialState: Off

            """
        ).diagnostics
        #expect(found.map(\.code) == [.unknownKey, .unknownKey, .unknownKey], "\(Self.shown(found))")
        #expect(found.map { $0.location?.line } == [3, 3, 4], "\(Self.shown(found))")
    }
}
