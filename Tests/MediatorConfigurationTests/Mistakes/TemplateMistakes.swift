import Testing

@Suite struct `Template mistakes` {
    @Test(arguments: all) func `are told`(mistake: Mistake) { mistake.check() }

    private static let head = """
        system: t@
        parameters: { name: string, count: { type: int, default: 1 } }
        states: { A: {} }
        initialState: A
        ---

        """

    static let all = [
        Mistake(
            "a mistake in a template that has a bus for each instance",
            """
            system: t@
            parameters: { n: int }
            states: { A: { v: int } }
            initialState: { A: { v: "${parameters.m}" } }
            ---
            instances: { t@one: { n: 1 } }
            ---
            buses: { r@*: { for: t@*, kind: currentValue, value: string, initial: "${instance}", fromOutside: both } }
            links: { l: { attach: t@*, to: r@*, onState: A, emitValue: "${instance}" } }
            """,
            """
            a.yaml:4:39: error: 'parameters' has no field 'm'; its fields are n [unknown-field]
              initialState: { A: { v: "${parameters.m}" } }
                                                    ^
            """),
        Mistake(
            "a misspelt key of a parameter, which may be its default",
            """
            system: t@
            parameters: { n: int, d: { type: int, defalt: 1 } }
            states: { A: {} }
            initialState: A
            ---
            instances: { t@one: { n: 1 } }
            ---
            buses: { r@*: { for: t@*, kind: currentValue, value: string, initial: "${instance}", fromOutside: both } }
            links: { l: { attach: t@one, to: r@one, onState: A, emitValue: "x" } }
            """,
            """
            a.yaml:2:39: error: the parameter 'd' has no key 'defalt' [unknown-key]
              parameters: { n: int, d: { type: int, defalt: 1 } }
                                                    ^~~~~~
              hint: did you mean 'default'?
            """),
        Mistake(
            "a value that cannot be computed for some instance",
            """
            system: t@
            parameters: { n: int }
            states: { A: {} }
            events: { E: {} }
            initialState: A
            fromOutside: any
            ---
            instances: { t@one: { n: 1 }, t@two: { n: 0 } }
            ---
            buses: { r: { kind: passthrough, value: int, fromOutside: both } }
            links: { l: { attach: t@*, to: r, onValue: "${2 / parameters.n}", emitEvent: E } }
            """,
            """
            a.yaml:11:47: error: 'onValue' cannot be computed: 2 / 0: division by zero (for 't@two') [invalid-expression]
              links: { l: { attach: t@*, to: r, onValue: "${2 / parameters.n}", emitEvent: E } }
                                                            ^~~~~~~~~~~~~~~~
            """),
        Mistake(
            "a missing parameter", head + "instances: { t@x: {} }",
            """
            a.yaml:6:14: error: 't@x' needs the parameter 'name' [missing-parameter]
              instances: { t@x: {} }
                           ^~~
              hint: its parameters are { name: string, count: int }
            """),
        Mistake(
            "an unknown parameter", head + "instances: { t@x: { nmae: a } }",
            """
            a.yaml:6:21: error: 't@' has no parameter 'nmae' [unknown-parameter]
              instances: { t@x: { nmae: a } }
                                  ^~~~
              hint: did you mean 'name'?
            """),
        Mistake(
            "a parameter of the wrong type", head + "instances: { t@x: { name: a, count: b } }",
            """
            a.yaml:6:37: error: the parameter 'count' is of type int, but 'b' is text [wrong-type]
              instances: { t@x: { name: a, count: b } }
                                                  ^
            """),
        Mistake(
            "an unknown template", head + "instances: { tt@x: {} }",
            """
            a.yaml:6:14: error: there is no template 'tt@' [unknown-system]
              instances: { tt@x: {} }
                           ^~~~
              hint: did you mean 't@x'?
            """),
        Mistake(
            "an instance of a system", "system: s\nstates: { A: {} }\ninitialState: A\n---\ninstances: { s@x: {} }",
            """
            a.yaml:5:14: error: there is no template 's@' [unknown-system]
              instances: { s@x: {} }
                           ^~~
              hint: 's' is no template: write system: s@ there
            """),
        Mistake(
            "an instance without a name", head + "instances: { t@: { name: a } }",
            """
            a.yaml:6:14: error: 't@' cannot name an instance [invalid-name]
              instances: { t@: { name: a } }
                           ^~
              hint: write the template's name and the instance's, such as uplink@eth0
            """),
        Mistake(
            "parameters of a system", "system: s\nparameters: { a: int }\nstates: { A: {} }\ninitialState: A",
            """
            a.yaml:2:1: error: only a template has parameters [conflicting-keys]
              parameters: { a: int }
              ^~~~~~~~~~
              hint: name it 's@'
            """),
        Mistake(
            "a default of the wrong type",
            "system: t@\nparameters: { a: { type: int, default: x } }\nstates: { A: {} }\ninitialState: A\n"
                + "---\ninstances: { t@x: {}, t@y: {} }",
            """
            a.yaml:2:40: error: the default of 'a' is of type int, but 'x' is text [wrong-type]
              parameters: { a: { type: int, default: x } }
                                                     ^
            """),
        Mistake(
            "a parameter without a type",
            "system: t@\nparameters: { a: { default: x } }\nstates: { A: {} }\ninitialState: A",
            """
            a.yaml:2:15: error: the parameter 'a' needs 'type' [missing-key]
              parameters: { a: { default: x } }
                            ^
            """),
        Mistake(
            "an instance's constant outside a template",
            "system: s\nstates: { A: {} }\nevents: { E: {} }\ninitialState: A\n"
                + "transitions: { A: { E: { when: instance == \"x\", to: A } } }",
            """
            a.yaml:5:32: error: 'instance' is known only in a template and in links over its instances [unknown-variable]
              transitions: { A: { E: { when: instance == "x", to: A } } }
                                             ^~~~~~~~
              hint: a template is a system whose name ends with '@'
            """),
        Mistake(
            "a link over the instances of nothing",
            head + "links: { l: { attach: tt@*, toSystem: t@*, onState: A, emitEvent: E } }",
            """
            a.yaml:6:23: error: there is no template 'tt@' [unknown-system]
              links: { l: { attach: tt@*, toSystem: t@*, onState: A, emitEvent: E } }
                                    ^~~~
              hint: did you mean 't@*'?
            """),
        Mistake(
            "a link to a template",
            head
                + "instances: { t@x: { name: a } }\nlinks: { l: { attach: t@x, toSystem: t, onState: A, emitEvent: E } }",
            """
            a.yaml:7:38: error: there is no system 't' [unknown-system]
              links: { l: { attach: t@x, toSystem: t, onState: A, emitEvent: E } }
                                                   ^
              hint: 't@' is a template: write t@* for each of its instances, or the name of one
            """),
        Mistake(
            "a bus for each instance of nobody knows what",
            head + "buses: { b@*: { kind: passthrough, value: int } }",
            """
            a.yaml:6:10: error: the bus 'b@*' needs 'for' [missing-key]
              buses: { b@*: { kind: passthrough, value: int } }
                       ^~~
              hint: write for: and a template, such as uplink@*
            """),
        Mistake(
            "a bus for each instance with one name",
            head + "buses: { b: { for: t@*, kind: passthrough, value: int } }",
            """
            a.yaml:6:15: error: only a bus whose name ends with '@*' exists for each instance [conflicting-keys]
              buses: { b: { for: t@*, kind: passthrough, value: int } }
                            ^~~
              hint: name it 'b@*'
            """),
        Mistake(
            "an instance twice", head + "instances: { t@x: { name: a } }\n---\ninstances: { t@x: { name: b } }",
            """
            a.yaml:8:14: error: there is a system 't@x' already, at a.yaml:6:14 [duplicate-name]
              instances: { t@x: { name: b } }
                           ^~~
              hint: rename one of them
            """),
    ]
}
