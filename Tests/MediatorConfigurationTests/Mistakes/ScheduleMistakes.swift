import MediatorConfiguration
import Testing

@Suite struct `Schedule mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
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
            a.yaml:9:5: error: 'missed' needs 'every' or 'at' [conflicting-keys]
                  missed: all
                  ^~~~~~
              hint: leave it out, or add 'every' or 'at'
            """#),
        Mistake(
            "maxMissed beside timeout",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              clean:
                onState: any
                every: 5s
                maxMissed: 3
                timeout: 2s
                run: [clean]
            """#,
            #"""
            a.yaml:9:5: error: 'maxMissed' and 'timeout' exclude each other: the time limit says when a run takes too long [conflicting-keys]
                  maxMissed: 3
                  ^~~~~~~~~
              hint: keep one of them
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
    ]
}
