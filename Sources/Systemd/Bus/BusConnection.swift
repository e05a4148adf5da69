import CSystemd
import Glibc

/// A connection to a message bus with libsystemd's sd-bus(3). For one thread.
///
/// Answers and signals are fetched one by one, without callbacks.
final class BusConnection {
    /// The bus to connect to.
    enum Address: Sendable, Hashable {
        case system
        case user
        /// A bus by an address of the D-Bus specification.
        case at(String)
    }

    /// An argument of a method.
    enum Argument {
        case text(String)
        case texts([String])
    }

    private let bus: OpaquePointer

    /// Begins to connect. Calls wait until the connection is open.
    init(_ address: Address) throws(ServiceManagerError) {
        var bus: OpaquePointer?
        let result: Int32
        let name: String
        switch address {
        case .system:
            name = "the system's message bus"
            result = sd_bus_open_system_with_description(&bus, "mediatord")
        case .user:
            name = "the user's message bus"
            result = sd_bus_open_user_with_description(&bus, "mediatord")
        case .at(let text):
            name = "the message bus at \(text)"
            result = Self.open(text, &bus)
        }
        guard result >= 0, let bus else {
            throw ServiceManagerError(.unreachable, "cannot connect to \(name)", result: result)
        }
        self.bus = bus
    }

    deinit {
        sd_bus_close_unref(bus)
    }

    private static func open(_ address: String, _ result: inout OpaquePointer?) -> Int32 {
        var bus: OpaquePointer?
        var code = sd_bus_new(&bus)
        if code >= 0 { code = sd_bus_set_address(bus, address) }
        if code >= 0 { code = sd_bus_set_bus_client(bus, 1) }
        if code >= 0 { code = sd_bus_start(bus) }
        if code < 0 { sd_bus_unref(bus) } else { result = bus }
        return code
    }

    /// The descriptor and its events for poll(2).
    var descriptor: pollfd {
        pollfd(fd: sd_bus_get_fd(bus), events: Int16(max(0, sd_bus_get_events(bus))), revents: 0)
    }

    /// The latest time to call ``process()`` again, in microseconds of the monotonic clock; `nil` to wait for input.
    var deadline: UInt64? {
        var time: UInt64 = .max
        return sd_bus_get_timeout(bus, &time) >= 0 && time != .max ? time : nil
    }

    /// Performs pending work and returns a message that it produced. The outer value is `nil` if no work is pending.
    func process() throws(ServiceManagerError) -> BusMessage?? {
        var message: OpaquePointer?
        let result = sd_bus_process(bus, &message)
        guard result >= 0 else {
            throw ServiceManagerError(.lost, "the connection to the message bus was lost", result: result)
        }
        let taken = message.map { BusMessage($0) }
        if let taken, taken.isSignal("org.freedesktop.DBus.Local", "Disconnected") {
            throw ServiceManagerError(.lost, "the connection to the message bus was lost")
        }
        return result == 0 ? nil : .some(taken)
    }

    /// Calls a method and returns the number that its answer will have.
    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [Argument]
    ) throws(ServiceManagerError) -> UInt64 {
        var message: OpaquePointer?
        var result = sd_bus_message_new_method_call(bus, &message, destination, path, interface, member)
        defer { if let message { sd_bus_message_unref(message) } }
        for argument in arguments where result >= 0 {
            switch argument {
            case .text(let text): result = sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), text)
            case .texts(let texts):
                result = sd_bus_message_open_container(message, CChar(UInt8(ascii: "a")), "s")
                for text in texts where result >= 0 {
                    result = sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), text)
                }
                if result >= 0 { result = sd_bus_message_close_container(message) }
            }
        }
        // The call must not start the service.
        if result >= 0 { result = sd_bus_message_set_auto_start(message, 0) }
        var cookie: UInt64 = 0
        if result >= 0 { result = sd_bus_send(bus, message, &cookie) }
        guard result >= 0 else {
            throw ServiceManagerError(.lost, "cannot call \(member) over the message bus", result: result)
        }
        return cookie
    }
}
