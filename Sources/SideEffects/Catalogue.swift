public import MediatorHost

extension EffectCatalogue {
    /// What every daemon can do: `run`, `log`, what senses the host, what asks the network, and the host's own `emit`.
    public static let builtin = EffectCatalogue([
        RunEffect(), LogEffect(), SocketEffect(), PathEffect(), FileSystemEffect(), InterfaceEffect(),
        PressureEffect(), TCPEffect(),
    ])
}
