import MediatorConfiguration
import Testing

@Suite struct `Feedback mistakes` {
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
            a.yaml:6:44: warning: the shell runs what is in these data as part of the script [shell-syntax]
                clean: { onState: Full, run: [bash, -ec, "echo ${state.name}"] }
                                                         ^~~~~~~~~~~~~~~~~~~~
              hint: give them as arguments: [sh, -c, 'echo "$1"', sh, "${…}"]
            """#),
        Mistake(
            "an hour for a time of day",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              clean:
                onState: any
                at: [8, daily]
                run: [clean]
            """#,
            #"""
            a.yaml:8:10: error: this is neither a date nor a time of day [invalid-calendar-time]
                  at: [8, daily]
                       ^
              hint: write such as 08:00, or *-12-24
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
            "two limits of time",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                timeout: 5s
                tcp: { host: localhost, port: 22, timeout: 1s }
                onSuccess: Cleaned
            """#,
            #"""
            a.yaml:8:14: error: 'tcp' has a 'timeout' of its own already [conflicting-keys]
                  timeout: 5s
                           ^~
              hint: keep that, or leave it out and give the feedback an 'onTimeout'
            """#),
        Mistake(
            "a jitter that reaches into the next run",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                every: 1m
                jitter: 90s
                tcp: { host: localhost, port: 22 }
                onSuccess: Cleaned
            """#,
            #"""
            a.yaml:9:13: error: 'jitter' must be shorter than 'every', which is 1m [out-of-range]
                  jitter: 90s
                          ^~~
            """#),
        Mistake(
            "a probe of which nothing becomes",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                every: 1m
                dns: localhost
            """#,
            #"""
            a.yaml:9:5: warning: nothing becomes of what 'dns' tells [moot]
                  dns: localhost
                  ^~~
              hint: its outcomes are onSuccess, onFailure, onUp, onDown
            """#),
        Mistake(
            "thresholds that nobody hears of",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                every: 1m
                run: { command: [df], failureWindow: 5, failureThreshold: 3 }
                onSuccess: Cleaned
            """#,
            #"""
            a.yaml:9:45: warning: 'failureThreshold' means nothing without an 'onUp' or 'onDown' [moot]
                  run: { command: [df], failureWindow: 5, failureThreshold: 3 }
                                                          ^~~~~~~~~~~~~~~~
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
            "an unknown side effect with outcomes of its own",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                knock: 3
                onChanged: Cleaned
            """#,
            #"""
            a.yaml:8:5: error: there is no side effect 'knock' [unknown-effect]
                  knock: 3
                  ^~~~~
              hint: possible here: run, emit, publish, log, socket, path, filesystem, interface, …; mediatorctl knows those of a daemon of one's own by --kinds
            """#),
        Mistake(
            "an unknown side effect behind outcomes of its own",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                onRung: Cleaned
                knock: 3
            """#,
            #"""
            a.yaml:9:5: error: there is no side effect 'knock' [unknown-effect]
                  knock: 3
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
        Mistake(
            "a calendar time that is none, among others",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              clean:
                onState: any
                at:
                  - daily
                  - "Mon..Fri 08:60 Europe/Berlin"
                run: [clean]
            """#,
            #"""
            a.yaml:10:22: error: the minute is from 0 to 59, not 60 [invalid-calendar-time]
                    - "Mon..Fri 08:60 Europe/Berlin"
                                   ^~
            """#),
        Mistake(
            "a calendar time that never comes, in one of two states",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              clean:
                onState: any
                at: 02-30 08:00
                run: [clean]
            """#,
            #"""
            a.yaml:8:9: error: this time never comes, in no year from 1970 to 2199 [invalid-calendar-time]
                  at: 02-30 08:00
                      ^~~~~~~~~~~
              hint: as a normal form it is *-02-30 08:00:00
            """#),
        Mistake(
            "missed without ticks",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              clean:
                onState: any
                after: 5s
                missed: all
                run: [clean]
            """#,
            #"""
            a.yaml:9:5: error: 'missed' is about the ticks of 'every' or 'at', and there are none [conflicting-keys]
                  missed: all
                  ^~~~~~
              hint: leave it out, or add 'every' or 'at'
            """#),
        Mistake(
            "every and after",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                every: 5s
                after: 1s
                run: [df]
            """#,
            #"""
            a.yaml:9:5: error: 'every' and 'after' exclude each other [conflicting-keys]
                  after: 1s
                  ^~~~~
              hint: keep one of them
            """#),
        Mistake(
            "a period without unit",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                every: 5
                run: [df]
            """#,
            #"""
            a.yaml:8:12: error: 'every' is of type duration, but 5 is a number [wrong-type]
                  every: 5
                         ^
              hint: write a number and a unit, such as 5s, 200ms or 1h30m
            """#),
        Mistake(
            "a period that is too short",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                every: 999us
                run: [df]
            """#,
            #"""
            a.yaml:8:12: error: 'every' must be at least 1ms [out-of-range]
                  every: 999us
                         ^~~~~
            """#),
        Mistake(
            "a delay of nothing",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                after: 0s
                run: [df]
            """#,
            #"""
            a.yaml:8:12: error: 'after' must be longer than nothing [out-of-range]
                  after: 0s
                         ^~
            """#),
        Mistake(
            "a delay from a state that has none",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: [Full, Normal]
                after: "${duration(string(state.used) + 's')}"
                run: [df]
            """#,
            #"""
            a.yaml:8:37: error: 'state' (Normal) has no field 'used'; it has no fields (in state 'Normal') [unknown-field]
                  after: "${duration(string(state.used) + 's')}"
                                                  ^~~~
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
              hint: its parameters are command, input, environment, directory, user, group, timeout, expect, output, maxOutput, failureThreshold, failureWindow, successThreshold
            """#),
        Mistake(
            "a socket in a relative place",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                socket: { path: disk.sock, mode: "0660" }
            """#,
            #"""
            a.yaml:8:21: error: the parameter 'path' must be a path from the root: it begins with '/' [unsuitable-text]
                  socket: { path: disk.sock, mode: "0660" }
                                  ^~~~~~~~~
            """#),
        Mistake(
            "a host with its port",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                tcp: { host: "localhost:25", port: 25 }
            """#,
            #"""
            a.yaml:8:18: error: the parameter 'host' must be the name or address of a host: without a port, brackets, or anything before it [unsuitable-text]
                  tcp: { host: "localhost:25", port: 25 }
                               ^~~~~~~~~~~~~~
            """#),
        Mistake(
            "a port that there is not",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                tcp: { host: localhost, port: 65536 }
            """#,
            #"""
            a.yaml:8:35: error: the parameter 'port' must be from 1 to 65535 [out-of-range]
                  tcp: { host: localhost, port: 65536 }
                                                ^~~~~
            """#),
        Mistake(
            "a URL without a scheme",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: localhost/health
            """#,
            #"""
            a.yaml:8:11: error: the parameter 'url' must be a URL: it begins with http://, https://, http+unix:// or https+unix:// [unsuitable-text]
                  http: localhost/health
                        ^~~~~~~~~~~~~~~~
            """#),
        Mistake(
            "a URL with a password",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: "http://me:secret@localhost/"
            """#,
            #"""
            a.yaml:8:11: error: the parameter 'url' must hold no user or password: they belong into the header Authorization [unsuitable-text]
                  http: "http://me:secret@localhost/"
                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
            """#),
        Mistake(
            "a URL with a space",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: { url: "http://localhost/a b" }
            """#,
            #"""
            a.yaml:8:18: error: the parameter 'url' must be a URL whose special characters are percent-encoded: a space is %20 [unsuitable-text]
                  http: { url: "http://localhost/a b" }
                               ^~~~~~~~~~~~~~~~~~~~~~
            """#),
        Mistake(
            "a URL of a socket that is written plainly",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: http+unix:///run/app.sock
            """#,
            #"""
            a.yaml:8:11: error: the parameter 'url' must have the percent-encoded path of a socket as its host: %2Frun%2Fapp.sock [unsuitable-text]
                  http: http+unix:///run/app.sock
                        ^~~~~~~~~~~~~~~~~~~~~~~~~
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
            "statuses that there are not",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: { url: "http://localhost", expect: 2xx }
            """#,
            #"""
            a.yaml:8:46: error: the parameter 'expect' must be statuses from 100 to 599 and ranges of them, such as "200-299,404" [unsuitable-text]
                  http: { url: "http://localhost", expect: 2xx }
                                                           ^~~
            """#),
        Mistake(
            "a header that belongs to the connection",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: { url: "http://localhost", headers: { Content-Length: "3" } }
            """#,
            #"""
            a.yaml:8:47: error: the parameter 'headers' cannot say 'Content-Length', which belongs to the connection [unsuitable-text]
                  http: { url: "http://localhost", headers: { Content-Length: "3" } }
                                                            ^
            """#),
        Mistake(
            "a header with a line break",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                http: { url: "http://localhost", headers: { X-A: "b\r\nX-B: c" } }
            """#,
            #"""
            a.yaml:8:47: error: the parameter 'headers' cannot have a line break or another control character in 'X-A' [unsuitable-text]
                  http: { url: "http://localhost", headers: { X-A: "b\r\nX-B: c" } }
                                                            ^
            """#),
        Mistake(
            "an interval beside what goes on by itself",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                every: 5s
                socket: /run/disk.sock
            """#,
            #"""
            a.yaml:8:12: error: 'socket' goes on by itself, so there can be no 'every' beside it [conflicting-keys]
                  every: 5s
                         ^~
              hint: leave it out
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
        Mistake(
            "a timeout below nothing",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: { command: [df], timeout: -1s }
            """#,
            #"""
            a.yaml:8:36: error: the parameter 'timeout' must be longer than nothing [out-of-range]
                  run: { command: [df], timeout: -1s }
                                                 ^~~
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
            "an outcome the side effect does not have",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                log: hello
                onSuccess: Cleaned
            """#,
            #"""
            a.yaml:9:5: error: 'log' has no outcome 'onSuccess' [unknown-outcome]
                  onSuccess: Cleaned
                  ^~~~~~~~~
              hint: it has none
            """#),
        Mistake(
            "an outcome with an unknown event",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                onSuccess: Clened
            """#,
            #"""
            a.yaml:9:16: error: 'disk' has no event 'Clened' [unknown-event]
                  onSuccess: Clened
                             ^~~~~~
              hint: did you mean 'Cleaned'?
            """#),
        Mistake(
            "an outcome without its event's data",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                onSuccess: Measured
            """#,
            #"""
            a.yaml:9:16: error: the event 'Measured' needs the field 'used' [missing-field]
                  onSuccess: Measured
                             ^~~~~~~~
              hint: its fields are { used: int }
            """#),
        Mistake(
            "an outcome with a wrong result",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                onLine: { Measured: { used: "${int(result.lin)}" } }
            """#,
            #"""
            a.yaml:9:47: error: 'result' (result) has no field 'lin' [unknown-field]
                  onLine: { Measured: { used: "${int(result.lin)}" } }
                                                            ^~~
              hint: did you mean 'line'?
            """#),
        Mistake(
            "an outcome with no rule",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                onLine: []
            """#,
            #"""
            a.yaml:9:13: error: 'onLine' needs at least one rule [empty]
                  onLine: []
                          ^
            """#),
        Mistake(
            "an outcome rule without emit",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                onLine:
                  - { when: result.number > 1 }
            """#,
            #"""
            a.yaml:10:9: error: a rule of 'onLine' needs 'emit' [missing-key]
                    - { when: result.number > 1 }
                      ^
            """#),
        Mistake(
            "an outcome rule is never reached",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                run: [df]
                onLine:
                  - { emit: Cleaned }
                  - { when: result.number > 1, emit: Cleaned }
            """#,
            #"""
            a.yaml:11:9: error: this rule is never reached: the one before it always holds [unreachable-rule]
                    - { when: result.number > 1, emit: Cleaned }
                      ^
              hint: give the one before a 'when', or move it to the end
            """#),
        Mistake(
            "emit of two events",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                emit: [Cleaned, Cleaned]
            """#,
            #"""
            a.yaml:8:11: error: the event of 'emit' must be a name, or one name with its fields, not a list [wrong-shape]
                  emit: [Cleaned, Cleaned]
                        ^
              hint: write Name, or { Name: { field: value } }
            """#),
        Mistake(
            "result outside an outcome",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                log: "${result.line}"
            """#,
            #"""
            a.yaml:8:13: error: unknown variable 'result' [unknown-variable]
                  log: "${result.line}"
                          ^~~~~~
              hint: variables here: state, now
            """#),
        Mistake(
            "a template that is not closed",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              probe:
                onState: any
                log: "used ${state"
            """#,
            #"""
            a.yaml:8:16: error: '${' is not closed with '}'; a literal '${' is written '$${' [invalid-expression]
                  log: "used ${state"
                             ^~
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
