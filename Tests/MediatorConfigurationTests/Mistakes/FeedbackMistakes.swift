import MediatorConfiguration
import Testing

@Suite struct `Feedback mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a mode without runs that outlast their state",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                mode: queued
                run: [df]
            """#,
            #"""
            a.yaml:8:5: error: 'mode' is about runs that outlast their state, and with 'cancelOnNewState' none does [conflicting-keys]
                  mode: queued
                  ^~~~
              hint: add strategy: continueOnNewState, or leave 'mode' out
            """#),
        Mistake(
            "a limit of one run",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                strategy: continueOnNewState
                mode: single
                limit: 3
                run: [df]
            """#,
            #"""
            a.yaml:10:5: error: with mode: single there is one run at a time [conflicting-keys]
                  limit: 3
                  ^~~~~
              hint: leave 'limit' out
            """#),
        Mistake(
            "a mode that is none",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                strategy: continueOnNewState
                mode: queue
                run: [df]
            """#,
            #"""
            a.yaml:9:11: error: mode is 'parallel', 'single', 'queued' or 'restart', not 'queue' [unknown-choice]
                  mode: queue
                        ^~~~~
              hint: did you mean 'queued'?
            """#),
        Mistake(
            "more runs than there may be",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                strategy: continueOnNewState
                limit: 65
                run: [df]
            """#,
            #"""
            a.yaml:9:12: error: how many runs there may be is from 1 to 64, not 65 [out-of-range]
                  limit: 65
                         ^~
            """#),
        Mistake(
            "feedbacks that keep their system going round",
            #"""
            system: blinker
            states: { On: {}, Off: {} }
            events: { Go: {} }
            initialState: Off
            feedbacks:
              up: { onState: Off, emit: Go }
              down: { onState: On, emit: Go }
            transitions: { Off: { Go: On }, On: { Go: Off } }
            """#,
            #"""
            a.yaml:6:3: error: the feedbacks 'up' and 'down' of 'blinker' set each other off without end [feedback-loop]
                up: { onState: Off, emit: Go }
                ^~
              hint: it goes 'On' → 'Off' → 'On'; let one of them wait, such as after: 1s
            """#),
        Mistake(
            "a mode of what goes on by itself",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              look:
                onState: any
                strategy: continueOnNewState
                mode: queued
                path: /srv
                onChange: Cleaned
            """#,
            #"""
            a.yaml:9:5: error: 'path' goes on by itself, and there is one run of it: another would wait for ever [conflicting-keys]
                  mode: queued
                  ^~~~
              hint: leave 'mode' out
            """#),
        Mistake(
            "an unknown key of a feedback",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                stratgy: cancelOnNewState
                run: [df]
            """#,
            #"""
            a.yaml:8:5: error: the feedback 'probe' has no key 'stratgy' [unknown-key]
                  stratgy: cancelOnNewState
                  ^~~~~~~
              hint: did you mean 'strategy'?
            """#),
        Mistake(
            "no onState",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                run: [df]
            """#,
            #"""
            a.yaml:6:3: error: the feedback 'probe' needs 'onState' [missing-key]
                probe:
                ^~~~~
              hint: to run it in every state write onState: any
            """#),
        Mistake(
            "an unknown state in onState",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: [Normal, Ful]
                run: [df]
            """#,
            #"""
            a.yaml:7:23: error: 'disk' has no state 'Ful' [unknown-state]
                  onState: [Normal, Ful]
                                    ^~~
              hint: did you mean 'Full'?
            """#),
        Mistake(
            "a state twice in onState",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: [Full, Full]
                run: [df]
            """#,
            #"""
            a.yaml:7:21: error: the state 'Full' stands twice in this list [duplicate-name]
                  onState: [Full, Full]
                                  ^~~~
            """#),
        Mistake(
            "any among states",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: [Full, any]
                run: [df]
            """#,
            #"""
            a.yaml:7:21: error: 'any' stands alone [conflicting-keys]
                  onState: [Full, any]
                                  ^~~
              hint: write onState: any
            """#),
        Mistake(
            "onState with an expression",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: { Full: { used: "${now}" } }
                run: [df]
            """#,
            #"""
            a.yaml:7:33: error: only a fixed value can stand here, and 'now' varies [not-constant]
                  onState: { Full: { used: "${now}" } }
                                              ^~~
              hint: write the value itself
            """#),
        Mistake(
            "onState with an uncomputable value",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: { Full: { used: "${1 / 0}" } }
                run: [df]
            """#,
            #"""
            a.yaml:7:33: error: the field 'used' cannot be computed: 1 / 0: division by zero [invalid-expression]
                  onState: { Full: { used: "${1 / 0}" } }
                                              ^~~~~
            """#),
        Mistake(
            "an unknown strategy",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                strategy: cancel
                run: [df]
            """#,
            #"""
            a.yaml:8:15: error: strategy is 'cancelOnNewState' or 'continueOnNewState', not 'cancel' [unknown-choice]
                  strategy: cancel
                            ^~~~~~
              hint: did you mean 'cancelOnNewState'?
            """#),
    ]
}
