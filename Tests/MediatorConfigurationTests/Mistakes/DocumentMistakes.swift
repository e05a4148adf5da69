import MediatorConfiguration
import Testing

@Suite struct `Document mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a document that is a list",
            #"""
            - system: disk
            """#,
            #"""
            a.yaml:1:1: error: a document must be a mapping, not a list [wrong-shape]
              - system: disk
              ^
              hint: write each as a document of its own, with a line '---' between them; a system begins with system: NAME
            """#),
        Mistake(
            "a document of neither kind",
            #"""
            sytem: disk
            states: { Normal: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:1:1: error: a document is a system, with the key 'system', or holds 'buses', 'links', 'instances', 'groups', 'access', 'limits' or 'store' [document-kind]
              sytem: disk
              ^~~~~
              hint: did you mean 'system'?
            """#),
        Mistake(
            "buses in a system's document",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            buses:
              alarms: { kind: passthrough, value: int }
            """#,
            #"""
            a.yaml:5:1: error: 'buses' cannot stand in a system's document [document-kind]
              buses:
              ^~~~~
              hint: put it into a document of its own, after a line '---', or into another file
            """#),
        Mistake(
            "an unknown key of a system",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedback: {}
            """#,
            #"""
            a.yaml:5:1: error: a system has no key 'feedback' [unknown-key]
              feedback: {}
              ^~~~~~~~
              hint: did you mean 'feedbacks'?
            """#),
        Mistake(
            "an unknown key beside buses",
            #"""
            buses: {}
            link: {}
            """#,
            #"""
            a.yaml:2:1: error: a document of buses and links has no key 'link' [unknown-key]
              link: {}
              ^~~~
              hint: did you mean 'links'?
            """#),
        Mistake(
            "a system without a name",
            #"""
            system:
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:1:8: error: the name of a system is empty [wrong-shape]
              system:
                     ^
            """#),
        Mistake(
            "a name with a space",
            #"""
            system: disk guard
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:1:9: error: 'disk guard' cannot name a system [invalid-name]
              system: disk guard
                      ^~~~~~~~~~
              hint: a letter, then letters, digits, '.', '_' and '-', at most 128
            """#),
        Mistake(
            "no states",
            #"""
            system: disk
            initialState: Normal
            """#,
            #"""
            a.yaml:1:1: error: a system needs 'states' [missing-key]
              system: disk
              ^~~~~~
            """#),
        Mistake(
            "empty states",
            #"""
            system: disk
            states: {}
            initialState: Normal
            """#,
            #"""
            a.yaml:2:9: error: a system needs at least one state [empty]
              states: {}
                      ^
            """#),
        Mistake(
            "states as a list",
            #"""
            system: disk
            states: [Normal, Full]
            initialState: Normal
            """#,
            #"""
            a.yaml:2:9: error: 'states' must be a mapping, not a list [wrong-shape]
              states: [Normal, Full]
                      ^
              hint: write { Normal: {}, Full: {} }
            """#),
        Mistake(
            "no initial state",
            #"""
            system: disk
            states: { Normal: {} }
            """#,
            #"""
            a.yaml:1:1: error: a system needs 'initialState' [missing-key]
              system: disk
              ^~~~~~
            """#),
        Mistake(
            "an initial state that is not there",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normel
            """#,
            #"""
            a.yaml:4:15: error: 'disk' has no state 'Normel' [unknown-state]
              initialState: Normel
                            ^~~~~~
              hint: did you mean 'Normal'?
            """#),
        Mistake(
            "an initial state without its data",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Full
            """#,
            #"""
            a.yaml:4:15: error: the initial state 'Full' needs the field 'used' [missing-field]
              initialState: Full
                            ^~~~
              hint: write { Full: { used: 0 } }
            """#),
        Mistake(
            "an initial state from an event",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: { Full: { used: "${event.used}" } }
            """#,
            #"""
            a.yaml:4:34: error: unknown variable 'event' [unknown-variable]
              initialState: { Full: { used: "${event.used}" } }
                                               ^~~~~
              hint: variables here: now
            """#),
        Mistake(
            "an initial state of two keys",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: { Full: { used: 1 }, Normal: {} }
            """#,
            #"""
            a.yaml:4:15: error: the initial state must be a name, or one name with its fields, not a mapping of 2 keys [wrong-shape]
              initialState: { Full: { used: 1 }, Normal: {} }
                            ^
              hint: write Name, or { Name: { field: value } }
            """#),
        Mistake(
            "an initial state without fields' mapping",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: { Full: 3 }
            """#,
            #"""
            a.yaml:4:23: error: the fields of 'Full' must be a mapping, not a single value [wrong-shape]
              initialState: { Full: 3 }
                                    ^
              hint: write { Full: { field: value } }
            """#),
        Mistake(
            "a state named any",
            #"""
            system: disk
            states: { Normal: {}, any: {} }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:2:23: error: a state cannot be named 'any' [reserved-name]
              states: { Normal: {}, any: {} }
                                    ^~~
              hint: in transitions 'any' has a meaning of its own
            """#),
        Mistake(
            "a state named stay",
            #"""
            system: disk
            states: { Normal: {}, stay: {} }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:2:23: error: a state cannot be named 'stay' [reserved-name]
              states: { Normal: {}, stay: {} }
                                    ^~~~
              hint: in transitions 'stay' has a meaning of its own
            """#),
        Mistake(
            "a state with a hyphen",
            #"""
            system: disk
            states: { Normal: {}, Half-Full: {} }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:2:23: error: 'Half-Full' cannot name a state [invalid-name]
              states: { Normal: {}, Half-Full: {} }
                                    ^~~~~~~~~
              hint: a letter, then letters, digits and '_', at most 128
            """#),
        Mistake(
            "a state that is a number",
            #"""
            system: disk
            states: { Normal: 3, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:2:19: error: the fields of 'Normal' must be a mapping, not a single value [wrong-shape]
              states: { Normal: 3, Full: { used: int } }
                                ^
            """#),
        Mistake(
            "an unknown type",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: integer } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:2:37: error: there is no type 'integer' [unknown-type]
              states: { Normal: {}, Full: { used: integer } }
                                                  ^~~~~~~
              hint: did you mean 'int'?
            """#),
        Mistake(
            "a misspelt type",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: timestmp } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:2:37: error: there is no type 'timestmp' [unknown-type]
              states: { Normal: {}, Full: { used: timestmp } }
                                                  ^~~~~~~~
              hint: did you mean 'timestamp'?
            """#),
        Mistake(
            "a type that is nothing",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:2:37: error: the field 'used' needs a type, not nothing [wrong-shape]
              states: { Normal: {}, Full: { used: } }
                                                  ^
              hint: types are bool, int, uint, double, string, timestamp, duration, list(…), map(string, …)
            """#),
        Mistake(
            "a map type cut by its comma",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: map(string, int) } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:2:37: error: within { … } a ',' ends the value of 'used', so it needs quotes [syntax]
              states: { Normal: {}, Full: { used: map(string, int) } }
                                                  ^~~~~~~~~~~~~~~~
              hint: write states: { Normal: {}, Full: { used: "map(string, int)" } }
            """#),
        Mistake(
            "a type that lies too deep",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: list(list(list(list(list(list(list(list(int)))))))) } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:2:37: error: there is no type 'list(list(list(list(list(list(list(list(int))))))))' [unknown-type]
              states: { Normal: {}, Full: { used: list(list(list(list(list(list(list(list(int)))))))) } }
                                                  ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
              hint: types are bool, int, uint, double, string, timestamp, duration, list(…), map(string, …)
            """#),
    ]
}
