import Logging
import MediatorConfiguration
import MediatorControl
import MediatorHost
import Varlink

extension HostControl {
    func plan(_ parameters: PlanParameters, peer: VarlinkPeer) async throws -> PlanReply {
        // The configuration behind it would not be checked, only shown.
        if parameters.directory?.utf8.contains(0) == true {
            throw ServiceError.invalidParameter(parameter: "directory")
        }
        return await reloader.plan(
            parameters.directory, dropsTransient: parameters.dropTransient ?? false,
            tellsKept: parameters.all ?? false)
    }

    func reload(_ parameters: ReloadParameters, peer: VarlinkPeer) async throws -> ReloadReply {
        let who = await acts.metadata(of: peer, "reload")
        return try await reloader.reload(
            dropsTransient: parameters.dropTransient ?? false, tellsKept: parameters.all ?? false,
            who.merging(["cause": "client"]) { $1 })
    }

    func listChanges(peer: VarlinkPeer) async throws -> [TransientChange] {
        reloader.sources.layer.list.map { TransientChange(link: $0.link, kind: ChangeKind($0.kind), text: $0.text) }
    }

    func attachLink(_ parameters: AttachParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        let settings = parameters.settings.map(LinkChange.Setting.init)
        let action: LinkChange.Action =
            parameters.definition == nil && settings.isEmpty ? .attachAgain : .attach(parameters.definition, settings)
        return try await reloader.change(
            LinkChangeRequest(
                change: LinkChange(link: parameters.link, action: action), persists: parameters.persist ?? false,
                isDryRun: parameters.dryRun ?? false, tellsKept: parameters.all ?? false, peer: peer,
                who: await acts.metadata(of: peer, "attach")))
    }

    func detachLink(_ parameters: DetachParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        try await reloader.change(
            LinkChangeRequest(
                change: LinkChange(link: parameters.link, action: .detach), persists: parameters.persist ?? false,
                isDryRun: parameters.dryRun ?? false, tellsKept: parameters.all ?? false, peer: peer,
                who: await acts.metadata(of: peer, "detach")))
    }

    func setLink(_ parameters: SetParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        let action = LinkChange.Action.set(parameters.settings.map(LinkChange.Setting.init))
        return try await reloader.change(
            LinkChangeRequest(
                change: LinkChange(link: parameters.link, action: action), persists: parameters.persist ?? false,
                isDryRun: parameters.dryRun ?? false, tellsKept: parameters.all ?? false, peer: peer,
                who: await acts.metadata(of: peer, "set")))
    }

    func readConfiguration(peer: VarlinkPeer) async throws -> [ReadConfigurationReply] {
        let sources = reloader.sources
        return sources.layer.applied(to: sources.contents.files).files.flatMap { file in
            [ReadConfigurationReply(file, owner: nil)]
                + file.dropIns.map { ReadConfigurationReply($0, owner: file.path) }
        }
    }
}
