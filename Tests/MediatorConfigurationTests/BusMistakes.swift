import MediatorConfiguration
import Testing

@Suite struct `Bus mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
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
              a: { kind: currentValue, value: int, initial: "${1 / 0}", external: both }
            """#,
            #"""
            a.yaml:2:52: error: 'initial' cannot be computed: 1 / 0: division by zero [invalid-expression]
                a: { kind: currentValue, value: int, initial: "${1 / 0}", external: both }
                                                                 ^~~~~
            """#),
        Mistake(
            "an element of an initial value that cannot be computed",
            #"""
            buses:
              b: { kind: currentValue, value: "list(string)", initial: [x, "a ${string(int('x'))}"], external: both }
            """#,
            #"""
            a.yaml:2:76: error: an element of 'initial' cannot be computed: "x" is not an int [invalid-expression]
                b: { kind: currentValue, value: "list(string)", initial: [x, "a ${string(int('x'))}"], external: both }
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
