/// The state of a unit (systemctl(1)).
public struct UnitState: Sendable, Hashable {
    /// The name. For an alias it is the name that the alias stands for.
    public var name: String
    /// `active`, `reloading`, `inactive`, `failed`, `activating`, `deactivating` or `maintenance`.
    public var active: String
    /// The state in the terms of the unit's type: `running`, `dead`, `exited`, `listening`, …
    public var sub: String
    /// `loaded`, `not-found`, `masked`, `error`, `bad-setting`, …
    public var load: String
    /// The last result: `success`, `exit-code`, `signal`, `timeout`, …; empty if the unit's type has none.
    public var result: String

    /// Creates a state.
    public init(name: String, active: String, sub: String, load: String, result: String) {
        self.name = name
        self.active = active
        self.sub = sub
        self.load = load
        self.result = result
    }
}

/// An action on a unit.
public enum UnitAction: String, Sendable, Hashable, CaseIterable {
    /// Starts the unit and its requirements.
    case start
    /// Stops the unit and the units that require it.
    case stop
    /// Stops the unit if it is active, then starts it.
    case restart
    /// Makes the unit read its configuration again.
    case reload
    /// Restarts the unit if it is active.
    case tryRestart

    /// The method of the service manager.
    var method: String {
        switch self {
        case .start: "StartUnit"
        case .stop: "StopUnit"
        case .restart: "RestartUnit"
        case .reload: "ReloadUnit"
        case .tryRestart: "TryRestartUnit"
        }
    }
}

/// The outcome of a job of the service manager.
public struct JobResult: Sendable, Hashable {
    /// `done`, or `failed`, `timeout`, `canceled`, `dependency`, `skipped`, …
    public var result: String
    /// The unit's state after the job, as in ``UnitState/active``; empty if it is not known.
    public var active: String

    /// Creates a result.
    public init(result: String, active: String) {
        self.result = result
        self.active = active
    }
}
