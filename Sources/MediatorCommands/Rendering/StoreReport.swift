import MediatorControl

/// The answer of `store`.
struct StoreReport: Report {
    let store: StoreDescription

    func encode(to encoder: any Encoder) throws { try DescribeStoreReply(store: store).encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        var text = Sheet(style).text(
            title: store.directory.map { "store \($0)" } ?? "store", description: nil,
            [
                ("mode", mode(style)),
                ("size", store.mode == .open ? Self.size(store.bytes) : nil),
                ("runs", store.life.map(runs)),
                ("commits", commits(style)),
                ("they took", store.p50.map { "half up to \(Self.time($0)), 99 of 100\(Self.most(store.p99))" }),
                ("waiting", waiting(style)),
                (
                    "refused",
                    store.refused == 0
                        ? nil
                        : style.colored(
                            "\(Count.text(store.refused, "state", "states")), for the reasons below", .red)
                ),
            ])
        for line in store.damage { text += style.colored("  damage: \(PlainText.cleaned(line))", .red) + "\n" }
        guard !store.parts.isEmpty else { return text }
        let rows = store.parts.map { part -> [Table.Cell] in
            let place = part.persistence
            return [
                .init(part.name), .init(part.part.rawValue),
                place.stored ? .init("yes", .green) : .init("no", .red),
                .init(place.since.map(style.moment) ?? (place.stored ? "before the start" : "")),
                .init(place.restored.map(style.moment) ?? ""),
                .init(remark(on: part)),
            ]
        }
        let columns: [Table.Column] = [
            .name("PART"), .text("KIND"), .text("STORED"), .time("SINCE"), .time("RESTORED FROM"), .flexible("REMARK"),
        ]
        let more = store.leftOut.map { "\(Count.text($0, "further part", "further parts")) not listed\n" } ?? ""
        return text + "\n" + Table(columns, rows: rows).text(style) + more
    }

    private func remark(on part: StoredPart) -> String {
        guard part.configured else { return "not in the configuration; forget it with `mediatorctl store forget`" }
        return part.persistence.reason ?? ""
    }

    private func mode(_ style: TextStyle) -> String {
        switch store.mode {
        case .unneeded: "not in use: nothing in the configuration persists"
        case .inMemory:
            style.colored("in memory: \(PlainText.cleaned(store.reason ?? "the store cannot be used"))", .red)
        case .open: style.colored("open", .green)
        case .failed: style.colored("failed; mediatord ends", .red)
        case .closed: "closed; mediatord ends"
        }
    }

    private func runs(_ life: Int) -> String {
        let how = store.closedInOrder == true ? "in order" : "without closing the store"
        let end = life < 2 ? "" : ", the one before ended \(how)"
        let failed = store.failedStarts ?? 0
        let starts = failed == 0 ? "" : "; \(Count.text(failed, "start", "starts")) before this one never became ready"
        return "\(Count.text(life, "run", "runs")) of mediatord\(end)\(starts)"
    }

    private func commits(_ style: TextStyle) -> String? {
        guard store.mode == .open else { return nil }
        let last = store.lastCommit.map { ", the last \(style.moment($0))" } ?? ""
        let errors = store.errors == 0 ? "" : style.colored("; \(Count.text(store.errors, "error", "errors"))", .red)
        return "\(store.commits) since the start\(last)\(errors)"
    }

    private func waiting(_ style: TextStyle) -> String? {
        guard store.pending > 0 else { return nil }
        let since = store.pendingSince.map { " since \(style.moment($0))" } ?? ""
        return style.colored(Count.text(store.pending, "change", "changes") + since, .yellow)
    }

    private static func most(_ time: Double?) -> String { time.map { " up to \(Self.time($0))" } ?? " longer" }

    /// A time in seconds in its unit.
    private static func time(_ seconds: Double) -> String {
        let milliseconds = (seconds * 10_000).rounded() / 10
        return milliseconds < 1000 ? "\(milliseconds) ms" : "\((seconds * 10).rounded() / 10) s"
    }

    private static func size(_ bytes: Int) -> String {
        bytes < 1 << 20 ? "\(bytes >> 10) KiB" : "\((Double(bytes) / 1_048_576 * 10).rounded() / 10) MiB"
    }
}

/// The place of a state in the store, in a line.
enum PersistenceText {
    static func text(_ place: PersistenceStatus, _ style: TextStyle) -> String {
        let restored = place.restored.map { "; restored from \(style.moment($0))" } ?? ""
        guard place.stored else {
            return style.colored("no: \(PlainText.cleaned(place.reason ?? "it is not stored"))", .red) + restored
        }
        return "since \(place.since.map(style.moment) ?? "before the start")" + restored
    }
}

/// The answer of `store check`.
struct StoreCheckReport: Report {
    let reply: CheckStoreReply

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        let states = Count.text(reply.states, "state", "states")
        guard !reply.damage.isEmpty else { return "the store is undamaged, with \(states)\n" }
        let lines = reply.damage.map { style.colored(PlainText.cleaned($0), .red) + "\n" }
        return style.colored("the store is damaged", .red) + "; \(states) undamaged\n" + lines.joined()
            + "check its disk; the next start copies the damaged files and goes on from the undamaged states\n"
    }
}

/// The answer of `store forget`.
struct ForgottenReport: Report {
    let part: PartKind
    let name: String

    func text(_ style: TextStyle) -> String { "forgot the state of \(part.rawValue) \(PlainText.cleaned(name))\n" }
}
