import MediatorConfiguration
import Testing

@Suite struct `Silenced mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a broken type silences what uses the field",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: itn } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              any:
                Measured: { when: event.used > 1, to: Full, set: { used: "${event.used + 1}" } }
            """#,
            #"""
            a.yaml:2:37: error: there is no type 'itn' [unknown-type]
              states: { Normal: {}, Full: { used: itn } }
                                                  ^~~
              hint: did you mean 'int'?
            """#),
        Mistake(
            "a broken state silences what uses it",
            #"""
            system: disk
            states: { Normal: {}, Full: [used] }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Measured: { when: state.used > state.max, to: Full, set: { max: 1 } }
            """#,
            #"""
            a.yaml:2:29: error: the fields of 'Full' must be a mapping, not a list [wrong-shape]
              states: { Normal: {}, Full: [used] }
                                          ^
            """#),
        Mistake(
            "broken events silence what uses them",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: [Measured]
            initialState: Normal
            transitions:
              Full:
                Measured: Normal
            """#,
            #"""
            a.yaml:3:9: error: 'events' must be a mapping, not a list [wrong-shape]
              events: [Measured]
                      ^
              hint: write { Measured: {} }
            """#),
        Mistake(
            "a broken bus silences its links",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ---
            buses:
              status: { kind: passthrough, value: strng }
            links:
              a: { attach: disk, to: status, when: value.x > 1, emitEvent: Cleaned }
            """#,
            #"""
            a.yaml:7:39: error: there is no type 'strng' [unknown-type]
                status: { kind: passthrough, value: strng }
                                                    ^~~~~
              hint: did you mean 'string'?
            """#),
        Mistake(
            "a broken document silences who refers to it",
            #"""
            system: disk
            states: [
            ---
            system: other
            states: { A: {} }
            initialState: B
            ---
            buses:
              status: { kind: passthrough, value: string }
            links:
              a: { attach: disk, to: status, onState: Full, emitValue: x }
            """#,
            #"""
            a.yaml:2:9: error: this '[' is never closed [syntax]
              states: [
                      ^
            a.yaml:6:15: error: 'other' has no state 'B' [unknown-state]
              initialState: B
                            ^
              hint: possible here: A
            """#),
    ]
}
