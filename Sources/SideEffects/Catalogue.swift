public import MediatorHost

extension EffectCatalogue {
    /// What every daemon can do: `run`, `log`, what senses the host, what asks the network, and the host's own `emit`.
    /// Each is a catalogue of its own, which is to be ended with ``shutDown()``.
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
