public import CommonExpression
import Synchronization

/// The log line of a request. It is written once: when a system takes the event, or when the host has accepted the request,
/// whichever comes first.
package final class Announcement: Sendable {
    private let body: Mutex<(@Sendable () -> Void)?>

    /// - Parameter body: A function that writes the line.
    package init(_ body: @escaping @Sendable () -> Void) { self.body = Mutex(.some(body)) }

    /// Writes the line, unless another caller has done so or does so now.
    package func make() {
        let body = body.withLock { body in
            defer { body = nil }
            return body
        }
        body?()
    }
}

// Requests without a log line.
extension Host {
    /// Sends an event to a system.
    ///
    /// - Parameters:
    ///   - event: The name of the event.
    ///   - name: The name of the system.
    ///   - fields: The fields of the event, in the order of its definition.
    ///   - client: The client that asks for the event, or `nil` for the program itself.
    public func emit(
        _ event: String, to name: String, fields: [Value], by client: HostClient? = nil
    ) throws(HostError) {
        try emit(event, to: name, fields: fields, by: client, announcing: nil)
    }

    /// Puts a value on a bus.
    ///
    /// When this method returns, the bus has accepted the value. Each link that reads the bus gets the value, unless the bus
    /// counts it as dropped. During a reload, the value goes over the links of the configuration in which this method found
    /// the bus, or over those of the next configuration.
    ///
    /// - Parameters:
    ///   - value: The value, of the type of the bus.
    ///   - name: The name of the bus.
    ///   - client: The client that asks for it, or `nil` for the program itself.
    public func publish(_ value: Value, on name: String, by client: HostClient? = nil) throws(HostError) {
        try publish(value, on: name, by: client, announcing: nil)
    }
}
