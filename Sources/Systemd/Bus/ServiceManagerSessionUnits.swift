/// The state of single units.
extension ServiceManagerSession {
    func watch(
        _ id: Int, _ unit: String, _ continuation: AsyncThrowingStream<UnitState, any Error>.Continuation
    ) {
        let path = UnitName.objectPath(unit)
        watches[id] = Watch(unit: unit, continuation: continuation, path: path)
        listen(id, path)
        query(id)
    }

    static func rule(_ path: String) -> String {
        "sender='\(name)',path='\(path)',interface='\(properties)',member='PropertiesChanged'"
    }

    func listen(_ id: Int, _ path: String) {
        watches[id]?.path = path
        addMatch(Self.rule(path)) { [unowned self] error in fail(id, error) }
    }

    func removeMatch(_ path: String) { removeRule(Self.rule(path)) }

    func removeRule(_ rule: String) {
        callDriver("RemoveMatch", "type='signal'," + rule) { _, _ in }
    }

    private func fail(_ id: Int, _ error: ServiceManagerError) {
        guard let watch = watches.removeValue(forKey: id) else { return }
        removeMatch(watch.path)
        watch.continuation.finish(throwing: error)
    }

    func queryAll() {
        for id in watches.keys { query(id) }
        for id in listings.keys { queryList(id) }
    }

    /// Queries the state of a unit. The query loads an unloaded unit for a moment.
    private func query(_ id: Int, depth: Int = 0) {
        guard let watch = watches[id] else { return }
        guard depth > 0 || !watch.isQuerying else {
            watches[id]?.isStale = true
            return
        }
        watches[id]?.isQuerying = true
        watches[id]?.isStale = false
        watches[id]?.hasChanged = false
        callManager("ListUnitsByNames", [.texts([watch.unit])]) { [unowned self] message, error in
            guard let watch = watches[id] else { return }
            guard let message else {
                return fail(id, error ?? ServiceManagerError(.refused, "the service manager did not answer"))
            }
            guard let (state, path) = message.units(limit: 1).first else {
                return fail(id, ServiceManagerError(.refused, "'\(watch.unit)' cannot be a unit's name"))
            }
            if path != watch.path, depth < Self.aliasLimit {
                // The name is an alias, and changes are reported for the object that it stands for.
                removeMatch(watch.path)
                listen(id, path)
                return query(id, depth: depth + 1)
            }
            watches[id]?.state = state
            queryResult(id, state.name, path)
        }
    }

    private func queryResult(_ id: Int, _ name: String, _ path: String) {
        guard let interface = UnitName.resultInterface(name) else { return answered(id) }
        call(Self.name, path, Self.properties, "Get", [.text(interface), .text("Result")]) {
            [unowned self] message, _ in
            // If the unit has been unloaded, a signal reports that.
            if let message, message.enter("v", "s"), let result = message.text() {
                watches[id]?.state?.result = result
            }
            answered(id)
        }
    }

    private func answered(_ id: Int) {
        watches[id]?.isQuerying = false
        send(id)
        if watches[id]?.isStale == true { query(id) }
    }

    /// Sends the state if it differs from the last one.
    private func send(_ id: Int) {
        guard let watch = watches[id], !watch.isQuerying, let state = watch.state, state != watch.lastSent else {
            return
        }
        watches[id]?.lastSent = state
        watches[id]?.hasChanged = true
        watch.continuation.yield(state)
    }

    /// Processes changed properties of an object. The signal of the type's own interface comes before that of the
    /// `Unit` interface.
    func takeChange(_ message: BusMessage) {
        let path = message.path
        queryLists(of: UnitName.name(ofObject: path))
        let ids = watches.filter { $0.value.path == path }.keys
        guard !ids.isEmpty, let interface = message.text() else { return }
        let texts = message.texts(["ActiveState", "SubState", "LoadState", "Result"])
        for id in ids {
            guard watches[id]?.state != nil else { continue }
            if interface == Self.unitInterface {
                if let active = texts["ActiveState"] { watches[id]?.state?.active = active }
                if let sub = texts["SubState"] { watches[id]?.state?.sub = sub }
                if let load = texts["LoadState"] { watches[id]?.state?.load = load }
                // No signal reports that a missing unit was found.
                if watches[id]?.state?.load == "not-found" { query(id) } else { send(id) }
            } else if let result = texts["Result"] {
                watches[id]?.state?.result = result
            }
        }
    }

    /// Processes that the service manager loaded or unloaded a unit.
    ///
    /// A query also loads the unit for a moment and so causes such signals. The session therefore queries only if
    /// something can have changed.
    func takeUnit(_ message: BusMessage, isNew: Bool) {
        guard let name = message.text(), let path = message.text("o") else { return }
        queryLists(of: name)
        for (id, watch) in watches where watch.path == path || watch.unit == name {
            if isNew {
                callManager("GetUnit", [.text(watch.unit)]) { [unowned self] message, _ in
                    // If the unit is unloaded already, nothing changed.
                    if message != nil { query(id) }
                }
            } else if watch.hasChanged {
                query(id)
            }
        }
    }
}
