import CommonExpression

/// The purpose of data, described in words only if a message needs it.
struct Subject: CustomStringConvertible {
    private let role: String
    private let name: String
    private var isElement = false

    /// A thing of a role and a name: the field 'used'.
    init(_ role: String, _ name: String) {
        self.role = role
        self.name = name
    }

    /// An element of it.
    var element: Subject {
        var copy = self
        copy.isElement = true
        return copy
    }

    var description: String {
        let text = name.isEmpty ? role : "\(role) '\(name)'"
        return isElement ? "an element of \(text)" : text
    }
}
