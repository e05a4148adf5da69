import MediatorConfiguration
import Testing

@Suite struct `Rule mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a transition with no rule",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: []
            """#,
            #"""
            a.yaml:7:14: error: the transition on 'Cleaned' needs at least one rule [empty]
                  Cleaned: []
                           ^
            """#),
        Mistake(
            "a rule is never reached",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned:
                  - Normal
                  - stay
            """#,
            #"""
            a.yaml:9:9: error: this rule is never reached: the one before it always holds [unreachable-rule]
                    - stay
                      ^~~~
              hint: give the one before a 'when', or move it to the end
            """#),
        Mistake(
            "a condition that is always true",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { when: 1 < 2, to: Normal }
            """#,
            #"""
            a.yaml:7:22: warning: this condition is always true [constant-condition]
                  Cleaned: { when: 1 < 2, to: Normal }
                                   ^~~~~
              hint: leave it out
            """#),
        Mistake(
            "a condition within dollar and braces",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { when: "${state.used > 1}", to: Normal }
            """#,
            #"""
            a.yaml:7:22: error: a condition is an expression already [invalid-expression]
                  Cleaned: { when: "${state.used > 1}", to: Normal }
                                   ^~~~~~~~~~~~~~~~~~~
              hint: write state.used > 1
            """#),
        Mistake(
            "a condition that is no bool",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { when: state.used, to: Normal }
            """#,
            #"""
            a.yaml:7:22: error: the result is int, but bool is needed; compare it, for instance state.used == 0 [wrong-type]
                  Cleaned: { when: state.used, to: Normal }
                                   ^~~~~~~~~~
            """#),
        Mistake(
            "a condition that cannot be read",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { when: state.used >, to: Normal }
            """#,
            #"""
            a.yaml:7:34: error: expected a value, but the expression ends here [invalid-expression]
                  Cleaned: { when: state.used >, to: Normal }
                                               ^
            """#),
        Mistake(
            "a condition with an unknown field",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { when: state.usd > 1, to: Normal }
            """#,
            #"""
            a.yaml:7:28: error: 'state' (Full) has no field 'usd' [unknown-field]
                  Cleaned: { when: state.usd > 1, to: Normal }
                                         ^~~
              hint: did you mean 'used'?
            """#),
        Mistake(
            "a condition with an unknown variable",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { when: stat.used > 1, to: Normal }
            """#,
            #"""
            a.yaml:7:22: error: unknown variable 'stat' [unknown-variable]
                  Cleaned: { when: stat.used > 1, to: Normal }
                                   ^~~~
              hint: did you mean 'state'?
            """#),
        Mistake(
            "a condition with an unknown function",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { when: sizee("a") > 1, to: Normal }
            """#,
            #"""
            a.yaml:7:22: error: unknown function 'sizee' [unknown-function]
                  Cleaned: { when: sizee("a") > 1, to: Normal }
                                   ^~~~~
              hint: did you mean 'size'?
            """#),
        Mistake(
            "a condition of mixed numbers",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { when: state.used > 1.5, to: Normal }
            """#,
            #"""
            a.yaml:7:22: error: '>' does not take int and double; convert it with double(state.used) [wrong-type]
                  Cleaned: { when: state.used > 1.5, to: Normal }
                                   ^~~~~~~~~~~~~~~~
            """#),
        Mistake(
            "a condition that is nothing",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { when: , to: Normal }
            """#,
            #"""
            a.yaml:7:22: error: a condition is empty [wrong-shape]
                  Cleaned: { when: , to: Normal }
                                   ^
            """#),
        Mistake(
            "a condition that is a list",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                Cleaned: { when: [1], to: Normal }
            """#,
            #"""
            a.yaml:7:22: error: a condition must be a single value, not a list [wrong-shape]
                  Cleaned: { when: [1], to: Normal }
                                   ^
              hint: an expression that begins with '[' or '{' needs quotes
            """#),
        Mistake(
            "event under any event",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              Full:
                any: { when: event.used > 1, to: Normal }
            """#,
            #"""
            a.yaml:7:18: error: which event it is, is not known under 'any' [unknown-variable]
                  any: { when: event.used > 1, to: Normal }
                               ^~~~~
              hint: write the rule under each event whose fields it uses
            """#),
        Mistake(
            "a rule under any that is wrong in one state",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions:
              any:
                Cleaned: { when: state.used > 1, to: stay }
            """#,
            #"""
            a.yaml:7:28: error: 'state' (Normal) has no field 'used'; it has no fields (in state 'Normal') [unknown-field]
                  Cleaned: { when: state.used > 1, to: stay }
                                         ^~~~
            """#),
    ]
}
