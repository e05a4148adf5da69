import MediatorConfiguration
import Testing

@Suite struct `Parameter mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "an operator of a shell among what is none",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int, name: string } }
            events: { Cleaned: {} }
            initialState: Normal
            feedbacks:
              find: { onState: Full, run: [find, /tmp, -exec, rm, "{}", ;] }
              there: { onState: Full, run: [ssh, host, ls, "&&", ls] }
              compare: { onState: Full, run: [expr, "1", ">", "2"] }
              select: { onState: Full, run: [awk, "{ print $(NF) }", "$1"] }
              script: { onState: Full, run: [/bin/sh, -c, 'echo "$1" ${state.used} && ls ~/x', sh, "${state.name}"] }
              clean: { onState: Full, run: [sync, "&&", ls] }
            """#,
            #"""
            a.yaml:11:39: warning: no shell runs this command, so it is given '&&' as it stands [shell-syntax]
                clean: { onState: Full, run: [sync, "&&", ls] }
                                                    ^~~~
              hint: for a shell write [sh, -c, "…"]
            """#),
        Mistake(
            "data in a script",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int, name: string } }
            events: { Cleaned: {} }
            initialState: Normal
            feedbacks:
              clean: { onState: Full, run: [bash, -ec, "echo ${state.name}"] }
            """#,
            #"""
            a.yaml:6:44: warning: the shell runs these data as part of the script [shell-syntax]
                clean: { onState: Full, run: [bash, -ec, "echo ${state.name}"] }
                                                         ^~~~~~~~~~~~~~~~~~~~
              hint: give them as arguments: [sh, -c, 'echo "$1"', sh, "${…}"]
            """#),
        Mistake(
            "a parameter beside its side effect",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                expect: "0-1"
            """#,
            #"""
            a.yaml:9:5: error: the feedback 'probe' has no key 'expect' [unknown-key]
                  expect: "0-1"
                  ^~~~~~
              hint: it is a parameter of 'run', and belongs inside of that
            """#),
        Mistake(
            "an empty command beside a computed argument",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: Full
                run: { command: ["", "${string(state.used)}"] }
            """#,
            #"""
            a.yaml:8:21: error: the parameter 'command' must begin with the name of a program, which is not empty [unsuitable-text]
                  run: { command: ["", "${string(state.used)}"] }
                                  ^
            """#),
        Mistake(
            "a field of the log that cannot be, beside a computed one",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: Full
                log: { message: m, fields: { ok: "${string(state.used)}", _x: y } }
            """#,
            #"""
            a.yaml:8:32: error: the parameter 'fields' cannot have '_x': a field has a name of at most 64 letters, digits and underscores, which begins with a letter [unsuitable-text]
                  log: { message: m, fields: { ok: "${string(state.used)}", _x: y } }
                                             ^
            """#),
        Mistake(
            "an empty command",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: []
            """#,
            #"""
            a.yaml:8:10: error: the parameter 'command' needs at least one element [empty]
                  run: []
                       ^
            """#),
        Mistake(
            "a command without parameters",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run:
            """#,
            #"""
            a.yaml:8:5: error: 'run' needs its parameters [wrong-shape]
                  run:
                  ^~~
              hint: write run: { command: … }
            """#),
        Mistake(
            "an end of a command that there is not",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: { command: [df], expect: "0-256" }
            """#,
            #"""
            a.yaml:8:35: error: the parameter 'expect' must be exit codes from 0 to 255, ranges of them and signals, such as "0,75-78,SIGTERM" [unsuitable-text]
                  run: { command: [df], expect: "0-256" }
                                                ^~~~~~~
            """#),
        Mistake(
            "an account that can be none",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: { command: [df], user: "ada:users" }
            """#,
            #"""
            a.yaml:8:33: error: the parameter 'user' must be the name or the number of an account [unsuitable-text]
                  run: { command: [df], user: "ada:users" }
                                              ^~~~~~~~~~~
            """#),
        Mistake(
            "a group without its user",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: { command: [df], group: disk }
            """#,
            #"""
            a.yaml:8:34: error: the parameter 'group' means nothing without 'user' [missing-parameter]
                  run: { command: [df], group: disk }
                                               ^~~~
            """#),
        Mistake(
            "output of a form that there is not",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: { command: [df], output: lines }
            """#,
            #"""
            a.yaml:8:35: error: the parameter 'output' cannot be 'lines' [unknown-choice]
                  run: { command: [df], output: lines }
                                                ^~~~~
              hint: possible here: text, json, jsonLines
            """#),
        Mistake(
            "a field of the log that the daemon says itself",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                log: { message: full, fields: { PRIORITY: "3" } }
            """#,
            #"""
            a.yaml:8:35: error: the parameter 'fields' cannot have 'PRIORITY', which the daemon says itself [unsuitable-text]
                  log: { message: full, fields: { PRIORITY: "3" } }
                                                ^
            """#),
        Mistake(
            "a field of the log that the journal does not take",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                log: { message: full, fields: { _disk: sda } }
            """#,
            #"""
            a.yaml:8:35: error: the parameter 'fields' cannot have '_disk': a field has a name of at most 64 letters, digits and underscores, which begins with a letter [unsuitable-text]
                  log: { message: full, fields: { _disk: sda } }
                                                ^
            """#),
        Mistake(
            "two fields of the log that are one",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                log: { message: full, fields: { disk: sda, Disk: sdb } }
            """#,
            #"""
            a.yaml:8:35: error: the parameter 'fields' has 'Disk' and 'disk', which are one field of the journal [unsuitable-text]
                  log: { message: full, fields: { disk: sda, Disk: sdb } }
                                                ^
            """#),
        Mistake(
            "a command of one word",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: df
            """#,
            #"""
            a.yaml:8:10: error: the parameter 'command' is of type list(string), but 'df' is text [wrong-type]
                  run: df
                       ^~
              hint: write a list: [df]
            """#),
        Mistake(
            "a number in a command",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [sleep, 5]
            """#,
            #"""
            a.yaml:8:18: error: an element of the parameter 'command' is of type string, but 5 is a number [wrong-type]
                  run: [sleep, 5]
                               ^
              hint: write "5"
            """#),
        Mistake(
            "an unknown log level",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                log: { message: hello, level: warn }
            """#,
            #"""
            a.yaml:8:35: error: the parameter 'level' cannot be 'warn' [unknown-choice]
                  log: { message: hello, level: warn }
                                                ^~~~
              hint: did you mean 'warning'?
            """#),
        Mistake(
            "an unknown environment entry type",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: { command: [df], environment: { LANG: 1 } }
            """#,
            #"""
            a.yaml:8:48: error: the entry 'LANG' is of type string, but 1 is a number [wrong-type]
                  run: { command: [df], environment: { LANG: 1 } }
                                                             ^
              hint: write "1"
            """#),
    ]
}
