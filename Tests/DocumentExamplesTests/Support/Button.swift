/// A stand-in for SwiftUI's `Button`.
struct Button: Sendable {
    let label: String
    let action: @Sendable () -> Void
}
