import MediatorConfiguration
import Testing

@Suite struct `Mistakes beside others` {
    @Test(arguments: several)
    func `one mistake hides no other`(mistake: Mistake) { mistake.check() }

    static let several = [
        Mistake(
            "a link without a system, a bus that is not there, and a value of the wrong type",
            #"""
            system: s
            states: { A: {}, B: {} }
            events: { E: {} }
            fromOutside: any
            initialState: A
            transitions: { A: { E: B }, B: { E: A } }
            ---
            buses: { b: { kind: passthrough, value: int, fromOutside: both } }
            links:
              l: { to: c, onState: A, emitValue: 5 }
              m: { to: b, onState: A, emitValue: many }
              n: { attach: t, to: b, when: valu > 5, emitEvent: E }
            """#,
            #"""
            a.yaml:10:3: error: the link 'l' needs 'attach' [missing-key]
                l: { to: c, onState: A, emitValue: 5 }
                ^
              hint: write attach: and the system's name
            a.yaml:10:12: error: there is no bus 'c' [unknown-bus]
                l: { to: c, onState: A, emitValue: 5 }
                         ^
              hint: possible here: b
            a.yaml:11:3: error: the link 'm' needs 'attach' [missing-key]
                m: { to: b, onState: A, emitValue: many }
                ^
              hint: write attach: and the system's name
            a.yaml:11:38: error: 'emitValue' is of type int, but 'many' is text [wrong-type]
                m: { to: b, onState: A, emitValue: many }
                                                   ^~~~
            a.yaml:12:16: error: there is no system 't' [unknown-system]
                n: { attach: t, to: b, when: valu > 5, emitEvent: E }
                             ^
              hint: possible here: s
            a.yaml:12:32: error: unknown variable 'valu' [unknown-variable]
                n: { attach: t, to: b, when: valu > 5, emitEvent: E }
                                             ^~~~
              hint: did you mean 'value'?
            """#),
        Mistake(
            "an unknown strategy of a group, and an unknown system in it",
            #"""
            system: s
            states: { A: {} }
            initialState: A
            ---
            groups: { g: { strategy: al, systems: [s, t] } }
            """#,
            #"""
            a.yaml:5:26: error: 'strategy' is 'one', 'all' or 'rest', not 'al' [unknown-choice]
              groups: { g: { strategy: al, systems: [s, t] } }
                                       ^~
              hint: did you mean 'all'?
            a.yaml:5:43: error: there is no system 't' [unknown-system]
              groups: { g: { strategy: al, systems: [s, t] } }
                                                        ^
              hint: possible here: s
            """#),
        Mistake(
            "a wrong state hides no wrong duration",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            feedbacks:
              f: { onState: Wrong, after: 5x, run: [ls] }
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            """#,
            #"""
            a.yaml:7:17: error: 's' has no state 'Wrong' [unknown-state]
                f: { onState: Wrong, after: 5x, run: [ls] }
                              ^~~~~
              hint: possible here: A, B
            a.yaml:7:31: error: 'after' is of type duration, but '5x' is text [wrong-type]
                f: { onState: Wrong, after: 5x, run: [ls] }
                                            ^~
              hint: write a number and a unit, such as 5s, 200ms or 1h30m
            """#),
        Mistake(
            "a wrong state hides nothing of the side effect and its outcomes",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            feedbacks:
              f:
                onState: Wrong
                when: 1 +
                run: { command: [ls], timeout: 5x }
                onSuccess: Ex
                onFailure: { F: { n: x } }
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            """#,
            #"""
            a.yaml:8:14: error: 's' has no state 'Wrong' [unknown-state]
                  onState: Wrong
                           ^~~~~
              hint: possible here: A, B
            a.yaml:9:14: error: expected a value, but the expression ends here [invalid-expression]
                  when: 1 +
                           ^
            a.yaml:10:36: error: the parameter 'timeout' is of type duration, but '5x' is text [wrong-type]
                  run: { command: [ls], timeout: 5x }
                                                 ^~
              hint: write a number and a unit, such as 5s, 200ms or 1h30m
            a.yaml:11:16: error: 's' has no event 'Ex' [unknown-event]
                  onSuccess: Ex
                             ^~
              hint: possible here: E, F
            a.yaml:12:26: error: the field 'n' is of type int, but 'x' is text [wrong-type]
                  onFailure: { F: { n: x } }
                                       ^
            """#),
        Mistake(
            "a wrong condition hides no wrong duration",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            feedbacks:
              f: { onState: A, when: nope, after: 5x, run: [ls] }
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            """#,
            #"""
            a.yaml:7:26: error: unknown variable 'nope' [unknown-variable]
                f: { onState: A, when: nope, after: 5x, run: [ls] }
                                       ^~~~
              hint: variables here: state, now
            a.yaml:7:39: error: 'after' is of type duration, but '5x' is text [wrong-type]
                f: { onState: A, when: nope, after: 5x, run: [ls] }
                                                    ^~
              hint: write a number and a unit, such as 5s, 200ms or 1h30m
            """#),
        Mistake(
            "a missing state hides no wrong condition",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            feedbacks:
              f: { when: 1 +, run: [ls] }
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            """#,
            #"""
            a.yaml:7:3: error: the feedback 'f' needs 'onState' [missing-key]
                f: { when: 1 +, run: [ls] }
                ^
              hint: to run it in every state write onState: any
            a.yaml:7:17: error: expected a value, but the expression ends here [invalid-expression]
                f: { when: 1 +, run: [ls] }
                              ^
            """#),
        Mistake(
            "an unknown parameter hides no wrong one",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            feedbacks:
              f: { onState: A, run: { comand: [ls], timeout: 5x } }
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            """#,
            #"""
            a.yaml:7:27: error: 'run' has no parameter 'comand' [unknown-parameter]
                f: { onState: A, run: { comand: [ls], timeout: 5x } }
                                        ^~~~~~
              hint: did you mean 'command'?
            a.yaml:7:50: error: the parameter 'timeout' is of type duration, but '5x' is text [wrong-type]
                f: { onState: A, run: { comand: [ls], timeout: 5x } }
                                                               ^~
              hint: write a number and a unit, such as 5s, 200ms or 1h30m
            """#),
        Mistake(
            "unsuitable parameters are told together",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            feedbacks:
              f:
                onState: A
                run: { command: [""], timeout: 5x, environment: { A=B: c } }
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            """#,
            #"""
            a.yaml:9:21: error: the parameter 'command' must begin with the name of a program, which is not empty [unsuitable-text]
                  run: { command: [""], timeout: 5x, environment: { A=B: c } }
                                  ^
            a.yaml:9:36: error: the parameter 'timeout' is of type duration, but '5x' is text [wrong-type]
                  run: { command: [""], timeout: 5x, environment: { A=B: c } }
                                                 ^~
              hint: write a number and a unit, such as 5s, 200ms or 1h30m
            a.yaml:9:53: error: the parameter 'environment' has the name 'A=B', and a variable's name is not empty and has no '=' in it [unsuitable-text]
                  run: { command: [""], timeout: 5x, environment: { A=B: c } }
                                                                  ^
            """#),
        Mistake(
            "an unreadable condition hides nothing of its rule",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            feedbacks:
              f: { onState: A, run: [ls], onSuccess: [{ when: [1], emit: Ex }] }
            transitions:
              any: { E: { when: [1], to: Nowhere }, F: { when: [2], to: B, set: { m: 1 } } }
            """#,
            #"""
            a.yaml:7:51: error: a condition must be a single value, not a list [wrong-shape]
                f: { onState: A, run: [ls], onSuccess: [{ when: [1], emit: Ex }] }
                                                                ^
              hint: an expression that begins with '[' or '{' needs quotes
            a.yaml:7:62: error: 's' has no event 'Ex' [unknown-event]
                f: { onState: A, run: [ls], onSuccess: [{ when: [1], emit: Ex }] }
                                                                           ^~
              hint: possible here: E, F
            a.yaml:9:21: error: a condition must be a single value, not a list [wrong-shape]
                any: { E: { when: [1], to: Nowhere }, F: { when: [2], to: B, set: { m: 1 } } }
                                  ^
              hint: an expression that begins with '[' or '{' needs quotes
            a.yaml:9:30: error: 's' has no state 'Nowhere' [unknown-state]
                any: { E: { when: [1], to: Nowhere }, F: { when: [2], to: B, set: { m: 1 } } }
                                           ^~~~~~~
              hint: possible here: A, B, stay
            a.yaml:9:52: error: a condition must be a single value, not a list [wrong-shape]
                any: { E: { when: [1], to: Nowhere }, F: { when: [2], to: B, set: { m: 1 } } }
                                                                 ^
              hint: an expression that begins with '[' or '{' needs quotes
            a.yaml:9:71: error: the state 'B' has no field 'm' [unknown-field]
                any: { E: { when: [1], to: Nowhere }, F: { when: [2], to: B, set: { m: 1 } } }
                                                                                    ^
              hint: possible here: n
            """#),
        Mistake(
            "a missing target hides no wrong condition",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            transitions:
              any: { E: { when: 1 + }, F: { to: [B], when: nope } }
            """#,
            #"""
            a.yaml:7:13: error: a transition needs 'to' [missing-key]
                any: { E: { when: 1 + }, F: { to: [B], when: nope } }
                          ^
              hint: write to: stay to change nothing
            a.yaml:7:24: error: expected a value, but the expression ends here [invalid-expression]
                any: { E: { when: 1 + }, F: { to: [B], when: nope } }
                                     ^
            a.yaml:7:37: error: 'to' must be a single value, not a list [wrong-shape]
                any: { E: { when: 1 + }, F: { to: [B], when: nope } }
                                                  ^
            a.yaml:7:48: error: unknown variable 'nope' [unknown-variable]
                any: { E: { when: 1 + }, F: { to: [B], when: nope } }
                                                             ^~~~
              hint: variables here: state, event, now
            """#),
        Mistake(
            "an unknown state hides nothing of its transitions",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            transitions:
              Wrong: { Ex: { when: 1 +, to: Nowhere }, F: { to: B, set: { n: x, m: 1 } } }
            """#,
            #"""
            a.yaml:7:3: error: 's' has no state 'Wrong' [unknown-state]
                Wrong: { Ex: { when: 1 +, to: Nowhere }, F: { to: B, set: { n: x, m: 1 } } }
                ^~~~~
              hint: possible here: A, B
            a.yaml:7:12: error: 's' has no event 'Ex' [unknown-event]
                Wrong: { Ex: { when: 1 +, to: Nowhere }, F: { to: B, set: { n: x, m: 1 } } }
                         ^~
              hint: possible here: E, F
            a.yaml:7:27: error: expected a value, but the expression ends here [invalid-expression]
                Wrong: { Ex: { when: 1 +, to: Nowhere }, F: { to: B, set: { n: x, m: 1 } } }
                                        ^
            a.yaml:7:33: error: 's' has no state 'Nowhere' [unknown-state]
                Wrong: { Ex: { when: 1 +, to: Nowhere }, F: { to: B, set: { n: x, m: 1 } } }
                                              ^~~~~~~
              hint: possible here: A, B, stay
            a.yaml:7:66: error: the field 'n' is of type int, but 'x' is text [wrong-type]
                Wrong: { Ex: { when: 1 +, to: Nowhere }, F: { to: B, set: { n: x, m: 1 } } }
                                                                               ^
            a.yaml:7:69: error: the state 'B' has no field 'm' [unknown-field]
                Wrong: { Ex: { when: 1 +, to: Nowhere }, F: { to: B, set: { n: x, m: 1 } } }
                                                                                  ^
              hint: possible here: n
            """#),
        Mistake(
            "a wrong condition hides no wrong value of a link",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            ---
            buses: { b: { kind: passthrough, value: int, fromOutside: both } }
            links:
              l: { attach: s, to: b, onState: A, when: nope, emitValue: text }
              m: { attach: s, to: b, onState: A, when: [1], emitValue: text }
            """#,
            #"""
            a.yaml:11:44: error: unknown variable 'nope' [unknown-variable]
                l: { attach: s, to: b, onState: A, when: nope, emitValue: text }
                                                         ^~~~
              hint: variables here: state, now
            a.yaml:11:61: error: 'emitValue' is of type int, but 'text' is text [wrong-type]
                l: { attach: s, to: b, onState: A, when: nope, emitValue: text }
                                                                          ^~~~
            a.yaml:12:44: error: a condition must be a single value, not a list [wrong-shape]
                m: { attach: s, to: b, onState: A, when: [1], emitValue: text }
                                                         ^
              hint: an expression that begins with '[' or '{' needs quotes
            a.yaml:12:60: error: 'emitValue' is of type int, but 'text' is text [wrong-type]
                m: { attach: s, to: b, onState: A, when: [1], emitValue: text }
                                                                         ^~~~
            """#),
    ]
}
