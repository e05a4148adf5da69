import MediatorConfiguration
import Testing

@Suite struct `YAML mistakes` {
    @Test(arguments: all)
    func `a mistake gives one message`(mistake: Mistake) { mistake.check() }

    static let all = [
        Mistake(
            "a tab indents",
            #"""
            system: disk
            states:
            \#tNormal: {}
            initialState: Normal
            """#,
            #"""
            a.yaml:3:1: error: a tab cannot indent in YAML [tab]
               Normal: {}
              ^
              hint: indent with spaces
            """#),
        Mistake(
            "a quote is never closed",
            #"""
            system: disk
            description: "no end
            states: {}
            """#,
            #"""
            a.yaml:2:14: error: this quote is never closed [syntax]
              description: "no end
                           ^
            """#),
        Mistake(
            "a colon and space within text",
            #"""
            system: disk
            description: note: this
            states: { Normal: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:2:18: error: a ':' that makes a key is not possible here [syntax]
              description: note: this
                               ^
              hint: text that holds ': ' needs quotes; a nested mapping begins on a new line
            """#),
        Mistake(
            "a line without a colon",
            #"""
            system: disk
            states
            initialState: Normal
            """#,
            #"""
            a.yaml:2:1: error: this line is neither 'key: value' nor part of a text [syntax]
              states
              ^
              hint: is a ':' missing?
            """#),
        Mistake(
            "a key in the wrong column",
            #"""
            system: disk
            states:
              Normal: {}
             Full: {}
            initialState: Normal
            """#,
            #"""
            a.yaml:4:2: error: a key was expected here (in the mapping that begins at line 1) [syntax]
               Full: {}
               ^
              hint: keys of one mapping stand in the same column; after a closing quote nothing may follow
            """#),
        Mistake(
            "a list is not closed",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ready: [Normal, Full
            """#,
            #"""
            a.yaml:5:8: error: this '[' is never closed [syntax]
              ready: [Normal, Full
                     ^
            """#),
        Mistake(
            "a mapping is not closed",
            #"""
            system: disk
            states: { Normal: {}
            initialState: Normal
            """#,
            #"""
            a.yaml:3:1: error: ',' or '}' was expected here (in the '{' that begins at line 2) [syntax]
              initialState: Normal
              ^
              hint: close the mapping with '}'; text with ',', '{' or '}' in it needs quotes here
            """#),
        Mistake(
            "a quote that runs into the next document",
            #"""
            system: "disk
            ---
            system: other
            states: { A: {} }
            initialState: B
            """#,
            #"""
            a.yaml:1:9: error: this quote is never closed [syntax]
              system: "disk
                      ^
            a.yaml:5:15: error: 'other' has no state 'B' [unknown-state]
              initialState: B
                            ^
              hint: possible here: A
            """#),
        Mistake(
            "a bracket closed by the other",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            ready: [Normal, Full}
            """#,
            #"""
            a.yaml:5:21: error: ',' or ']' was expected here [syntax]
              ready: [Normal, Full}
                                  ^
              hint: close the list with ']'
            """#),
        Mistake(
            "text after a closing quote",
            #"""
            system: "disk" guard
            """#,
            #"""
            a.yaml:1:16: error: a key was expected here [syntax]
              system: "disk" guard
                             ^
              hint: keys of one mapping stand in the same column; after a closing quote nothing may follow
            """#),
        Mistake(
            "a value begins with an at sign",
            #"""
            system: disk
            description: @home
            """#,
            #"""
            a.yaml:2:14: error: a value cannot begin with '@' [syntax]
              description: @home
                           ^
              hint: text that begins with '@' needs quotes
            """#),
        Mistake(
            "an unknown escape",
            #"""
            system: disk
            description: "C:\Windows"
            """#,
            #"""
            a.yaml:2:17: error: this escape is not known in double quotes [syntax]
              description: "C:\Windows"
                              ^
              hint: write \\ for a backslash
            """#),
        Mistake(
            "a list entry in the wrong column",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            feedbacks:
              a:
                onState: any
                run:
                  - df
                 - /
            """#,
            #"""
            a.yaml:10:6: error: an entry '- …' of a list cannot stand here (in the mapping that begins at line 7) [syntax]
                   - /
                   ^
              hint: entries of one list stand in the same column; if this is no list, leave the '- ' out
            """#),
        Mistake(
            "a key stands twice",
            #"""
            system: disk
            states: { Normal: {} }
            initialState: Normal
            states: { Full: {} }
            """#,
            #"""
            a.yaml:4:1: error: the key 'states' is already in this mapping, at line 2 [duplicate-key]
              states: { Full: {} }
              ^~~~~~
            """#),
        Mistake(
            "a merge key",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            mailbox:
              <<: { limit: 3 }
            """#,
            #"""
            a.yaml:6:3: error: YAML 1.2 has no merge key '<<' [merge-key]
                <<: { limit: 3 }
                ^~
              hint: write the entries out, or use an alias for a whole value
            """#),
        Mistake(
            "a tag",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            description: !!str text
            """#,
            #"""
            a.yaml:5:14: error: tags such as '!!str' are not used here [tag]
              description: !!str text
                           ^
              hint: text that begins with '!' needs quotes
            """#),
        Mistake(
            "a condition that looks like a tag",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            transitions: { Normal: { Measured: { when: !event.ok, to: stay } } }
            """#,
            #"""
            a.yaml:5:44: error: a '!' at the beginning of the value of 'when' makes it a tag, so it needs quotes [syntax]
              transitions: { Normal: { Measured: { when: !event.ok, to: stay } } }
                                                         ^~~~~~~~~
              hint: write transitions: { Normal: { Measured: { when: "!event.ok", to: stay } } }
            """#),
        Mistake(
            "an alias without anchor",
            #"""
            system: disk
            states: { Normal: {}, Full: { used: int } }
            events: { Measured: { used: int }, Cleaned: {} }
            initialState: Normal
            mailbox: *box
            """#,
            #"""
            a.yaml:5:10: error: there is no anchor '&box' before this alias [alias]
              mailbox: *box
                       ^~~~
              hint: text that begins with '*' needs quotes
            """#),
        Mistake(
            "an alias within its anchor",
            #"""
            system: disk
            states: &all { Normal: *all }
            initialState: Normal
            """#,
            #"""
            a.yaml:2:24: error: '*all' is used inside its own anchor [alias]
              states: &all { Normal: *all }
                                     ^~~~
            """#),
        Mistake(
            "a key that is a list",
            #"""
            system: disk
            ? [a, b]
            : c
            states: { Normal: {} }
            initialState: Normal
            """#,
            #"""
            a.yaml:2:3: error: a key is a name, not a list [wrong-shape]
              ? [a, b]
                ^
              hint: text that begins with '{' or '[' needs quotes
            """#),
    ]
}
