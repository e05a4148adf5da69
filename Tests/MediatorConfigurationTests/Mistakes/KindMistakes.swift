import MediatorConfiguration
import Testing

extension `Instances of kinds` {
    @Test(arguments: mistakes) func `are told their mistakes`(mistake: Mistake) { mistake.check(kinds: sampleKinds) }

    static let mistakes = [
        Mistake(
            "an unknown kind", "system: kitchen\nkind: speeker\nwith: { x: 1 }\n",
            """
            a.yaml:2:7: error: there is no kind of systems 'speeker' [unknown-kind]
              kind: speeker
                    ^~~~~~~
              hint: did you mean 'speaker'?
            """),
        Mistake(
            "unknown, missing and mistyped parameters",
            "system: a\nkind: speaker\nwith: { volume: loud, plaec: bath, ramp: 5 }\n---\nsystem: b\nkind: speaker\n",
            """
            a.yaml:3:17: error: the parameter 'volume' is of type int, but 'loud' is text [wrong-type]
              with: { volume: loud, plaec: bath, ramp: 5 }
                              ^~~~
            a.yaml:3:23: error: 'speaker' has no parameter 'plaec' [unknown-parameter]
              with: { volume: loud, plaec: bath, ramp: 5 }
                                    ^~~~~
              hint: did you mean 'place'?
            a.yaml:3:42: error: the parameter 'ramp' is of type duration, but 5 is a number [wrong-type]
              with: { volume: loud, plaec: bath, ramp: 5 }
                                                       ^
              hint: write a number and a unit, such as 5s, 200ms or 1h30m
            a.yaml:6:7: error: 'speaker' needs the parameter 'target' [missing-parameter]
              kind: speaker
                    ^~~~~~~
              hint: its parameters are { target: int, volume: int, ramp: optional(duration), place: string, key: string }
            """),
        Mistake(
            "a parameter that varies, and a word that is none",
            "system: a\nkind: speaker\nwith: { target: \"${int(now)}\", place: hall }\n",
            """
            a.yaml:3:24: error: only a fixed value can stand here, and 'now' varies [not-constant]
              with: { target: "${int(now)}", place: hall }
                                     ^~~
              hint: write the value itself
            a.yaml:3:39: error: 'place' is 'kitchen' or 'bath', not 'hall' [unknown-choice]
              with: { target: "${int(now)}", place: hall }
                                                    ^~~~
            """),
        Mistake(
            "unknown states, events, fields and words",
            kitchenHead + """
                ready: Playin
                ---
                buses: { b: { kind: passthrough, value: string, fromOutside: both } }
                links:
                  a: { attach: kitchen, to: b, onState: Mutd, emitValue: x }
                  b: { attach: kitchen, to: b, onValue: x, emitEvent: Loudr }
                  c: { attach: kitchen, to: b, onState: Playing, emitValue: "${state.volum}" }
                  d: { attach: kitchen, to: b, onValue: x, emitEvent: { Source: { from: raido } } }

                """,
            """
            a.yaml:4:8: error: 'kitchen' has no state 'Playin' [unknown-state]
              ready: Playin
                     ^~~~~~
              hint: did you mean 'Playing'?
            a.yaml:8:41: error: 'kitchen' has no state 'Mutd' [unknown-state]
                a: { attach: kitchen, to: b, onState: Mutd, emitValue: x }
                                                      ^~~~
              hint: did you mean 'Muted'?
            a.yaml:9:55: error: 'kitchen' has no event 'Loudr' [unknown-event]
                b: { attach: kitchen, to: b, onValue: x, emitEvent: Loudr }
                                                                    ^~~~~
              hint: did you mean 'Louder'?
            a.yaml:10:70: error: 'state' (Playing) has no field 'volum' [unknown-field]
                c: { attach: kitchen, to: b, onState: Playing, emitValue: "${state.volum}" }
                                                                                   ^~~~~
              hint: did you mean 'volume'?
            a.yaml:11:73: error: 'from' is 'radio' or 'disc', not 'raido' [unknown-choice]
                d: { attach: kitchen, to: b, onValue: x, emitEvent: { Source: { from: raido } } }
                                                                                      ^~~~~
              hint: did you mean 'radio'?
            """),
        Mistake(
            "numbers out of range, words that are none, in structures, lists and maps",
            """
            system: a
            kind: server
            with:
              port: 70000
              more: [1, 65536]
              named: { http: 80, odd: 99999 }
              peers: [{ modes: [fast], port: 1 }, { modes: [slow, fats], port: 65536 }]
              level: 3
              id: 6f1c0a52

            """,
            """
            a.yaml:4:9: error: 'port' is between 0 and 65535, not 70000 [out-of-range]
                port: 70000
                      ^~~~~
            a.yaml:5:13: error: 'more[1]' is between 0 and 65535, not 65536 [out-of-range]
                more: [1, 65536]
                          ^~~~~
            a.yaml:6:27: error: 'named.odd' is between 0 and 65535, not 99999 [out-of-range]
                named: { http: 80, odd: 99999 }
                                        ^~~~~
            a.yaml:7:55: error: 'peers[1].modes[1]' is 'fast' or 'slow', not 'fats' [unknown-choice]
                peers: [{ modes: [fast], port: 1 }, { modes: [slow, fats], port: 65536 }]
                                                                    ^~~~
              hint: did you mean 'fast'?
            a.yaml:7:68: error: 'peers[1].port' is between 0 and 65535, not 65536 [out-of-range]
                peers: [{ modes: [fast], port: 1 }, { modes: [slow, fats], port: 65536 }]
                                                                                 ^~~~~
            a.yaml:8:10: error: 'level' is 1 or 2, not 3 [unknown-choice]
                level: 3
                       ^
            a.yaml:9:7: error: 'id' is a UUID, not '6f1c0a52' [wrong-type]
                id: 6f1c0a52
                    ^~~~~~~~
              hint: write one such as 6f1c0a52-3b1e-4c0e-9a7d-2f8e5d1b9c34
            """),
        Mistake(
            "what a link or a feedback emits, beside what is computed",
            """
            system: a
            kind: server
            feedbacks:
              f: { onState: { Serving: { mode: fsat } }, after: 1s, log: x }
              g: { onState: Serving, after: 1s, emit: { Peer: { peer: { modes: [], port: 70000 } } } }
            ---
            buses: { b: { kind: passthrough, value: uint, fromOutside: both } }
            links:
              l: { attach: a, to: b, emitEvent: { Peer: { peer: { modes: [slwo], port: "${value}" }, offset: 128 } } }

            """,
            """
            a.yaml:4:36: error: 'mode' is 'fast' or 'slow', not 'fsat' [unknown-choice]
                f: { onState: { Serving: { mode: fsat } }, after: 1s, log: x }
                                                 ^~~~
              hint: did you mean 'fast'?
            a.yaml:5:78: error: 'peer.port' is between 0 and 65535, not 70000 [out-of-range]
                g: { onState: Serving, after: 1s, emit: { Peer: { peer: { modes: [], port: 70000 } } } }
                                                                                           ^~~~~
            a.yaml:9:63: error: 'peer.modes[0]' is 'fast' or 'slow', not 'slwo' [unknown-choice]
                l: { attach: a, to: b, emitEvent: { Peer: { peer: { modes: [slwo], port: "${value}" }, offset: 128 } } }
                                                                            ^~~~
              hint: did you mean 'slow'?
            a.yaml:9:98: error: 'offset' is between -128 and 127, not 128 [out-of-range]
                l: { attach: a, to: b, emitEvent: { Peer: { peer: { modes: [slwo], port: "${value}" }, offset: 128 } } }
                                                                                                               ^~~
            """),
        Mistake(
            "a misspelt with", "system: a\nkind: speaker\nwiht: { target: 1 }\n",
            """
            a.yaml:3:1: error: a system has no key 'wiht' [unknown-key]
              wiht: { target: 1 }
              ^~~~
              hint: did you mean 'with'?
            """),
        Mistake(
            "a key like kind in a configured system",
            "system: a\nknid: speaker\nstates: { X: {} }\ninitialState: Y\n",
            """
            a.yaml:2:1: error: a system has no key 'knid' [unknown-key]
              knid: speaker
              ^~~~
              hint: did you mean 'kind'?
            a.yaml:4:15: error: 'a' has no state 'Y' [unknown-state]
              initialState: Y
                            ^
              hint: possible here: X
            """),
        Mistake(
            "what the kind says, said again", "system: a\nkind: timer\nstates: { X: {} }\ntransitions: {}\nwith: 3\n",
            """
            a.yaml:3:1: error: 'kind' and 'states' exclude each other: the kind defines the inside of the system [conflicting-keys]
              states: { X: {} }
              ^~~~~~
              hint: leave 'states' out, or 'kind'
            a.yaml:4:1: error: 'kind' and 'transitions' exclude each other: the kind defines the inside of the system [conflicting-keys]
              transitions: {}
              ^~~~~~~~~~~
              hint: leave 'transitions' out, or 'kind'
            a.yaml:5:7: error: 'with' must be a mapping, not a single value [wrong-shape]
              with: 3
                    ^
            """),
    ]
}
