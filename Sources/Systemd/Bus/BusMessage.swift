import CSystemd

/// A message from a bus, which is read from beginning to end. For one thread.
final class BusMessage {
    private let message: OpaquePointer

    /// Creates a message and takes ownership of libsystemd's object.
    init(_ message: OpaquePointer) {
        self.message = message
    }

    deinit {
        sd_bus_message_unref(message)
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }

    /// The number of the answered call; `nil` if the message is not an answer.
    var answeredCall: UInt64? {
        var cookie: UInt64 = 0
        return sd_bus_message_get_reply_cookie(message, &cookie) >= 0 ? cookie : nil
    }

    /// The error; `nil` if the message is not an error.
    var error: (name: String, text: String)? {
        guard let error = sd_bus_message_get_error(message) else { return nil }
        return (Self.text(error.pointee.name), Self.text(error.pointee.message))
    }

    var sender: String { Self.text(sd_bus_message_get_sender(message)) }
    var path: String { Self.text(sd_bus_message_get_path(message)) }
    var interface: String { Self.text(sd_bus_message_get_interface(message)) }
    var member: String { Self.text(sd_bus_message_get_member(message)) }

    func isSignal(_ interface: String, _ member: String) -> Bool {
        sd_bus_message_is_signal(message, interface, member) > 0
    }

    // Reading. If a part is missing or malformed, it and everything after it is `nil`.

    /// Reads a text (`s`), path (`o`) or signature.
    func text(_ type: Character = "s") -> String? {
        guard let ascii = type.asciiValue else { return nil }
        var pointer: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(message, CChar(ascii), &pointer) > 0 else { return nil }
        return pointer.map { String(cString: $0) }
    }

    /// Reads a number (`u`).
    func number() -> UInt32? {
        var number: UInt32 = 0
        return sd_bus_message_read_basic(message, CChar(UInt8(ascii: "u")), &number) > 0 ? number : nil
    }

    /// Reads a Boolean (`b`).
    func flag() -> Bool? {
        var flag: Int32 = 0
        return sd_bus_message_read_basic(message, CChar(UInt8(ascii: "b")), &flag) > 0 ? flag != 0 : nil
    }

    /// Enters an array (`a`), variant (`v`), structure (`r`) or entry (`e`) with this content. Returns `false` if the
    /// next part is something else.
    func enter(_ type: Character, _ content: String) -> Bool {
        type.asciiValue.map { sd_bus_message_enter_container(message, CChar($0), content) > 0 } ?? false
    }

    /// Leaves the entered container.
    func exit() { sd_bus_message_exit_container(message) }

    /// Skips the next parts.
    func skip(_ types: String) { sd_bus_message_skip(message, types) }

    /// Returns the texts with the given names in a map from names to variants (`a{sv}`).
    func texts(_ names: Set<String>) -> [String: String] {
        var texts: [String: String] = [:]
        guard enter("a", "{sv}") else { return texts }
        while enter("e", "sv") {
            if let name = text(), names.contains(name), enter("v", "s") {
                texts[name] = text()
                exit()
            } else {
                skip("v")
            }
            exit()
        }
        exit()
        return texts
    }

    /// Returns the units of a list (`a(ssssssouso)`): the state of each without a result, and the path of its object.
    func units(limit: Int) -> [(state: UnitState, path: String)] {
        var units: [(state: UnitState, path: String)] = []
        guard enter("a", "(ssssssouso)") else { return units }
        while units.count < limit, enter("r", "ssssssouso") {
            if let name = text(), text() != nil, let load = text(), let active = text(), let sub = text(),
                text() != nil, let path = text("o")
            {
                units.append((UnitState(name: name, active: active, sub: sub, load: load, result: ""), path))
            }
            skip("uso")
            exit()
        }
        return units
    }
}
