package import CommonExpression

extension TimeSpan {
    /// Reads a time of a command line: a duration as in a configuration, such as `3s` or `1h30m`, or a plain number of seconds.
    package init?(option text: String) {
        guard let span = TimeSpan(text: text) ?? TimeSpan(text: text + "s") else { return nil }
        self = span
    }
}
