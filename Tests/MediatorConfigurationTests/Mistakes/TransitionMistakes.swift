import MediatorConfiguration
import Testing

@Suite struct `Transition mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a text that is the name of a value",
            #"""
            system: disk
            states: { Normal: { why: string, mark: string }, Full: { used: int } }
            events: { Cleaned: { why: string } }
            initialState: { Normal: { why: state.used, mark: event.why } }
            transitions:
              Full:
                Cleaned: { to: Normal, set: { why: "{{ event.why }}", mark: event.mark } }
              Normal: { Cleaned: { to: Normal, set: { why: events.why, mark: "${'event.why'}" } } }
            """#,
            #"""
            a.yaml:7:40: warning: the field 'why' holds '{{ event.why }}' as text, since '{{' and '}}' mean nothing here [literal-expression]
                  Cleaned: { to: Normal, set: { why: "{{ event.why }}", mark: event.mark } }
                                                     ^~~~~~~~~~~~~~~~~
              hint: write "${event.why}" for the value
            """#),
        Mistake(
            "a text between quotation marks that are part of it",
            #"""
            system: disk
            states: { Normal: { why: string, mark: string }, Full: {} }
            events: { Cleaned: {}, Other: {} }
            initialState: { Normal: { why: "“quoted”", mark: “it” is } }
            transitions:
              Full: { Cleaned: { to: Normal, set: { why: ”Öl“, mark: “ } } }
              Normal: { Cleaned: { to: Full }, Other: stay }
            """#,
            #"""
            a.yaml:6:46: warning: the field 'why' is ”Öl“, with these quotation marks [literal-quotes]
                Full: { Cleaned: { to: Normal, set: { why: ”Öl“, mark: “ } } }
                                                           ^~~~
              hint: write "Öl" for the text without them, "”Öl“" for the one with them
            """#),
        Mistake(
            "a transition to an unknown state",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: Normel
            """#,
            #"""
            a.yaml:7:14: error: 'disk' has no state 'Normel' [unknown-state]
                  Cleaned: Normel
                           ^~~~~~
              hint: did you mean 'Normal'?
            """#),
        Mistake(
            "a transition from an unknown state",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Ful:
                Cleaned: Normal
                Measured: Normal
            """#,
            #"""
            a.yaml:6:3: error: 'disk' has no state 'Ful' [unknown-state]
                Ful:
                ^~~
              hint: did you mean 'Full'?
            """#),
        Mistake(
            "a transition on an unknown event",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Clean: Normal
            """#,
            #"""
            a.yaml:7:5: error: 'disk' has no event 'Clean' [unknown-event]
                  Clean: Normal
                  ^~~~~
              hint: did you mean 'Cleaned'?
            """#),
        Mistake(
            "a transition without its event",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full: Normal
            """#,
            #"""
            a.yaml:6:9: error: the transitions from 'Full' must be a mapping, not a single value [wrong-shape]
                Full: Normal
                      ^~~~~~
              hint: write the event below the state: from, on, to
            """#),
        Mistake(
            "a transition to any",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: any
            """#,
            #"""
            a.yaml:7:14: error: a transition cannot lead to 'any' [reserved-name]
                  Cleaned: any
                           ^~~
              hint: write a state, or 'stay'
            """#),
        Mistake(
            "a transition without to",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { when: state.used > 1 }
            """#,
            #"""
            a.yaml:7:14: error: a transition needs 'to' [missing-key]
                  Cleaned: { when: state.used > 1 }
                           ^
              hint: write to: stay to change nothing
            """#),
        Mistake(
            "an update of nothing",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Normal: { Measured: { to: Full, set: { used: "${event.used}" } } }
              Full: { Cleaned: { set: {} }, Measured: stay }
            """#,
            #"""
            a.yaml:7:22: error: a transition that changes nothing has no 'to' and an empty 'set' [empty]
                Full: { Cleaned: { set: {} }, Measured: stay }
                                   ^~~
              hint: write to: stay
            """#),
        Mistake(
            "a transition with an empty to and data",
            #"""
            system: disk
            states: { Full: { used: int } }
            events: { Measured: { used: int } }
            initialState: { Full: { used: 1 } }
            transitions: { Full: { Measured: { to: , set: { used: "${event.used}" } } } }
            """#,
            #"""
            a.yaml:5:40: error: 'to' is empty [wrong-shape]
              transitions: { Full: { Measured: { to: , set: { used: "${event.used}" } } } }
                                                     ^
              hint: leave it out to change data in place
            """#),
        Mistake(
            "an update in a state without the field",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              any: { Measured: { set: { used: "${event.used}" } } }
              Full: { Cleaned: Normal }
            """#,
            #"""
            a.yaml:6:29: error: the state 'Normal' has no field 'used' [unknown-field]
                any: { Measured: { set: { used: "${event.used}" } } }
                                          ^~~~
              hint: without 'to' the system stays in 'Normal'; for a state with this field write to: Full
            """#),
        Mistake(
            "an update with a field that no state has",
            #"""
            system: disk
            states: { Full: { used: int } }
            events: { Measured: { used: int } }
            initialState: { Full: { used: 1 } }
            transitions: { Full: { Measured: { set: { usde: "${event.used}" } } } }
            """#,
            #"""
            a.yaml:5:43: error: the state 'Full' has no field 'usde' [unknown-field]
              transitions: { Full: { Measured: { set: { usde: "${event.used}" } } } }
                                                        ^~~~
              hint: did you mean 'used'?
            """#),
        Mistake(
            "an update with a value of another type",
            #"""
            system: disk
            states: { Full: { used: int } }
            events: { Measured: { used: string } }
            initialState: { Full: { used: 1 } }
            transitions: { Full: { Measured: { set: { used: "${event.used}" } } } }
            """#,
            #"""
            a.yaml:5:52: error: the result is string, but int is needed; convert it with int(event.used) [wrong-type]
              transitions: { Full: { Measured: { set: { used: "${event.used}" } } } }
                                                                 ^~~~~~~~~~
            """#),
        Mistake(
            "a transition with an unknown key",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { if: state.used > 1, to: Normal }
            """#,
            #"""
            a.yaml:7:16: error: a transition has no key 'if' [unknown-key]
                  Cleaned: { if: state.used > 1, to: Normal }
                             ^~
              hint: did you mean 'when'?
            """#),
        Mistake(
            "a transition written like an initial state",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Normal:
                Measured: { Full: { used: 1 } }
            """#,
            #"""
            a.yaml:7:17: error: a transition has no key 'Full' [unknown-key]
                  Measured: { Full: { used: 1 } }
                              ^~~~
              hint: write { to: Full, set: { … } }
            """#),
        Mistake(
            "a transition to nothing",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned:
            """#,
            #"""
            a.yaml:7:13: error: a transition is empty [wrong-shape]
                  Cleaned:
                          ^
              hint: write a state, 'stay', { when: …, to: …, set: { … } } or a list of these
            """#),
        Mistake(
            "stay with data",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { to: stay, set: { used: 1 } }
            """#,
            #"""
            a.yaml:7:26: error: 'stay' changes nothing, so 'set' has no meaning here [conflicting-keys]
                  Cleaned: { to: stay, set: { used: 1 } }
                                       ^~~
              hint: to change data without leaving the state, leave out 'to'
            """#),
        Mistake(
            "a field that must be set",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              any:
                Cleaned: Full
            """#,
            #"""
            a.yaml:7:14: error: 'Full' needs the field 'used', which 'Normal' does not have [missing-field]
                  Cleaned: Full
                           ^~~~
              hint: write { to: Full, set: { used: 0 } }
            """#),
        Mistake(
            "a field of another type",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int }, Old: { used: string } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: Old
            """#,
            #"""
            a.yaml:7:14: error: 'Old' needs the field 'used' (int there, string here), which 'Full' does not have [missing-field]
                  Cleaned: Old
                           ^~~
              hint: write { to: Old, set: { used: "…" } }
            """#),
        Mistake(
            "an unknown field in set",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              any:
                Measured: { to: Full, set: { usd: 1 } }
            """#,
            #"""
            a.yaml:7:34: error: the state 'Full' has no field 'usd' [unknown-field]
                  Measured: { to: Full, set: { usd: 1 } }
                                               ^~~
              hint: did you mean 'used'?
            """#),
        Mistake(
            "data of the wrong type in set",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              any:
                Measured: { to: Full, set: { used: many } }
            """#,
            #"""
            a.yaml:7:40: error: the field 'used' is of type int, but 'many' is text [wrong-type]
                  Measured: { to: Full, set: { used: many } }
                                                     ^~~~
            """#),
        Mistake(
            "an expression of the wrong type in set",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              any:
                Measured: { to: Full, set: { used: "${now}" } }
            """#,
            #"""
            a.yaml:7:43: error: the result is timestamp, but int is needed; convert it with int(now) [wrong-type]
                  Measured: { to: Full, set: { used: "${now}" } }
                                                        ^~~
            """#),
        Mistake(
            "text around an expression where a number should be",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              any:
                Measured: { to: Full, set: { used: "${event.used}%" } }
            """#,
            #"""
            a.yaml:7:41: error: the text is a string, but int is needed; a lone ${…} keeps its type [wrong-type]
                  Measured: { to: Full, set: { used: "${event.used}%" } }
                                                      ^~~~~~~~~~~~~~
            """#),
    ]
}
