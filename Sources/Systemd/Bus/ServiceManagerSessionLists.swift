import Glibc

/// Units that match a pattern.
extension ServiceManagerSession {
    /// The match rule for changes of all units.
    static let ruleOfAll =
        "sender='\(name)',path_namespace='\(manager)/unit',interface='\(properties)',member='PropertiesChanged'"

    func list(
        _ id: Int, _ pattern: String, _ continuation: AsyncThrowingStream<[UnitState], any Error>.Continuation
    ) {
        listings[id] = Listing(pattern: pattern, continuation: continuation)
        if listings.count == 1 {
            addMatch(Self.ruleOfAll) { [unowned self] error in
                for id in listings.keys { failListing(id, error) }
            }
        }
        queryList(id)
    }

    func failListing(_ id: Int, _ error: ServiceManagerError) {
        guard let listing = listings.removeValue(forKey: id) else { return }
        if listings.isEmpty { removeRule(Self.ruleOfAll) }
        listing.continuation.finish(throwing: error)
    }

    /// Queries the lists that contain a changed unit. Each list has one pending query at a time.
    func queryLists(of unit: String?) {
        guard let unit else { return }
        for (id, listing) in listings where fnmatch(listing.pattern, unit, FNM_NOESCAPE) == 0 { queryList(id) }
    }

    /// Queries a list. The query loads no unit and therefore causes no change itself.
    func queryList(_ id: Int) {
        guard let listing = listings[id] else { return }
        guard !listing.isQuerying, listing.nextQuery <= Self.now() else {
            listings[id]?.isStale = true
            return
        }
        listings[id]?.isQuerying = true
        listings[id]?.isStale = false
        callManager("ListUnitsByPatterns", [.texts([]), .texts([listing.pattern])]) { [unowned self] message, error in
            guard let listing = listings[id] else { return }
            guard let message else {
                return failListing(
                    id, error ?? ServiceManagerError(.refused, "the service manager did not answer"))
            }
            listings[id]?.isQuerying = false
            listings[id]?.nextQuery = Self.now() + Self.listingPause
            let all = message.units(limit: Self.listingLimit).map(\.state).sorted { $0.name < $1.name }
            let units = Array(all.prefix(ServiceManager.listLimit + 1))
            if units != listing.lastSent {
                listings[id]?.lastSent = units
                listing.continuation.yield(units)
            }
        }
    }
}
