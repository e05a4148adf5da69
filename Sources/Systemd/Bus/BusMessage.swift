import CSystemd

/// A message from a bus, which is read from its beginning to its end. For one thread.
final class BusMessage {
    private let message: OpaquePointer

    /// Takes over a message.
    init(_ message: OpaquePointer) {
        self.message = message
    }

    deinit {
        sd_bus_message_unref(message)
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }

    /// The number of the call that it answers; `nil`: it is no answer.
    var answeredCall: UInt64? {
        var cookie: UInt64 = 0
        return sd_bus_message_get_reply_cookie(message, &cookie) >= 0 ? cookie : nil
    }

    /// What went wrong; `nil`: nothing.
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

    // Reading; what is not there as it should be is `nil`, and the rest with it.

    /// The next text (`s`), path (`o`) or signature.
    func text(_ type: Character = "s") -> String? {
        guard let ascii = type.asciiValue else { return nil }
        var pointer: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(message, CChar(ascii), &pointer) > 0 else { return nil }
        return pointer.map { String(cString: $0) }
    }

    /// The next number (`u`).
    func number() -> UInt32? {
        var number: UInt32 = 0
        return sd_bus_message_read_basic(message, CChar(UInt8(ascii: "u")), &number) > 0 ? number : nil
    }

    /// The next truth value (`b`).
    func flag() -> Bool? {
        var flag: Int32 = 0
        return sd_bus_message_read_basic(message, CChar(UInt8(ascii: "b")), &flag) > 0 ? flag != 0 : nil
    }

    /// Enters an array (`a`), variant (`v`), structure (`r`) or entry (`e`) with this content. `false`: there is none.
    func enter(_ type: Character, _ content: String) -> Bool {
        type.asciiValue.map { sd_bus_message_enter_container(message, CChar($0), content) > 0 } ?? false
    }

    /// Leaves what was entered.
    func exit() { sd_bus_message_exit_container(message) }

    /// Passes over what comes next.
    func skip(_ types: String) { sd_bus_message_skip(message, types) }

    /// The texts among the entries of a map from names to variants (`a{sv}`) that are asked for.
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

    /// The units of a list (`a(ssssssouso)`): of each its state without a result, and the path of its object.
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
