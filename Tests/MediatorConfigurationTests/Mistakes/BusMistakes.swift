import MediatorConfiguration
import Testing

@Suite struct `Bus mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a value for a bus that there is not",
            #"""
            buses: { status: { kind: passthrough, value: int, fromOutside: read } }
            ---
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int } }
            fromOutside: any
            initialState: Normal
            feedbacks:
              tell:
                onState: Full
                publish: { to: staus, value: "${state.used}" }
            transitions: { any: { Measured: { to: Full, set: { used: "${event.used}" } } } }
            """#,
            #"""
            a.yaml:11:20: error: there is no bus 'staus' [unknown-bus]
                  publish: { to: staus, value: "${state.used}" }
                                 ^~~~~
              hint: did you mean 'status'?
            """#),
        Mistake(
            "a value of another type than the bus's",
            #"""
            buses: { status: { kind: passthrough, value: int, fromOutside: read } }
            ---
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int } }
            fromOutside: any
            initialState: Normal
            feedbacks:
              tell:
                onState: Full
                publish: { to: status, value: "${string(state.used)}" }
            transitions: { any: { Measured: { to: Full, set: { used: "${event.used}" } } } }
            """#,
            #"""
            a.yaml:11:38: error: the result is string, but int is needed; convert it with int(string(state.used)) [wrong-type]
                  publish: { to: status, value: "${string(state.used)}" }
                                                   ^~~~~~~~~~~~~~~~~~
            """#),
        Mistake(
            "a fixed value of another type than the bus's",
            #"""
            buses: { status: { kind: passthrough, value: int, fromOutside: read } }
            ---
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int } }
            fromOutside: any
            initialState: Normal
            feedbacks:
              tell:
                onState: Full
                publish: { to: status, value: full }
            transitions: { any: { Measured: { to: Full, set: { used: "${event.used}" } } } }
            """#,
            #"""
            a.yaml:11:35: error: 'value' is of type int, but 'full' is text [wrong-type]
                  publish: { to: status, value: full }
                                                ^~~~
            """#),
        Mistake(
            "a publication without a value",
            #"""
            buses: { status: { kind: passthrough, value: int, fromOutside: read } }
            ---
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int } }
            fromOutside: any
            initialState: Normal
            feedbacks:
              tell:
                onState: Full
                publish: { to: status }
            transitions: { any: { Measured: { to: Full, set: { used: "${event.used}" } } } }
            """#,
            #"""
            a.yaml:11:5: error: 'publish' needs the parameter 'value' [missing-parameter]
                  publish: { to: status }
                  ^~~~~~~
            """#),
        Mistake(
            "a publication without parameters",
            #"""
            buses: { status: { kind: passthrough, value: int, fromOutside: read } }
            ---
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int } }
            fromOutside: any
            initialState: Normal
            feedbacks:
              tell:
                onState: Full
                publish: status
            transitions: { any: { Measured: { to: Full, set: { used: "${event.used}" } } } }
            """#,
            #"""
            a.yaml:11:14: error: 'publish' needs its parameters [wrong-shape]
                  publish: status
                           ^~~~~~
              hint: write publish: { to: …, value: … }
            """#),
        Mistake(
            "a publication with a time limit",
            #"""
            buses: { status: { kind: passthrough, value: int, fromOutside: read } }
            ---
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int } }
            fromOutside: any
            initialState: Normal
            feedbacks:
              tell:
                onState: Full
                timeout: 1s
                publish: { to: status, value: 1 }
            transitions: { any: { Measured: { to: Full, set: { used: "${event.used}" } } } }
            """#,
            #"""
            a.yaml:11:5: error: 'publish' is done at once, so 'timeout' means nothing beside it [conflicting-keys]
                  timeout: 1s
                  ^~~~~~~
              hint: leave it out
            """#),
        Mistake(
            "a value for a system",
            #"""
            buses: { status: { kind: passthrough, value: int, fromOutside: read } }
            ---
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int } }
            fromOutside: any
            initialState: Normal
            feedbacks:
              tell:
                onState: Full
                publish: { to: disk, value: 1 }
            transitions: { any: { Measured: { to: Full, set: { used: "${event.used}" } } } }
            """#,
            #"""
            a.yaml:11:20: error: there is no bus 'disk' [unknown-bus]
                  publish: { to: disk, value: 1 }
                                 ^~~~
              hint: possible here: status
            """#),
        Mistake(
            "a publication in a state that there is not, on a bus that there is not",
            #"""
            buses: { status: { kind: passthrough, value: int, fromOutside: read } }
            ---
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int } }
            fromOutside: any
            initialState: Normal
            feedbacks:
              tell:
                onState: Ful
                publish: { to: staus, value: 1 }
            transitions: { any: { Measured: { to: Full, set: { used: "${event.used}" } } } }
            """#,
            #"""
            a.yaml:10:14: error: 'disk' has no state 'Ful' [unknown-state]
                  onState: Ful
                           ^~~
              hint: did you mean 'Full'?
            a.yaml:11:20: error: there is no bus 'staus' [unknown-bus]
                  publish: { to: staus, value: 1 }
                                 ^~~~~
              hint: did you mean 'status'?
            """#),
        Mistake(
            "a bus without kind",
            #"""
            buses:
              status: { value: string }
            """#,
            #"""
            a.yaml:2:3: error: the bus 'status' needs 'kind' [missing-key]
                status: { value: string }
                ^~~~~~
              hint: write kind: passthrough or kind: currentValue
            """#),
        Mistake(
            "an initial value that cannot be computed",
            #"""
            buses:
              a: { kind: currentValue, value: int, initial: "${1 / 0}", fromOutside: both }
            """#,
            #"""
            a.yaml:2:52: error: 'initial' cannot be computed: 1 / 0: division by zero [invalid-expression]
                a: { kind: currentValue, value: int, initial: "${1 / 0}", fromOutside: both }
                                                                 ^~~~~
            """#),
        Mistake(
            "an element of an initial value that cannot be computed",
            #"""
            buses:
              b: { kind: currentValue, value: "list(string)", initial: [x, "a ${string(int('x'))}"], fromOutside: both }
            """#,
            #"""
            a.yaml:2:76: error: an element of 'initial' cannot be computed: "x" is not an int [invalid-expression]
                b: { kind: currentValue, value: "list(string)", initial: [x, "a ${string(int('x'))}"], fromOutside: both }
                                                                                         ^~~~~~~~
            """#),
        Mistake(
            "a bus of unknown kind",
            #"""
            buses:
              status: { kind: current, value: string, initial: x }
            """#,
            #"""
            a.yaml:2:19: error: kind is 'passthrough' or 'currentValue', not 'current' [unknown-choice]
                status: { kind: current, value: string, initial: x }
                                ^~~~~~~
              hint: did you mean 'currentValue'?
            """#),
        Mistake(
            "a bus without value",
            #"""
            buses:
              status: { kind: passthrough }
            """#,
            #"""
            a.yaml:2:3: error: the bus 'status' needs 'value' [missing-key]
                status: { kind: passthrough }
                ^~~~~~
              hint: write the type of its values, such as string
            """#),
        Mistake(
            "a bus of unknown type",
            #"""
            buses:
              status: { kind: passthrough, value: strng }
            """#,
            #"""
            a.yaml:2:39: error: there is no type 'strng' [unknown-type]
                status: { kind: passthrough, value: strng }
                                                    ^~~~~
              hint: did you mean 'string'?
            """#),
        Mistake(
            "a current value without initial",
            #"""
            buses:
              status: { kind: currentValue, value: string }
            """#,
            #"""
            a.yaml:2:3: error: the currentValue bus 'status' needs 'initial' [missing-key]
                status: { kind: currentValue, value: string }
                ^~~~~~
              hint: write the value it has before anyone sets it
            """#),
        Mistake(
            "a passthrough with initial",
            #"""
            buses:
              status: { kind: passthrough, value: string, initial: x }
            """#,
            #"""
            a.yaml:2:47: error: the passthrough bus 'status' has no initial value, since it remembers none [conflicting-keys]
                status: { kind: passthrough, value: string, initial: x }
                                                            ^~~~~~~
              hint: leave 'initial' out, or write kind: currentValue
            """#),
        Mistake(
            "an initial value of the wrong type",
            #"""
            buses:
              status: { kind: currentValue, value: string, initial: 42 }
            """#,
            #"""
            a.yaml:2:57: error: 'initial' is of type string, but 42 is a number [wrong-type]
                status: { kind: currentValue, value: string, initial: 42 }
                                                                      ^~
              hint: write "42"
            """#),
        Mistake(
            "an initial value with a field missing",
            #"""
            buses:
              alarms: { kind: currentValue, value: { text: string, severity: int }, initial: { text: x } }
            """#,
            #"""
            a.yaml:2:82: error: 'initial' needs the field 'severity' [missing-field]
                alarms: { kind: currentValue, value: { text: string, severity: int }, initial: { text: x } }
                                                                                               ^
              hint: its fields are { text: string, severity: int }
            """#),
        Mistake(
            "an initial value from a clock",
            #"""
            buses:
              status: { kind: currentValue, value: timestamp, initial: "${now}" }
            """#,
            #"""
            a.yaml:2:63: error: only a fixed value can stand here, and 'now' varies [not-constant]
                status: { kind: currentValue, value: timestamp, initial: "${now}" }
                                                                            ^~~
              hint: write the value itself
            """#),
        Mistake(
            "an unknown key of a bus",
            #"""
            buses:
              status: { kind: passthrough, value: string, limt: 3 }
            """#,
            #"""
            a.yaml:2:47: error: the bus 'status' has no key 'limt' [unknown-key]
                status: { kind: passthrough, value: string, limt: 3 }
                                                            ^~~~
              hint: did you mean 'limit'?
            """#),
        Mistake(
            "buses as a list",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses: [status]
            links:
              a: { attach: disk, to: status, onState: Full, emitValue: x }
            """#,
            #"""
            a.yaml:6:8: error: 'buses' must be a mapping, not a list [wrong-shape]
              buses: [status]
                     ^
            """#),
    ]
}
