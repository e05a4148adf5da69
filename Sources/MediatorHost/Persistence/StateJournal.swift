package import MediatorConfiguration

/// A journal of the states of persisted systems and the values of persisted buses.
package protocol StateJournal: Sendable {
    /// Queues a change. Changes of one part keep the order of the calls.
    ///
    /// The journal ignores a change of an incarnation that is lower than the last one of the part. It counts as refused.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - done: A function that is called once, on any thread, perhaps before the return of this method. Its parameter is
    ///     `true` if the change is on the disk or was refused. The host then goes on in memory. It is `false` if the part
    ///     must not go on. The function is never called if the store fails for good.
    func write(_ change: HostChange, done: @escaping @Sendable (_ goesOn: Bool) -> Void)
}

/// A new state of a part, which must be stored before it takes effect.
package struct HostChange: Sendable {
    /// The kind of a part.
    package enum Part: Sendable, Hashable { case system, bus }

    /// The state of a system or the value of a bus, with its details.
    package enum Content: Sendable, Hashable {
        case system(HostState.System, SavedDetails)
        case bus(HostState.Bus, SavedDetails)
    }

    /// The phase of a part that runs. The next life goes on in its state.
    package static let running: UInt8 = 0
    /// The phase of a system whose incarnation has ended because of a fault, because of a restart, or because it ends the
    /// daemon. The next life begins in the initial state. A later incarnation is in the phase ``running`` again.
    package static let ended: UInt8 = 1

    /// The kind of the part.
    package var part: Part
    /// The name of the part, which is unique in its kind.
    package var name: String
    /// The number of the incarnation, from 1. It counts the incarnations of the whole host, so a later one wins.
    package var incarnation: UInt32
    /// The phase: ``running`` or ``ended``.
    package var phase: UInt8
    /// Returns the content, or `nil` to remove the part. The journal calls it at each attempt, on any thread.
    package var content: @Sendable () -> Content?

    /// Creates a change.
    package init(
        part: Part, name: String, incarnation: UInt32, phase: UInt8, content: @escaping @Sendable () -> Content?
    ) {
        self.part = part
        self.name = name
        self.incarnation = incarnation
        self.phase = phase
        self.content = content
    }
}

/// The details of the parts of an earlier host, beside their ``HostState``.
package struct SavedParts: Sendable, Hashable {
    /// The details of one part.
    package struct Part: Sendable, Hashable {
        package var details: SavedDetails
        /// A Boolean value that indicates whether the journal has exactly this state and these details. The host then does
        /// not write them again.
        package var isStored: Bool
        /// The earlier name under which the journal has the state of a system; `nil` if its name is the same.
        package let was: String?

        /// Creates the details of a part.
        package init(_ details: SavedDetails, isStored: Bool, was: String? = nil) {
            self.details = details
            self.isStored = isStored
            self.was = was
        }

        /// A Boolean value that indicates whether the state comes from the journal.
        var isFromJournal: Bool { isStored || was != nil }
    }

    /// The systems, by name.
    package var systems: [String: Part]
    /// The buses, by name.
    package var buses: [String: Part]
    /// The reasons, as clauses, why stored states cannot be used, by the names of their systems.
    package var unusable: [String: String]

    /// Creates the details of some parts.
    package init(systems: [String: Part] = [:], buses: [String: Part] = [:], unusable: [String: String] = [:]) {
        self.systems = systems
        self.buses = buses
        self.unusable = unusable
    }
}
