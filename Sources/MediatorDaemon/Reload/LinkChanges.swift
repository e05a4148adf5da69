import CommonExpression
import Logging
import MediatorConfiguration
import MediatorControl
import MediatorHost
import Varlink

/// A change of one link that a client asks for.
struct LinkChangeRequest: Sendable {
    var change: LinkChange
    /// Whether the change is also written into a file.
    var persists: Bool
    /// Whether to report the effect only.
    var isDryRun: Bool
    /// Whether the report includes parts that do not change, which are most.
    var tellsKept: Bool
    /// Who asks.
    var peer: VarlinkPeer
    /// The peer, as the log names it.
    var who: Logger.Metadata

    /// The description of the act in the log.
    fileprivate var done: String {
        switch change.action {
        case .attach, .attachAgain: "link attached"
        case .detach: "link detached"
        case .set: "link changed"
        }
    }

    fileprivate var metadata: Logger.Metadata {
        who.merging(["link": "\(change.link)", "cause": "client"]) { $1 }
    }

    /// The line of a file that says who changed it at a time.
    fileprivate func remark(at time: Timestamp) -> String {
        let verb =
            switch change.action {
            case .attach, .attachAgain: "attach"
            case .detach: "detach"
            case .set: "set"
            }
        return "The last one: \(verb) \(change.link), asked for by user \(peer.userID) at \(time)."
    }
}

extension Reloader {
    /// Changes one link of the active configuration, or nothing.
    ///
    /// It is the configuration that runs that is compiled and applied again, with the change on top: what lies on disk by
    /// now does not count. Changes and reloads are done one after the other, in the order in which they are asked for.
    ///
    /// - Throws: if the link does not exist, or exists already, or the file cannot be written. Then nothing has
    ///   changed.
    func change(_ request: LinkChangeRequest) async throws -> ChangeReply {
        let result = await inTurn { [self] () -> Result<ChangeReply, ControlError> in
            let sources = sources
            let layer = Result { () throws(LinkChangeError) in
                try sources.layer.applying(request.change, to: sources.contents.files, known: sources.parts)
            }
            if let reply = unchanged(request, layer) { return .success(reply) }
            if request.isDryRun {
                switch await prepare(request, layer) {
                case .success(.success(let prepared)):
                    return .success(reply(prepared, host.plan(for: prepared.graph), request))
                case .success(.failure(let rejection)): return .success(reply(rejection))
                case .failure(let error): return .failure(error)
                }
            }
            // A name that names no link, or a text that cannot be read, is answered and logged. It counts as no change.
            if case .failure = layer { return await perform(request, layer).reply }
            return await telling("changing the link '\(request.change.link)'", of: request.change.link) {
                await perform(request, layer)
            }
        }
        switch result {
        case .success(let reply): return try reply.get()
        case .failure(let reason): return reply(Rejection(summary: reason.description))
        }
    }

    /// The work for a change without errors.
    private struct Prepared {
        var graph: Graph
        var sources: ConfigurationSources
        var file: PersistedLink?
        /// The diagnostics that are new with the change.
        var diagnostics: [Diagnostic]
    }

    /// The reason why a change is rejected.
    private struct Rejection: Error {
        var summary: String
        var diagnostics: [Diagnostic] = []
    }

    /// The answer to what changes nothing; nil if there is something to do, or wrong.
    private func unchanged(
        _ request: LinkChangeRequest, _ layer: Result<TransientLayer, LinkChangeError>
    ) -> ChangeReply? {
        let sources = sources
        let link = request.change.link
        guard case .success(let layer) = layer, layer.says(sources.layer, ofLink: link),
            !request.persists || !layer.changes(link: link)
        else { return nil }
        let summary =
            switch request.change.action {
            case .detach: "link '\(link)' was detached already"
            case .attach, .attachAgain: "link '\(link)' is there already"
            case .set(let settings):
                settings.isEmpty
                    ? "of link '\(link)' nothing is changed that is in no file" : "link '\(link)' is so already"
            }
        acts.everything.info("nothing has changed: \(summary)", metadata: request.metadata)
        return ChangeReply(
            valid: true, applied: !request.isDryRun, changed: false, generation: host.generation, summary: summary,
            transient: sources.layer.links)
    }

    /// Compiles a change, which may take long.
    private func prepare(
        _ request: LinkChangeRequest, _ changed: Result<TransientLayer, LinkChangeError>
    ) async -> Result<Result<Prepared, Rejection>, ControlError> {
        await CompileThread.run { [self] in
            Result { () throws(ControlError) in try compile(request, changed) }
        }
    }

    private func compile(
        _ request: LinkChangeRequest, _ changed: Result<TransientLayer, LinkChangeError>
    ) throws(ControlError) -> Result<Prepared, Rejection> {
        let sources = sources
        let link = request.change.link
        let layer: TransientLayer
        do throws(LinkChangeError) {
            layer = try changed.get()
        } catch {
            switch error {
            case .noSuchLink(let name, let nearest): throw .noSuchLink(name: name, nearest: nearest)
            case .exists(let name): throw .linkExists(name: name)
            case .detached(let name): throw .linkDetached(name: name)
            case .oneOfMany(let name, let link): throw .linkOfInstances(name: name, link: link)
            case .published(let name):
                let links = host.graph.links
                guard let link = links.first(where: { $0.name == name }) else {
                    throw .noSuchLink(name: name, nearest: nearestName(to: name, among: links.map(\.name)))
                }
                let system = host.graph.systems[link.system].name
                let feedback = name.dropFirst(system.count + 1)
                return .failure(
                    Rejection(
                        summary: "'\(name)' is no link, but what the feedback '\(feedback)' of the system "
                            + "'\(system)' publishes: it is changed there, \(link.source)"))
            case .tooMany:
                let limit = TransientLayer.limit
                return .failure(
                    Rejection(summary: "\(limit) links are changed already; persist their changes, or drop them"))
            case .tooLarge:
                let limit = TransientLayer.byteLimit / 1024
                return .failure(
                    Rejection(
                        summary: "all changes together would have more than \(limit) KiB; persist some, or drop them"))
            case .invalid(let diagnostics):
                return .failure(Rejection(summary: Self.rejection(diagnostics), diagnostics: diagnostics))
            }
        }
        let candidate = daemon.candidate(
            sources.contents, layer, sources.values.branch(), reusing: sources.parts, access: sources.access)
        let diagnostics = candidate.result.diagnostics.filter { !sources.diagnostics.contains($0) }
        guard let graph = candidate.graph else {
            return .failure(Rejection(summary: Self.rejection(diagnostics), diagnostics: diagnostics))
        }
        guard request.persists else {
            return .success(Prepared(graph: graph, sources: candidate.sources, diagnostics: diagnostics))
        }
        guard let directory = daemon.configuration.persistentDirectory else {
            throw .cannotPersist(
                path: PersistedLink.fileName, reason: "none of the configuration's directories outlasts the daemon")
        }
        do throws(PersistError) {
            let file = try layer.persisting(
                link, in: directory, files: sources.contents.files, remark: request.remark(at: host.time.now()),
                known: sources.parts)
            guard let file else {
                return .success(Prepared(graph: graph, sources: candidate.sources, diagnostics: diagnostics))
            }
            var contents = sources.contents
            contents.files = file.files
            let written = daemon.candidate(
                contents, file.layer, candidate.sources.values, reusing: candidate.sources.parts, access: sources.access
            )
            guard let same = written.graph else {
                let diagnostics = written.result.diagnostics.filter { !sources.diagnostics.contains($0) }
                return .failure(
                    Rejection(summary: "with '\(file.path)': \(Self.rejection(diagnostics))", diagnostics: diagnostics))
            }
            guard same.means(graph) else {
                guard let winner = file.overriding.last else {
                    throw PersistError(path: file.path, reason: "with it the configuration would not be the active one")
                }
                throw PersistError(
                    path: file.path, reason: "'\(winner)' is read later, and says otherwise of '\(link)'",
                    winner: winner)
            }
            try checkUnchanged(link, sources, besides: file)
            return .success(Prepared(graph: same, sources: written.sources, file: file, diagnostics: diagnostics))
        } catch {
            let error = upToDate(error, link, sources)
            throw .cannotPersist(
                path: error.path, reason: error.reason, winner: error.winner, isDenied: error.isDenied)
        }
    }

    /// Returns the reason, unless the file that it is about has changed on disk since it was read: then that is the
    /// reason.
    private func upToDate(_ error: PersistError, _ link: String, _ sources: ConfigurationSources) -> PersistError {
        let concerned = [error.path, error.winner, sources.contents.file(ofLink: link, known: sources.parts)]
        let present = daemon.configuration.read().files.flatMap { [$0] + $0.dropIns }
        for file in sources.contents.files.flatMap({ [$0] + $0.dropIns })
        where file.name == PersistedLink.fileName[...] || concerned.contains(file.path) {
            let now = present.first { $0.path == file.path }
            if now?.contents == file.contents { continue }
            let news = now == nil ? "is not there any longer" : "has been changed since the last reload"
            return PersistError(path: error.path, reason: "'\(file.path)' \(news); reload first")
        }
        return error
    }

    /// Checks that the file below a drop-in is on disk as it was read, and that no file has a link of the new name by
    /// now. Text that somebody has edited since may not fit the text that is written.
    private func checkUnchanged(
        _ link: String, _ sources: ConfigurationSources, besides file: PersistedLink
    ) throws(PersistError) {
        let contents = daemon.configuration.read()
        let present = contents.files
        if sources.contents.file(ofLink: link, known: sources.parts) == nil,
            let other = contents.file(ofLink: link, known: sources.parts), other != file.path
        {
            throw PersistError(
                path: file.path,
                reason: "'\(other)' has a link '\(link)' since the last reload; reload, or give this one another name")
        }
        for owner in sources.contents.files where file.path.hasSuffix("/\(owner.name).d/\(PersistedLink.fileName)") {
            let isUnchanged = present.contains {
                $0.path == owner.path && $0.contents == owner.contents && Set($0.dropIns) == Set(owner.dropIns)
            }
            guard isUnchanged else {
                throw PersistError(
                    path: file.path, reason: "'\(owner.path)' has been changed since the last reload; reload first")
            }
        }
    }

    private func perform(
        _ request: LinkChangeRequest, _ layer: Result<TransientLayer, LinkChangeError>
    ) async -> (reply: Result<ChangeReply, ControlError>, verdict: Verdict) {
        do throws(ControlError) {
            let outcome = try await carryOut(request, layer)
            switch outcome {
            case .success(let reply): return (.success(reply), Verdict(isApplied: true, summary: reply.summary))
            case .failure(let rejection):
                for diagnostic in rejection.diagnostics { daemon.report(diagnostic) }
                logRejection(rejection.summary, request)
                return (.success(reply(rejection)), Verdict(isApplied: false, summary: rejection.summary))
            }
        } catch {
            if error == .stopping {
                acts.everything.warning(
                    "change of a link \(error)", metadata: request.metadata.about(.changeInterrupted))
            } else {
                logRejection(error.description, request)
            }
            return (.failure(error), Verdict(isApplied: false, summary: error.description))
        }
    }

    private func logRejection(_ summary: String, _ request: LinkChangeRequest) {
        acts.everything.error(
            "change of a link rejected: \(summary); nothing was changed",
            metadata: request.metadata.about(.linkChangeRejected))
    }

    private func carryOut(
        _ request: LinkChangeRequest, _ layer: Result<TransientLayer, LinkChangeError>
    ) async throws(ControlError) -> Result<ChangeReply, Rejection> {
        let prepared: Prepared
        switch try await prepare(request, layer).get() {
        case .success(let value): prepared = value
        case .failure(let rejection): return .failure(rejection)
        }
        // The file is written first. A change that cannot be written is not applied.
        let written: PersistedLink.Written?
        do throws(PersistError) {
            written = try prepared.file?.write()
        } catch {
            throw .cannotPersist(path: error.path, reason: error.reason, isDenied: error.isDenied)
        }
        for diagnostic in prepared.diagnostics { daemon.report(diagnostic) }
        do throws(ApplyError) {
            let applied = try await apply(prepared.graph, madeOf: prepared.sources) { plan in
                var metadata = request.metadata
                if let file = prepared.file { metadata["file"] = "\(file.path)" }
                let summary = "\(request.done): \(plan.summary)"
                acts.everything.notice("\(summary)", metadata: metadata.about(.linkChanged))
                return summary
            }
            var reply = reply(prepared, applied.result.plan, request)
            reply.applied = true
            reply.late = applied.result.late
            reply.lateReasons = applied.result.lateReasons
            return .success(reply)
        } catch {
            if let written, !written.undo() {
                daemon.logger.error(
                    "the file of a change that was not applied cannot be restored",
                    metadata: ["file": "\(prepared.file?.path ?? "")"])
            }
            guard error != .interrupted else { throw .stopping }
            return .failure(Rejection(summary: "\(error)"))
        }
    }

    private func reply(_ prepared: Prepared, _ plan: Plan, _ request: LinkChangeRequest) -> ChangeReply {
        ChangeReply(
            valid: true, applied: false, generation: host.generation, summary: plan.summary,
            steps: PlanStep.all(of: plan, withKept: request.tellsKept), warnings: prepared.diagnostics.count,
            diagnostics: Self.diagnostics(prepared.diagnostics),
            transient: prepared.sources.layer.links,
            file: prepared.file.map { WrittenFile(path: $0.path, text: $0.text ?? "", removed: $0.text == nil) })
    }

    private func reply(_ rejection: Rejection) -> ChangeReply {
        let errors = rejection.diagnostics.count { $0.severity == .error }
        return ChangeReply(
            valid: false, applied: false, generation: host.generation, summary: rejection.summary, errors: errors,
            warnings: rejection.diagnostics.count - errors, diagnostics: Self.diagnostics(rejection.diagnostics),
            transient: sources.layer.links)
    }
}
