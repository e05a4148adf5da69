import MediatorConfiguration
import Testing

/// Names that are keys of the format, at places where a slip of the hand might have put that key.
@Suite struct `Names that are keys elsewhere` {
    static let sound: [String] = [
        // Events named as states, under a state and under any.
        """
        system: lamp
        states: { On: {}, Off: {} }
        events: { On: {}, Off: {} }
        fromOutside: any
        initialState: Off
        transitions: { any: { On: { to: On }, Off: { to: Off } }, On: { Off: { to: Off } } }
        """,
        // States and events named as keys of systems and of rules.
        """
        system: system
        states: { events: {}, transitions: { n: int }, states: {}, fromOutside: {} }
        events: { to: {}, when: {}, set: { to: int }, on: {}, system: {} }
        fromOutside: any
        initialState: events
        transitions:
          events: { to: states, when: { to: transitions, set: { n: 1 } }, set: { to: fromOutside } }
          transitions: { set: { to: transitions, set: { n: "${event.to}" } }, to: { to: events } }
          states: { on: [{ when: now < now, to: events }, { to: stay }] }
          fromOutside: { system: events }
        feedbacks:
          events: { onState: events, run: { command: [a] } }
          run: { onState: states, log: { message: a } }
          log: { onState: fromOutside, log: b }
          emit: { onState: transitions, emit: to }
        """,
        // A system without events, with states whose fields are nothing.
        """
        system: place
        states:
          internal:
          fromOutside:
        initialState: internal
        feedbacks:
          transitions: { onState: internal, log: { message: a } }
        """,
        // Transitions, and no feedbacks, of a state of that name.
        """
        system: place
        states: { feedbacks: {}, Idle: {} }
        events: { Go: {} }
        fromOutside: any
        initialState: Idle
        transitions: { feedbacks: { Go: { to: Idle } }, Idle: { Go: feedbacks } }
        """,
        // Buses, links and groups with the names of their keys and each other's.
        """
        buses:
          links: { kind: passthrough, value: { to: string }, fromOutside: both }
          to: { kind: currentValue, value: int, initial: 1, fromOutside: read }
          groups: { kind: passthrough, value: string, fromOutside: both }
        ---
        system: a
        states: { A: {} }
        events: { E: {} }
        initialState: A
        transitions: { A: { E: stay } }
        ---
        links:
          buses: { attach: a, to: links, emitEvent: E }
          attach: { attach: a, to: to, onState: A, emitValue: 2 }
          to: { attach: a, to: groups, onValue: x, emitEvent: E }
        groups:
          buses: { systems: [a], strategy: all }
        """,
    ]

    @Test(arguments: sound)
    func `are names where they are written as such`(text: String) {
        let result = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: text)])
        #expect(result.diagnostics.filter { $0.severity == .error }.isEmpty, "\(result.diagnostics)")
        #expect(result.graph != nil)
    }
}
