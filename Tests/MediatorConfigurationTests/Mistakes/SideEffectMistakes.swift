import MediatorConfiguration
import Testing

@Suite struct `Side effect mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a key of the feedback inside its side effect",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: { command: [df], retry: 3 }
            """#,
            #"""
            a.yaml:8:27: error: 'run' has no parameter 'retry' [unknown-parameter]
                  run: { command: [df], retry: 3 }
                                        ^~~~~
              hint: it is a key of the feedback, and belongs beside 'run'
            """#),
        Mistake(
            "an unknown side effect",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                knock: { host: 192.0.2.1, port: 443, timeout: 1s }
                onSuccess: Cleaned
            """#,
            #"""
            a.yaml:8:5: error: there is no side effect 'knock' [unknown-effect]
                  knock: { host: 192.0.2.1, port: 443, timeout: 1s }
                  ^~~~~
              hint: possible here: run, emit, publish, log, socket, path, filesystem, interface, …; mediatorctl knows those of a daemon of one's own by --kinds
            """#),
        Mistake(
            "a misspelt side effect",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                runn: [df]
            """#,
            #"""
            a.yaml:8:5: error: there is no side effect 'runn' [unknown-effect]
                  runn: [df]
                  ^~~~
              hint: did you mean 'run'?
            """#),
        Mistake(
            "no side effect",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
            """#,
            #"""
            a.yaml:6:3: error: the feedback 'probe' has no side effect [unknown-effect]
                probe:
                ^~~~~
              hint: add one of: run, emit, publish, log, socket, path, filesystem, interface, pressure, process, tcp, ping, http, dns, notify, unit, units, systemctl, journal
            """#),
        Mistake(
            "two side effects",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                log: text
            """#,
            #"""
            a.yaml:9:5: error: a feedback has one side effect, and 'run' is there already [conflicting-keys]
                  log: text
                  ^~~
              hint: write a second feedback for 'log'
            """#),
        Mistake(
            "an unknown parameter",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: { command: [df], timout: 1s }
            """#,
            #"""
            a.yaml:8:27: error: 'run' has no parameter 'timout' [unknown-parameter]
                  run: { command: [df], timout: 1s }
                                        ^~~~~~
              hint: did you mean 'timeout'?
            """#),
        Mistake(
            "a missing parameter",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: { timeout: 1s }
            """#,
            #"""
            a.yaml:8:5: error: 'run' needs the parameter 'command' [missing-parameter]
                  run: { timeout: 1s }
                  ^~~
            """#),
    ]
}
