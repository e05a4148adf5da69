/// The ID of a log line that a reader may want to have explained, or to be notified about. It is the `MESSAGE_ID` of
/// the journal entry.
///
/// `systemd/mediatord.catalog` explains each ID (`journalctl -x`). A published ID keeps its meaning, and is never
/// used for another message.
package enum MessageID: String, Sendable, CaseIterable {
    // The daemon.

    /// Every system is ready, or the time limit for that is over.
    case ready = "d7353ee7d38a4a738bc1cf74559043e1"
    /// Some systems did not become ready in time. The daemon continues without them.
    case notEverythingReady = "61aefccb990d426da61d570e1294ddf9"
    /// The daemon was asked to stop.
    case stopping = "af206ee71cad4373bd1fa7aec69745f3"
    /// The daemon has stopped and left nothing behind.
    case stopped = "83bb26f23aed4f30b20c0dcac1fe4b1e"
    /// Side effects did not end in time and are left behind.
    case leftBehind = "d65fec459c824ea886a8433dc5a33c01"
    /// The configuration is invalid, so nothing was started.
    case invalidConfiguration = "204cd88bbab64d509fdaf9268305b430"
    /// The configuration has an error or a warning.
    case diagnostic = "144be84428a449e9b1541c4272b4486e"
    /// The configuration has no system.
    case noSystems = "0361880e18b24e218264f7ef414d7946"
    /// The control socket cannot be served, so nothing was started.
    case socketNotServed = "7219077edd18406a8fedfd2ba2e2b44f"
    /// The metrics cannot be served, so nothing was started.
    case metricsNotServed = "a2c6f0d2e3c94c50a781e51c6bf2a221"
    /// A part of the daemon failed because of a bug.
    case partFailed = "86d046851b3247db8a1cfe6d47f435ff"
    /// The daemon stops because a system escalates a fault.
    case escalated = "571ebf644c594d35a6956fec73ea8639"
    /// The daemon does not feed the watchdog of the service manager.
    case watchdogNotFed = "2177abe4ce2c4594ba21332387a98e96"
    /// The watchdog settings of the service manager are invalid.
    case noWatchdog = "6fba901a17df4a3e9b045b94e2ff58ba"
    /// Log lines could not be written.
    case linesLost = "aa5aa970d829408e9b6ca0e3f5e5ac74"
    /// A command of the previous run of the daemon still ran, and was ended.
    case previousCommandEnded = "854d1647f6c246bd9bf9aad1c8302bb4"
    /// A process of a previous command has left its group, and still runs.
    case previousProcessOutside = "7823bebc1d4a455fb96b456c5af88dd4"
    /// A command of the previous run of the daemon may still run, and cannot be ended.
    case previousCommandNotEnded = "8d887b662ee94b0c8936f58fefb3a21e"
    /// The daemon cannot record its commands.
    case commandsNotRecorded = "82793d44008c48ce958cffc6a9109730"
    /// The store cannot be used, so what persists runs in memory.
    case storeNotUsed = "3f33d13dfb074fe28a5e561a7c0730aa"
    /// The store is damaged, or has lost states.
    case storeDamaged = "dbd4991ee11841179417fda21e9a5028"
    /// The store refuses states, or they cannot be saved.
    case statesNotStored = "d43616d77ae54f02bd70163bf01ed33d"
    /// The store failed for good, so the daemon ends.
    case storeFailed = "a863fa528a6e45f59f591a3137e18cbd"
    /// Persisted systems begin paused, because several starts never became ready.
    case systemsBeginPaused = "9b19d17aff054d6e9c289028fdc9695c"

    // Changes of the configuration.

    /// A new configuration was applied.
    case reloaded = "ecd43048d52548aabf4db18ddf811c4c"
    /// A new configuration was rejected, and nothing has changed.
    case reloadRejected = "b33add1485bc403e9cb81344bb3a45a1"
    /// The stop of the daemon interrupted a reload or a change of a link.
    case changeInterrupted = "44f9d867325d4cd59701b7438edfd702"
    /// A link was attached, detached or changed at run time.
    case linkChanged = "3869153556b94523b1022acb53a4aa0b"
    /// A change of a link was rejected, and nothing has changed.
    case linkChangeRejected = "54687368102e4f13a0362a1052058bb2"
    /// A change of a link is forgotten.
    case changeForgotten = "d310aec26e984a77aea75dfae72165a3"

    // Clients.

    /// A client sent an event to a system.
    case eventEmitted = "1f00454db60a4b10b006bdf96d2c55d2"
    /// A client put a value on a bus.
    case valuePublished = "df9e4402729243adafabc202c96dafd1"
    /// A client asked for a restart of a system.
    case restartAsked = "b2bb60f156a5494abd12415b7d5ae131"
    /// A client sent a system to its initial state.
    case resetAsked = "259b8f170df248298001d6056c69f20e"
    /// A client removed the state of a part from the store.
    case storeForgotten = "f9338b04819e4ef59f92071ce3d35abe"
    /// A client paused a system.
    case paused = "54999d471c0d4ea98842d55962b036a0"
    /// A client resumed a system.
    case resumed = "5ec9dc90a25d431e93ce2276c5d3f454"
    /// A client set the log level.
    case levelSet = "c12e2a48b4ea4dcebd8e0e9eedcaf404"
    /// A client asked for something without the right to it.
    case actRefused = "c919329fa13346eca87686e74647fd59"
    /// A client was refused because of too many connections.
    case clientRefused = "9ad564e2411e4489913e022edcac53b8"
    /// The daemon dropped a client.
    case clientDropped = "208c7800074f4f7ab51fbc0b68f3beb3"
    /// A call of a client failed because of the daemon.
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
    /// A system restarts because of a fault.
    case systemRestarting = "64b59bcdf52b451c8f349e01e5243fcf"
    /// A system is sent to its initial state because of a fault.
    case systemReset = "8011114df4ce45878878ed043db89726"
    /// A system has ended because of faults.
    case systemEnded = "c4ad105945cb480b917feebab2d6bec0"
    /// The faults of a system stop the daemon.
    case systemEscalates = "6d0e65c2de3c443d925fd08e50136bb2"
    /// A system is restarted, reset or ended together with another one of its group.
    case groupTreated = "e11e07367532431d84c7ae36df24bdea"
    /// A system did not become ready in time.
    case systemNotReady = "b7c7ea0d62c14a13914b2d959d535ec6"
    /// The loop of a system makes no progress.
    case loopBlocked = "eff59737cda24e0c94f36a02a1c3a96b"
    /// The loop of a system makes progress again.
    case loopTurns = "ddd83ce9e9e34666a6a5af0ccae1f80d"
    /// The waits of all systems do not end.
    case waitsLate = "38305a3f064143388190b0f90ecff9c4"
    /// The waits of all systems end again.
    case waitsEnd = "58fcb08e6a2840b69baef58c2fc015cb"
    /// A system does not handle an event in its state.
    case eventNotHandled = "4cec534816844aa9a4fe71b0c3adadd5"
    /// An event was dropped, because the mailbox was full or the system no longer has the event.
    case eventDropped = "3ada0f945fb5437baffcc8869515c8eb"
    /// Waiting events of a system are lost, since it ended or restarted.
    case eventsLost = "52c117de1fe64589806e3ca4b035a53e"
    /// Ticks of a schedule were missed.
    case ticksMissed = "7f9e1c4f55834d3a940747a3162b58ea"
    /// A side effect failed, and no rule handles the failure.
    case effectFailed = "3bb17cf4d7e94164afd7fb4dd8e3e165"
    /// A program that the configuration names is not installed.
    case programNotFound = "443ba433f912430a9fb24c2282d4532e"
    /// A command could not be started.
    case commandNotStarted = "cf60e4eb04a14905b0834644777dee66"
    /// A side effect that failed works again.
    case effectWorks = "eca91604428045e6904ee21752dd4e37"
    /// A run of a side effect takes longer than its limit, or than its schedule allows.
    case effectOverdue = "3e69c98976dc4778846110d71ac19943"

    // Links.

    /// A link is held back, because it would fire too often, or for an input that has passed too many links.
    case linkHeldBack = "f98cadcb973d423289d693c86ef210e1"
    /// A link that was held back fires again.
    case linkFires = "54dd1833e4674da1a7b34f25fa952246"
}
