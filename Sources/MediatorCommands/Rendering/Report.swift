import StrictJSON
import Varlink

/// An answer that can be shown to people and given to programs.
protocol Report: Encodable {
    /// The answer for people, each line ended by a newline.
    func text(_ style: TextStyle) -> String
}

/// Writes reports in one of the two forms.
struct Renderer: Sendable {
    enum Form: Sendable {
        case text(TextStyle)
        /// One JSON object on one line, members in alphabetical order.
        case json
    }

    let form: Form

    func render(_ report: some Report) throws -> String {
        switch form {
        case .text(let style): report.text(style)
        case .json: try JSONValue(encoding: report).description + "\n"
        }
    }
}
