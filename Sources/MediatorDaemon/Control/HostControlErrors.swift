import MediatorControl
import MediatorHost

extension HostControl {
    /// The host's errors in the words of the interface.
    func translate<R>(_ body: () throws(HostError) -> R) throws(ControlError) -> R {
        do {
            return try body()
        } catch {
            throw Self.translated(error)
        }
    }

    static func translated(_ error: HostError) -> ControlError {
        switch error {
        case .noSuchSystem(let name, let nearest): .noSuchSystem(name: name, nearest: nearest)
        case .noSuchBus(let name, let nearest): .noSuchBus(name: name, nearest: nearest)
        case .noSuchLink(let name, let nearest): .noSuchLink(name: name, nearest: nearest)
        case .noSuchEvent(let system, let event, let nearest):
            .noSuchEvent(system: system, event: event, nearest: nearest)
        case .wrongType(let path, let expected, _), .notAllowed(let path, let expected, _, _):
            .invalidValue(path: path, expected: expected, message: error.description)
        case .busStopped(let bus): .notAccepted(name: bus, obstacle: .stopping, reason: HostError.stopping)
        case .notAccepted(let system, let obstacle, let reason):
            .notAccepted(name: system, obstacle: Obstacle(obstacle), reason: reason)
        }
    }

    func decode<R>(_ body: () throws(ValueCoding.Mismatch) -> R) throws(ControlError) -> R {
        do {
            return try body()
        } catch {
            throw .invalidValue(path: error.path, expected: error.expected, message: error.message)
        }
    }
}

extension Obstacle {
    fileprivate init(_ obstacle: HostError.Obstacle) {
        switch obstacle {
        case .full: self = .full
        case .notStarted: self = .notStarted
        case .restarting: self = .restarting
        case .ended: self = .ended
        case .stopping: self = .stopping
        case .tooLarge: self = .tooLarge
        }
    }
}
