import Testing

@Suite struct `External mistakes` {
    @Test(arguments: all) func `are told`(mistake: Mistake) { mistake.check() }

    private static let head = """
        system: disk
        states: { Normal: {}, Full: { used: int, by: string } }
        events: { Measured: { used: int }, Cleaned: {} }
        initialState: Normal

        """

    static let all = [
        Mistake(
            "a variable that is not there",
            head + "transitions: { Normal: { Cleaned: { to: Full, set: { used: !env USED, by: x } } } }",
            """
            a.yaml:5:60: error: there is no environment variable 'USED' [unavailable-value]
              transitions: { Normal: { Cleaned: { to: Full, set: { used: !env USED, by: x } } } }
                                                                         ^~~~~~~~~
              hint: write !env { name: USED, default: … }, or set it by Environment= of the unit
            """),
        Mistake(
            "a credential that is not there",
            head + "feedbacks: { f: { onState: any, run: { command: [a], environment: { KEY: !credential key } } } }",
            """
            a.yaml:5:74: error: there is no credential 'key' [unavailable-value]
              feedbacks: { f: { onState: any, run: { command: [a], environment: { KEY: !credential key } } } }
                                                                                       ^~~~~~~~~~~~~~~
              hint: add LoadCredential=key:/path/to/file to the unit
            """),
        Mistake(
            "a credential in a state",
            head + "transitions: { Normal: { Cleaned: { to: Full, set: { used: 1, by: !credential key } } } }",
            """
            a.yaml:5:67: error: the field 'by' cannot be a credential, because clients of the daemon can see it \
            [misplaced-secret]
              transitions: { Normal: { Cleaned: { to: Full, set: { used: 1, by: !credential key } } } }
                                                                                ^~~~~~~~~~~~~~~
              hint: give it to a side effect, such as the 'environment' of 'run'
            """),
        Mistake(
            "a credential in a command",
            head + "feedbacks: { f: { onState: any, run: [login, !credential key] } }",
            """
            a.yaml:5:46: error: an element of the parameter 'command' cannot be a credential, because clients of \
            the daemon can see it [misplaced-secret]
              feedbacks: { f: { onState: any, run: [login, !credential key] } }
                                                           ^~~~~~~~~~~~~~~
              hint: give it to a side effect, such as the 'environment' of 'run'
            """),
        Mistake(
            "a variable where a name stands",
            head + "transitions: { Normal: { Cleaned: !env NEXT } }",
            """
            a.yaml:5:35: error: a transition must be a single value, not '!env NEXT' [wrong-shape]
              transitions: { Normal: { Cleaned: !env NEXT } }
                                                ^~~~~~~~~
              hint: write a state, 'stay', { when: …, to: …, set: { … } } or a list of these
            """),
        Mistake(
            "a name that no variable has",
            head + "feedbacks: { f: { onState: any, log: !env 1ST } }",
            """
            a.yaml:5:38: error: '1ST' cannot name an environment variable [invalid-name]
              feedbacks: { f: { onState: any, log: !env 1ST } }
                                                   ^~~~~~~~
              hint: letters, digits and '_', not beginning with a digit
            """),
        Mistake(
            "a way out of the directory of credentials",
            head + "feedbacks: { f: { onState: any, run: { command: [a], environment: { K: !credential ../k } } } }",
            """
            a.yaml:5:72: error: '../k' cannot name a credential [invalid-name]
              feedbacks: { f: { onState: any, run: { command: [a], environment: { K: !credential ../k } } } }
                                                                                     ^~~~~~~~~~~~~~~~
            """),
        Mistake(
            "a default of the wrong type",
            head
                + "transitions: { Normal: { Cleaned: { to: Full, set: { used: !env { name: A, default: b }, by: x } } } }",
            """
            a.yaml:5:85: error: the field 'used' is of type int, but 'b' is text [wrong-type]
              transitions: { Normal: { Cleaned: { to: Full, set: { used: !env { name: A, default: b }, by: x } } } }
                                                                                                  ^
            """),
        Mistake(
            "an unknown key of a reference",
            head + "feedbacks: { f: { onState: any, log: !env { name: A, defualt: b } } }",
            """
            a.yaml:5:54: error: '!env' has no key 'defualt' [unknown-key]
              feedbacks: { f: { onState: any, log: !env { name: A, defualt: b } } }
                                                                   ^~~~~~~
              hint: did you mean 'default'?
            """),
        Mistake(
            "a reference without a name",
            head + "feedbacks: { f: { onState: any, log: !env { default: b } } }",
            """
            a.yaml:5:38: error: '!env' needs 'name' [missing-key]
              feedbacks: { f: { onState: any, log: !env { default: b } } }
                                                   ^~~~
            """),
    ]
}
