import MediatorConfiguration
import Testing

@Suite struct `Link value mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "onValue with emitValue",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown }
              alarms: { kind: passthrough, value: { text: string, severity: int } }
            links:
              a: { attach: disk, to: status, onValue: x, emitValue: x }
            """#,
            #"""
            a.yaml:10:34: error: a link with 'emitValue' looks at states, not at values of the bus [link-form]
                a: { attach: disk, to: status, onValue: x, emitValue: x }
                                               ^~~~~~~
              hint: use onState, or emitEvent instead of emitValue
            """#),
        Mistake(
            "emitValue without onState",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown }
              alarms: { kind: passthrough, value: { text: string, severity: int } }
            links:
              a: { attach: disk, to: status, emitValue: x }
            """#,
            #"""
            a.yaml:10:34: error: a link with 'emitValue' needs 'onState' [link-form]
                a: { attach: disk, to: status, emitValue: x }
                                               ^~~~~~~~~
              hint: say in which state it emits
            """#),
        Mistake(
            "onValue with toSystem",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown }
              alarms: { kind: passthrough, value: { text: string, severity: int } }
            links:
              a: { attach: disk, toSystem: disk, onValue: x, emitEvent: Cleaned }
            """#,
            #"""
            a.yaml:10:38: error: a link with 'toSystem' looks at states, not at values of a bus [link-form]
                a: { attach: disk, toSystem: disk, onValue: x, emitEvent: Cleaned }
                                                   ^~~~~~~
              hint: use onState
            """#),
        Mistake(
            "onValue and when",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown }
              alarms: { kind: passthrough, value: { text: string, severity: int } }
            links:
              a: { attach: disk, to: status, onValue: x, when: value == 'y', emitEvent: Cleaned }
            """#,
            #"""
            a.yaml:10:46: error: 'onValue' and 'when' exclude each other [link-form]
                a: { attach: disk, to: status, onValue: x, when: value == 'y', emitEvent: Cleaned }
                                                           ^~~~
              hint: put both into when: value == … && …
            """#),
        Mistake(
            "onValue of the wrong type",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown }
              alarms: { kind: passthrough, value: { text: string, severity: int } }
            links:
              a: { attach: disk, to: status, onValue: 3, emitEvent: Cleaned }
            """#,
            #"""
            a.yaml:10:43: error: 'onValue' is of type string, but 3 is a number [wrong-type]
                a: { attach: disk, to: status, onValue: 3, emitEvent: Cleaned }
                                                        ^
              hint: write "3"
            """#),
        Mistake(
            "when on an unknown field of the value",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown }
              alarms: { kind: passthrough, value: { text: string, severity: int } }
            links:
              a: { attach: disk, to: alarms, when: value.severty >= 3, emitEvent: Cleaned }
            """#,
            #"""
            a.yaml:10:46: error: 'value' has no field 'severty' [unknown-field]
                a: { attach: disk, to: alarms, when: value.severty >= 3, emitEvent: Cleaned }
                                                           ^~~~~~~
              hint: did you mean 'severity'?
            """#),
        Mistake(
            "emitValue without a field",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown }
              alarms: { kind: passthrough, value: { text: string, severity: int } }
            links:
              a: { attach: disk, to: alarms, onState: Full, emitValue: { text: full } }
            """#,
            #"""
            a.yaml:10:60: error: 'emitValue' needs the field 'severity' [missing-field]
                a: { attach: disk, to: alarms, onState: Full, emitValue: { text: full } }
                                                                         ^
              hint: its fields are { text: string, severity: int }
            """#),
        Mistake(
            "emitValue that is no structure",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown }
              alarms: { kind: passthrough, value: { text: string, severity: int } }
            links:
              a: { attach: disk, to: alarms, onState: Full, emitValue: full }
            """#,
            #"""
            a.yaml:10:60: error: 'emitValue' is of type { text: string, severity: int }, but 'full' is text [wrong-type]
                a: { attach: disk, to: alarms, onState: Full, emitValue: full }
                                                                         ^~~~
              hint: write its fields: { text: string, severity: int }
            """#),
        Mistake(
            "state in a link from a bus",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown }
              alarms: { kind: passthrough, value: { text: string, severity: int } }
            links:
              a: { attach: disk, to: status, when: state.used > 1, emitEvent: Cleaned }
            """#,
            #"""
            a.yaml:10:40: error: unknown variable 'state' [unknown-variable]
                a: { attach: disk, to: status, when: state.used > 1, emitEvent: Cleaned }
                                                     ^~~~~
              hint: variables here: value, now
            """#),
        Mistake(
            "a wrong state does not hide a wrong field",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown }
              alarms: { kind: passthrough, value: { text: string, severity: int } }
            links:
              a: { attach: disk, to: alarms, onState: Ful, emitValue: { text: a, severty: 1 } }
            """#,
            #"""
            a.yaml:10:43: error: 'disk' has no state 'Ful' [unknown-state]
                a: { attach: disk, to: alarms, onState: Ful, emitValue: { text: a, severty: 1 } }
                                                        ^~~
              hint: did you mean 'Full'?
            a.yaml:10:70: error: 'emitValue' has no field 'severty' [unknown-field]
                a: { attach: disk, to: alarms, onState: Ful, emitValue: { text: a, severty: 1 } }
                                                                                   ^~~~~~~
              hint: did you mean 'severity'?
            """#),
        Mistake(
            "a wrong state does not hide a wrong field of an event",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown }
              alarms: { kind: passthrough, value: { text: string, severity: int } }
            links:
              a: { attach: disk, toSystem: disk, onState: [Normal, Ful], emitEvent: { Measured: { usd: '${state.used' } } }
            """#,
            #"""
            a.yaml:10:56: error: 'disk' has no state 'Ful' [unknown-state]
                a: { attach: disk, toSystem: disk, onState: [Normal, Ful], emitEvent: { Measured: { usd: '${state.used' } } }
                                                                     ^~~
              hint: did you mean 'Full'?
            a.yaml:10:87: error: the event 'Measured' has no field 'usd' [unknown-field]
                a: { attach: disk, toSystem: disk, onState: [Normal, Ful], emitEvent: { Measured: { usd: '${state.used' } } }
                                                                                                    ^~~
              hint: did you mean 'used'?
            """#),
        Mistake(
            "what a wrong state has is not known",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown }
              alarms: { kind: passthrough, value: { text: string, severity: int } }
            links:
              a: { attach: disk, to: status, onState: Ful, when: state.used > 1, emitValue: '${state.used}' }
            """#,
            #"""
            a.yaml:10:43: error: 'disk' has no state 'Ful' [unknown-state]
                a: { attach: disk, to: status, onState: Ful, when: state.used > 1, emitValue: '${state.used}' }
                                                        ^~~
              hint: did you mean 'Full'?
            """#),
    ]
}
