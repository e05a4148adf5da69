import ServiceLifecycle

/// Ends the daemon, in order, at the first signal that asks for it.
///
/// The signals are trapped before the control socket exists. One that comes while the services begin would otherwise end the
/// process.
struct StopSignalService: Service, CustomStringConvertible {
    let signals: AsyncStream<Int32>

    /// The name in the group of services, which would otherwise print every property.
    var description: String { "stop signals" }

    func run() async {
        await cancelWhenGracefulShutdown {
            for await _ in signals { return }
        }
    }
}
