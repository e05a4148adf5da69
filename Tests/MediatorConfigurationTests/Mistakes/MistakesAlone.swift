import MediatorConfiguration
import Testing

@Suite struct `Mistakes with consequences` {
    @Test(arguments: all)
    func `what follows from a mistake is not told beside it`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a merge key of an anchor that is not there",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            feedbacks:
              f: { <<: *x, onState: A, run: [ls] }
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            """#,
            #"""
            a.yaml:7:8: error: YAML 1.2 has no merge key '<<' [merge-key]
                f: { <<: *x, onState: A, run: [ls] }
                     ^~
              hint: write the entries out, or use an alias for a whole value
            """#),
        Mistake(
            "a condition of a link that is always false",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            ---
            buses: { b: { kind: passthrough, value: int } }
            links:
              l: { attach: s, to: b, onState: A, when: 1 > 2, emitValue: 1 }
              m: { attach: s, to: b, onValue: 1, emitEvent: E }
            """#,
            #"""
            a.yaml:11:44: warning: this condition is always false [constant-condition]
                l: { attach: s, to: b, onState: A, when: 1 > 2, emitValue: 1 }
                                                         ^~~~~
            """#),
        Mistake(
            "a condition of a link from a bus that is always false",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            ---
            buses: { b: { kind: passthrough, value: int } }
            links:
              l: { attach: s, to: b, onState: A, emitValue: 1 }
              m: { attach: s, to: b, when: 1 > 2, emitEvent: E }
            """#,
            #"""
            a.yaml:12:32: warning: this condition is always false [constant-condition]
                m: { attach: s, to: b, when: 1 > 2, emitEvent: E }
                                             ^~~~~
            """#),
        Mistake(
            "a type with a comma within braces",
            #"""
            buses:
              b: { kind: passthrough, value: list(map(string, int)), fromOutside: both }
            """#,
            #"""
            a.yaml:2:34: error: within { … } a ',' ends the value of 'value', so it needs quotes [syntax]
                b: { kind: passthrough, value: list(map(string, int)), fromOutside: both }
                                               ^~~~~~~~~~~~~~~~~~~~~~
              hint: write b: { kind: passthrough, value: "list(map(string, int))", fromOutside: both }
            """#),
        Mistake(
            "a state that is ready twice",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            ready: [A, A]
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            """#,
            #"""
            a.yaml:6:12: error: the state 'A' stands twice in this list [duplicate-name]
              ready: [A, A]
                         ^
            """#),
        Mistake(
            "an event that comes from outside twice",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: [E, F, E]
            initialState: A
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            """#,
            #"""
            a.yaml:4:21: error: the event 'E' stands twice in this list [duplicate-name]
              fromOutside: [E, F, E]
                                  ^
            """#),
        Mistake(
            "a command without a name",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            feedbacks:
              f: { onState: A, run: [""] }
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            """#,
            #"""
            a.yaml:7:25: error: the parameter 'command' must begin with the name of a program, which is not empty [unsuitable-text]
                f: { onState: A, run: [""] }
                                      ^
            """#),
        Mistake(
            "a variable whose name has an equals sign",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            feedbacks:
              f: { onState: A, run: { command: [ls], environment: { "A=B": c } } }
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            """#,
            #"""
            a.yaml:7:55: error: the parameter 'environment' has the name 'A=B', and a variable's name is not empty and has no '=' in it [unsuitable-text]
                f: { onState: A, run: { command: [ls], environment: { "A=B": c } } }
                                                                    ^
            """#),
        Mistake(
            "a variable without a name",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            feedbacks:
              f: { onState: A, run: { command: [ls], environment: { "": c } } }
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n}" } } }
            """#,
            #"""
            a.yaml:7:55: error: the parameter 'environment' has the name '', and a variable's name is not empty and has no '=' in it [unsuitable-text]
                f: { onState: A, run: { command: [ls], environment: { "": c } } }
                                                                    ^
            """#),
        Mistake(
            "a division by zero",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            transitions:
              any: { E: A, F: { to: B, set: { n: "${event.n / 0}" } } }
            """#,
            #"""
            a.yaml:7:41: error: event.n / 0: division by zero [invalid-expression]
                any: { E: A, F: { to: B, set: { n: "${event.n / 0}" } } }
                                                      ^~~~~~~~~~~
            """#),
        Mistake(
            "a remainder by zero",
            #"""
            system: s
            states: { A: {}, B: { n: int } }
            events: { E: {}, F: { n: int } }
            fromOutside: any
            initialState: A
            transitions:
              any: { E: A, F: { when: event.n % 0 == 1, to: B, set: { n: 1 } } }
            """#,
            #"""
            a.yaml:7:27: error: event.n % 0: division by zero [invalid-expression]
                any: { E: A, F: { when: event.n % 0 == 1, to: B, set: { n: 1 } } }
                                        ^~~~~~~~~~~
            """#),
    ]
}
