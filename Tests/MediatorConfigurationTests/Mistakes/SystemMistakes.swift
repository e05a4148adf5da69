import MediatorConfiguration
import Testing

@Suite struct `System mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a ready state that is not there",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ready: [Normal, Ful]
            """#,
            #"""
            a.yaml:5:17: error: 'disk' has no state 'Ful' [unknown-state]
              ready: [Normal, Ful]
                              ^~~
              hint: did you mean 'Full'?
            """#),
        Mistake(
            "ready in any state",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ready: any
            """#,
            #"""
            a.yaml:5:8: error: 'any' is not a state [reserved-name]
              ready: any
                     ^~~
              hint: without 'ready' a system is ready at once
            """#),
        Mistake(
            "ready in no state",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ready: []
            """#,
            #"""
            a.yaml:5:8: error: 'ready' needs at least one state [empty]
              ready: []
                     ^
            """#),
        Mistake(
            "a mailbox limit of nothing",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            mailbox: { limit: 0 }
            """#,
            #"""
            a.yaml:5:19: error: the limit of a mailbox is from 1 to 1000000, not 0 [out-of-range]
              mailbox: { limit: 0 }
                                ^
            """#),
        Mistake(
            "health in a state that there is not",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            health: { Ful: failed }
            """#,
            #"""
            a.yaml:5:11: error: 'disk' has no state 'Ful' [unknown-state]
              health: { Ful: failed }
                        ^~~
              hint: did you mean 'Full'?
            """#),
        Mistake(
            "health in any state",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            health: { any: degraded }
            """#,
            #"""
            a.yaml:5:11: error: 'any' is not a state [reserved-name]
              health: { any: degraded }
                        ^~~
              hint: in states that are not named here the system is healthy
            """#),
        Mistake(
            "health by a word that is none",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            health: { Full: degrade }
            """#,
            #"""
            a.yaml:5:17: error: how a system is in a state is 'healthy', 'degraded' or 'failed', not 'degrade' [unknown-choice]
              health: { Full: degrade }
                              ^~~~~~~
              hint: did you mean 'degraded'?
            """#),
        Mistake(
            "a mailbox limit beyond all bounds",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            mailbox: { limit: 99999999999999999999 }
            """#,
            #"""
            a.yaml:5:19: error: the limit of a mailbox is from 1 to 1000000, not 99999999999999999999 [out-of-range]
              mailbox: { limit: 99999999999999999999 }
                                ^~~~~~~~~~~~~~~~~~~~
            """#),
        Mistake(
            "a mailbox limit that is text",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            mailbox: { limit: many }
            """#,
            #"""
            a.yaml:5:19: error: the limit of a mailbox is a whole number, not 'many' [wrong-type]
              mailbox: { limit: many }
                                ^~~~
            """#),
        Mistake(
            "an unknown overflow policy",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            mailbox: { overflow: dropOldst }
            """#,
            #"""
            a.yaml:5:22: error: overflow is 'dropOldest', 'dropNewest' or 'fail', not 'dropOldst' [unknown-choice]
              mailbox: { overflow: dropOldst }
                                   ^~~~~~~~~
              hint: did you mean 'dropOldest'?
            """#),
        Mistake(
            "a missing space after a colon",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            mailbox: {limit:3}
            """#,
            #"""
            a.yaml:5:11: error: the ':' behind 'limit' needs a space after it [syntax]
              mailbox: {limit:3}
                        ^~~~~~~
              hint: write limit: 3
            """#),
    ]
}
