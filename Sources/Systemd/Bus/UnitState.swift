/// How a unit is (systemctl(1)).
public struct UnitState: Sendable, Hashable {
    /// Its name; where another was asked for, that is an alias.
    public var name: String
    /// `active`, `reloading`, `inactive`, `failed`, `activating`, `deactivating` or `maintenance`.
    public var active: String
    /// The same in the words of its type: `running`, `dead`, `exited`, `listening`, …
    public var sub: String
    /// `loaded`, `not-found`, `masked`, `error`, `bad-setting`, …
    public var load: String
    /// How it ended last: `success`, `exit-code`, `signal`, `timeout`, …; empty where its type has none.
    public var result: String

    /// A state.
    public init(name: String, active: String, sub: String, load: String, result: String) {
        self.name = name
        self.active = active
        self.sub = sub
        self.load = load
        self.result = result
    }
}

/// What can be done with a unit.
public enum UnitAction: String, Sendable, Hashable, CaseIterable {
    /// Starts it, and what it needs.
    case start
    /// Stops it, and what needs it.
    case stop
    /// Stops it if it runs, and starts it.
    case restart
    /// Has it read its configuration again.
    case reload
    /// Restarts it if it runs.
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

/// How a job of the service manager ended.
public struct JobResult: Sendable, Hashable {
    /// `done`, or `failed`, `timeout`, `canceled`, `dependency`, `skipped`, …
    public var result: String
    /// How the unit was afterwards, as in ``UnitState/active``; empty if that is not known.
    public var active: String

    /// A result.
    public init(result: String, active: String) {
        self.result = result
        self.active = active
    }
}
