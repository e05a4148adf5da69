import MediatorConfiguration
import Testing

@Suite struct `Link mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a link to an unknown bus",
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
              a: { attach: disk, to: statu, onState: Full, emitValue: x }
            """#,
            #"""
            a.yaml:10:26: error: there is no bus 'statu' [unknown-bus]
                a: { attach: disk, to: statu, onState: Full, emitValue: x }
                                       ^~~~~
              hint: did you mean 'status'?
            """#),
        Mistake(
            "a link to a system as if it were a bus",
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
              a: { attach: disk, to: disk, onState: Full, emitValue: x }
            """#,
            #"""
            a.yaml:10:26: error: there is no bus 'disk' [unknown-bus]
                a: { attach: disk, to: disk, onState: Full, emitValue: x }
                                       ^~~~
              hint: 'disk' is a system: write toSystem instead of to
            """#),
        Mistake(
            "a link of an unknown system",
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
              a: { attach: dsk, to: status, onState: Full, emitValue: x }
            """#,
            #"""
            a.yaml:10:16: error: there is no system 'dsk' [unknown-system]
                a: { attach: dsk, to: status, onState: Full, emitValue: x }
                             ^~~
              hint: did you mean 'disk'?
            """#),
        Mistake(
            "a link without attach",
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
              a: { to: status, onState: Full, emitValue: x }
            """#,
            #"""
            a.yaml:10:3: error: the link 'a' needs 'attach' [missing-key]
                a: { to: status, onState: Full, emitValue: x }
                ^
              hint: write attach: and the system's name
            """#),
        Mistake(
            "a link that leads nowhere",
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
              a: { attach: disk, onState: Full, emitValue: x }
            """#,
            #"""
            a.yaml:10:3: error: the link 'a' leads nowhere [link-form]
                a: { attach: disk, onState: Full, emitValue: x }
                ^
              hint: write from: and the bus that it reads, to: and the bus that it writes, or toSystem: and a system
            """#),
        Mistake(
            "a link that leads two ways",
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
              a: { attach: disk, to: status, toSystem: disk, onState: Full, emitValue: x }
            """#,
            #"""
            a.yaml:10:34: error: the link 'a' has both 'to' and 'toSystem' [link-form]
                a: { attach: disk, to: status, toSystem: disk, onState: Full, emitValue: x }
                                               ^~~~~~~~
              hint: write two links
            """#),
        Mistake(
            "a link that emits nothing",
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
              a: { attach: disk, to: status, onState: Full }
            """#,
            #"""
            a.yaml:10:3: error: the link 'a' emits nothing [link-form]
                a: { attach: disk, to: status, onState: Full }
                ^
              hint: add emitValue (to the bus), or emitEvent or setInput (from the bus)
            """#),
        Mistake(
            "a link that emits both",
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
              a: { attach: disk, to: status, onState: Full, emitValue: x, emitEvent: Cleaned }
            """#,
            #"""
            a.yaml:10:63: error: the link 'a' has both 'emitValue' and 'emitEvent' [link-form]
                a: { attach: disk, to: status, onState: Full, emitValue: x, emitEvent: Cleaned }
                                                                            ^~~~~~~~~
              hint: emitValue puts a value on a bus, emitEvent puts an event into a system: write two links
            """#),
        Mistake(
            "a value to a system",
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
              a: { attach: disk, toSystem: disk, onState: Full, emitValue: x }
            """#,
            #"""
            a.yaml:10:53: error: a link with 'toSystem' emits an event, not a value [link-form]
                a: { attach: disk, toSystem: disk, onState: Full, emitValue: x }
                                                                  ^~~~~~~~~
              hint: use emitEvent, or to: and a bus instead of toSystem
            """#),
        Mistake(
            "onState with an event from a bus",
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
              a: { attach: disk, to: status, onState: Full, emitEvent: Cleaned }
            """#,
            #"""
            a.yaml:10:34: error: a link with 'emitEvent' from a bus looks at values of the bus, not at states [link-form]
                a: { attach: disk, to: status, onState: Full, emitEvent: Cleaned }
                                               ^~~~~~~
              hint: use onValue or when; to emit into a system when a state comes, use toSystem instead of to
            """#),
        Mistake(
            "toSystem without onState",
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
              a: { attach: disk, toSystem: disk, emitEvent: Cleaned }
            """#,
            #"""
            a.yaml:10:22: error: a link with 'toSystem' needs 'onState' [link-form]
                a: { attach: disk, toSystem: disk, emitEvent: Cleaned }
                                   ^~~~~~~~
              hint: say in which state it emits
            """#),
        Mistake(
            "a link with an unknown event",
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
              a: { attach: disk, toSystem: disk, onState: Full, emitEvent: Clean }
            """#,
            #"""
            a.yaml:10:64: error: 'disk' has no event 'Clean' [unknown-event]
                a: { attach: disk, toSystem: disk, onState: Full, emitEvent: Clean }
                                                                             ^~~~~
              hint: did you mean 'Cleaned'?
            """#),
        Mistake(
            "a link with an unknown key",
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
              a: { attach: disk, to: status, onSate: Full, onState: Full, emitValue: x }
            """#,
            #"""
            a.yaml:10:34: error: the link 'a' has no key 'onSate' [unknown-key]
                a: { attach: disk, to: status, onSate: Full, onState: Full, emitValue: x }
                                               ^~~~~~
              hint: did you mean 'onState'?
            """#),
        Mistake(
            "a misspelt key does not hide a wrong name beside it",
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
              a: { attach: disk, to: status, onState: Ful, emitvalue: full }
            """#,
            #"""
            a.yaml:10:43: error: 'disk' has no state 'Ful' [unknown-state]
                a: { attach: disk, to: status, onState: Ful, emitvalue: full }
                                                        ^~~
              hint: did you mean 'Full'?
            a.yaml:10:48: error: the link 'a' has no key 'emitvalue' [unknown-key]
                a: { attach: disk, to: status, onState: Ful, emitvalue: full }
                                                             ^~~~~~~~~
              hint: did you mean 'emitValue'?
            """#),
        Mistake(
            "a foreign key is what is missing, and hides no wrong name",
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
              a: { attach: disk, to: status, onState: Ful, emit: full }
            """#,
            #"""
            a.yaml:10:43: error: 'disk' has no state 'Ful' [unknown-state]
                a: { attach: disk, to: status, onState: Ful, emit: full }
                                                        ^~~
              hint: did you mean 'Full'?
            a.yaml:10:48: error: the link 'a' has no key 'emit' [unknown-key]
                a: { attach: disk, to: status, onState: Ful, emit: full }
                                                             ^~~~
              hint: write emitValue: and a value for the bus, or emitEvent: and an event for a system
            """#),
        Mistake(
            "a foreign key in the place of onState",
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
              a: { attach: disk, to: status, trigger: Full, emitValue: full }
            """#,
            #"""
            a.yaml:10:34: error: the link 'a' has no key 'trigger' [unknown-key]
                a: { attach: disk, to: status, trigger: Full, emitValue: full }
                                               ^~~~~~~
              hint: a link looks at states or at values: write onState: and a state, and emitValue or emitEvent
            """#),
        Mistake(
            "on in the place of onState",
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
              a: { attach: disk, to: status, on: Full, emitValue: full }
            """#,
            #"""
            a.yaml:10:38: error: 'on' of a link is 'entry' or 'change', not 'Full' [unknown-choice]
                a: { attach: disk, to: status, on: Full, emitValue: full }
                                                   ^~~~
              hint: for the states in which it fires write onState
            """#),
        Mistake(
            "a link from a bus with on",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            fromOutside: any
            transitions: { Normal: { Measured: { to: Full, set: { used: 1 } } }, Full: { Cleaned: Normal } }
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown, fromOutside: write }
            links:
              a: { attach: disk, to: status, on: change, emitEvent: Cleaned }
            """#,
            #"""
            a.yaml:11:34: error: a link from a bus fires at each value, so it has no 'on' [link-form]
                a: { attach: disk, to: status, on: change, emitEvent: Cleaned }
                                               ^~
              hint: leave it out; to select values write onValue or when
            """#),
        Mistake(
            "a foreign key in the place of attach",
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
              a: { from: disk, to: status, onState: Full, emitValue: full }
            """#,
            #"""
            a.yaml:10:8: error: the link 'a' has no key 'from' [unknown-key]
                a: { from: disk, to: status, onState: Full, emitValue: full }
                     ^~~~
              hint: did you mean 'attach'?
            """#),
    ]
}
