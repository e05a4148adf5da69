public import MediatorHost

extension EffectCatalogue {
    /// The side effects of every daemon: `run`, `log`, those that observe the host or use the network, and the host's
    /// own `emit`. Each access creates a new catalogue, which must be ended with ``shutDown()``.
    public static var builtin: EffectCatalogue {
        let client = HTTPClient()
        return EffectCatalogue([
            RunEffect(), LogEffect(), SocketEffect(), PathEffect(), FileSystemEffect(), InterfaceEffect(),
            PressureEffect(), ProcessEffect(), UnitEffect(), UnitsEffect(), SystemctlEffect(), JournalEffect(),
            TCPEffect(), PingEffect(),
            HTTPEffect(client: client), DNSEffect(),
            NotifyEffect(client: client),
        ])
    }
}
