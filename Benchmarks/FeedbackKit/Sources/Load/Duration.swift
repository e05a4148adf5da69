extension Duration {
    /// The text in microseconds.
    var text: String { "\(Int64(self / .microseconds(1))) µs" }
}
