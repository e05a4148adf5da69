/// What a line of the log is about, for those that somebody may want explained, or be told of when they come: the
/// `MESSAGE_ID` of their entries in the journal.
///
/// `systemd/mediatord.catalog` explains each of them (`journalctl -x`). An id that has been published keeps its meaning, and
/// is never used for another.
package enum MessageID: String, Sendable, CaseIterable {
    // The daemon.

    /// Every system is ready, or the time for that is over.
    case ready = "d7353ee7d38a4a738bc1cf74559043e1"
    /// Some systems have not become ready in time; the daemon goes on without.
    case notEverythingReady = "61aefccb990d426da61d570e1294ddf9"
    /// The daemon has been asked to stop.
    case stopping = "af206ee71cad4373bd1fa7aec69745f3"
    /// The daemon has stopped, and left nothing behind.
    case stopped = "83bb26f23aed4f30b20c0dcac1fe4b1e"
    /// Side effects did not end in time, and are left behind.
    case leftBehind = "d65fec459c824ea886a8433dc5a33c01"
    /// The configuration is not valid; nothing was started.
    case invalidConfiguration = "204cd88bbab64d509fdaf9268305b430"
    /// The configuration has a mistake, or something in it is doubtful.
    case diagnostic = "144be84428a449e9b1541c4272b4486e"
    /// There is no system in the configuration.
    case noSystems = "0361880e18b24e218264f7ef414d7946"
    /// The control socket cannot be served; nothing was started.
    case socketNotServed = "7219077edd18406a8fedfd2ba2e2b44f"
    /// The figures cannot be served; nothing was started.
    case metricsNotServed = "a2c6f0d2e3c94c50a781e51c6bf2a221"
    /// A part of the daemon failed, which is a mistake of the program.
    case partFailed = "86d046851b3247db8a1cfe6d47f435ff"
    /// The daemon ends, since a system asks for it.
    case escalated = "571ebf644c594d35a6956fec73ea8639"
    /// The service manager's watchdog is not fed.
    case watchdogNotFed = "2177abe4ce2c4594ba21332387a98e96"
    /// What the service manager says of its watchdog is not understood.
    case noWatchdog = "6fba901a17df4a3e9b045b94e2ff58ba"
    /// Lines of the log could not be written.
    case linesLost = "aa5aa970d829408e9b6ca0e3f5e5ac74"

    // What runs is changed.

    /// A new configuration has been applied.
    case reloaded = "ecd43048d52548aabf4db18ddf811c4c"
    /// A new configuration has been rejected; nothing has changed.
    case reloadRejected = "b33add1485bc403e9cb81344bb3a45a1"
    /// A reload or a change of a link was overtaken by the end of the daemon.
    case changeInterrupted = "44f9d867325d4cd59701b7438edfd702"
    /// A link has been attached, detached or changed while the daemon runs.
    case linkChanged = "3869153556b94523b1022acb53a4aa0b"
    /// A change of a link has been rejected; nothing has changed.
    case linkChangeRejected = "54687368102e4f13a0362a1052058bb2"
    /// What was changed of a link is forgotten.
    case changeForgotten = "d310aec26e984a77aea75dfae72165a3"

    // Clients.

    /// A client sent an event to a system.
    case eventEmitted = "1f00454db60a4b10b006bdf96d2c55d2"
    /// A client put a value on a bus.
    case valuePublished = "df9e4402729243adafabc202c96dafd1"
    /// A client asked for a system to begin anew.
    case restartAsked = "b2bb60f156a5494abd12415b7d5ae131"
    /// A client sent a system to its initial state.
    case resetAsked = "259b8f170df248298001d6056c69f20e"
    /// A client paused a system.
    case paused = "54999d471c0d4ea98842d55962b036a0"
    /// A client lets a system go on.
    case resumed = "5ec9dc90a25d431e93ce2276c5d3f454"
    /// A client set what is logged.
    case levelSet = "c12e2a48b4ea4dcebd8e0e9eedcaf404"
    /// A client had no right to what it asked for.
    case actRefused = "c919329fa13346eca87686e74647fd59"
    /// A client was refused, since there are too many.
    case clientRefused = "9ad564e2411e4489913e022edcac53b8"
    /// A client was dropped.
    case clientDropped = "208c7800074f4f7ab51fbc0b68f3beb3"
    /// A call of a client failed on account of the daemon.
    case callFailed = "e1e9594479f34abc8b5edd59b952b711"
    /// Calls of clients did not end in time.
    case callsNotEnded = "c70a5424f5ea40e6b995ffe3964dbb6e"

    // Systems.

    /// A system began.
    case systemStarted = "560317ab7dbc467faf822396778f7e23"
    /// A system entered a state.
    case stateEntered = "0643fc4ba97d4ce8ba1af313c252fc19"
    /// A part of a system failed.
    case systemFault = "f32b5eb5641443f1a9d2294941d1aa41"
    /// A system begins anew on account of a fault.
    case systemRestarting = "64b59bcdf52b451c8f349e01e5243fcf"
    /// A system is sent to its initial state on account of a fault.
    case systemReset = "8011114df4ce45878878ed043db89726"
    /// A system has ended on account of faults.
    case systemEnded = "c4ad105945cb480b917feebab2d6bec0"
    /// The faults of a system end the daemon.
    case systemEscalates = "6d0e65c2de3c443d925fd08e50136bb2"
    /// A system is restarted, reset or ended with another one of its group.
    case groupTreated = "e11e07367532431d84c7ae36df24bdea"
    /// A system has not become ready in time.
    case systemNotReady = "b7c7ea0d62c14a13914b2d959d535ec6"
    /// The loop of a system does not turn.
    case loopBlocked = "eff59737cda24e0c94f36a02a1c3a96b"
    /// The loop of a system turns again.
    case loopTurns = "ddd83ce9e9e34666a6a5af0ccae1f80d"
    /// A system does not handle an event in its state.
    case eventNotHandled = "4cec534816844aa9a4fe71b0c3adadd5"
    /// A mailbox dropped an event.
    case eventDropped = "3ada0f945fb5437baffcc8869515c8eb"
    /// Events that waited for a system to begin are lost.
    case eventsLost = "52c117de1fe64589806e3ca4b035a53e"
    /// Ticks of a schedule were missed.
    case ticksMissed = "7f9e1c4f55834d3a940747a3162b58ea"
    /// A side effect failed, and no rule says what becomes of that.
    case effectFailed = "3bb17cf4d7e94164afd7fb4dd8e3e165"

    // Links.

    /// A link is held back, since it would fire too often, or for what has come over too many links.
    case linkHeldBack = "f98cadcb973d423289d693c86ef210e1"
    /// A link that was held back fires again.
    case linkFires = "54dd1833e4674da1a7b34f25fa952246"
}
