import MediatorConfiguration
import Testing

@Suite struct `Outcome mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a probe of which nothing becomes",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                every: 1m
                dns: localhost
            """#,
            #"""
            a.yaml:9:5: warning: nothing becomes of what 'dns' tells [moot]
                  dns: localhost
                  ^~~
              hint: its outcomes are onSuccess, onFailure, onUp, onDown
            """#),
        Mistake(
            "thresholds that nobody hears of",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                every: 1m
                run: { command: [df], failureWindow: 5, failureThreshold: 3 }
                onSuccess: Cleaned
            """#,
            #"""
            a.yaml:9:45: warning: 'failureThreshold' means nothing without an 'onUp' or 'onDown' [moot]
                  run: { command: [df], failureWindow: 5, failureThreshold: 3 }
                                                          ^~~~~~~~~~~~~~~~
            """#),
        Mistake(
            "an unknown side effect with outcomes of its own",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                knock: 3
                onChanged: Cleaned
            """#,
            #"""
            a.yaml:8:5: error: there is no side effect 'knock' [unknown-effect]
                  knock: 3
                  ^~~~~
              hint: possible here: run, emit, publish, log, socket, path, filesystem, interface, …; mediatorctl knows those of a daemon of one's own by --kinds
            """#),
        Mistake(
            "an unknown side effect behind outcomes of its own",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                onRung: Cleaned
                knock: 3
            """#,
            #"""
            a.yaml:9:5: error: there is no side effect 'knock' [unknown-effect]
                  knock: 3
                  ^~~~~
              hint: possible here: run, emit, publish, log, socket, path, filesystem, interface, …; mediatorctl knows those of a daemon of one's own by --kinds
            """#),
        Mistake(
            "an outcome the side effect does not have",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                log: hello
                onSuccess: Cleaned
            """#,
            #"""
            a.yaml:9:5: error: 'log' has no outcome 'onSuccess' [unknown-outcome]
                  onSuccess: Cleaned
                  ^~~~~~~~~
              hint: it has none
            """#),
        Mistake(
            "an outcome with an unknown event",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                onSuccess: Clened
            """#,
            #"""
            a.yaml:9:16: error: 'disk' has no event 'Clened' [unknown-event]
                  onSuccess: Clened
                             ^~~~~~
              hint: did you mean 'Cleaned'?
            """#),
        Mistake(
            "an outcome without its event's data",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                onSuccess: Measured
            """#,
            #"""
            a.yaml:9:16: error: the event 'Measured' needs the field 'used' [missing-field]
                  onSuccess: Measured
                             ^~~~~~~~
              hint: its fields are { used: int }
            """#),
        Mistake(
            "an outcome with a wrong result",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                onLine: { Measured: { used: "${int(result.lin)}" } }
            """#,
            #"""
            a.yaml:9:47: error: 'result' (result) has no field 'lin' [unknown-field]
                  onLine: { Measured: { used: "${int(result.lin)}" } }
                                                            ^~~
              hint: did you mean 'line'?
            """#),
        Mistake(
            "an outcome with no rule",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                onLine: []
            """#,
            #"""
            a.yaml:9:13: error: 'onLine' needs at least one rule [empty]
                  onLine: []
                          ^
            """#),
        Mistake(
            "an outcome rule without emit",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                onLine:
                  - { when: result.number > 1 }
            """#,
            #"""
            a.yaml:10:9: error: a rule of 'onLine' needs 'emit' [missing-key]
                    - { when: result.number > 1 }
                      ^
            """#),
        Mistake(
            "an outcome rule is never reached",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                onLine:
                  - { emit: Cleaned }
                  - { when: result.number > 1, emit: Cleaned }
            """#,
            #"""
            a.yaml:11:9: error: this rule is never reached: the one before it always holds [unreachable-rule]
                    - { when: result.number > 1, emit: Cleaned }
                      ^
              hint: give the one before a 'when', or move it to the end
            """#),
        Mistake(
            "emit of two events",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                emit: [Cleaned, Cleaned]
            """#,
            #"""
            a.yaml:8:11: error: the event of 'emit' must be a name, or one name with its fields, not a list [wrong-shape]
                  emit: [Cleaned, Cleaned]
                        ^
              hint: write Name, or { Name: { field: value } }
            """#),
        Mistake(
            "result outside an outcome",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                log: "${result.line}"
            """#,
            #"""
            a.yaml:8:13: error: unknown variable 'result' [unknown-variable]
                  log: "${result.line}"
                          ^~~~~~
              hint: variables here: state, now
            """#),
        Mistake(
            "a template that is not closed",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                log: "used ${state"
            """#,
            #"""
            a.yaml:8:16: error: '${' is not closed with '}'; a literal '${' is written '$${' [invalid-expression]
                  log: "used ${state"
                             ^~
            """#),
    ]
}
