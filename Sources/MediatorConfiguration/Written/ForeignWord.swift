/// A word from the configurations of other programs, with its place there and the key that has its meaning here.
package struct ForeignWord: Sendable {
    /// The place of a word.
    package enum Place: String, Sendable, CaseIterable {
        case system
        case state
        case feedback
        case transition
        case bus
        case link
        case supervision
        case retry

        /// A key that only this place has among those in which words are looked up by their keys.
        fileprivate var mark: String? {
            switch self {
            case .system: "initialState"
            case .state: nil
            case .feedback: "onState"
            case .transition: "set"
            case .bus: "overflow"
            case .link: "attach"
            case .supervision: "beyond"
            case .retry: "times"
            }
        }
    }

    /// The place.
    package var place: Place
    /// The word in lower case, without '-' and '_'.
    package var word: String
    /// The key, or the side effect, that says it here.
    package var key: String
    /// The advice: a hint that holds the key.
    package var hint: String

    /// The form in which words are compared.
    package static func normalized(_ word: String) -> String {
        word.lowercased().filter { $0 != "-" && $0 != "_" }
    }

    /// The advice on an unknown key.
    ///
    /// - Parameter known: The keys of the place.
    static func hint(for key: String, among known: [String]) -> String? {
        let place = Place.allCases.first { place in
            // A link has 'onState', too.
            place == .feedback && known.contains("attach") ? false : place.mark.map(known.contains) ?? false
        }
        return place.flatMap { self[key, at: $0] }?.hint
    }

    /// The meaning of a word at a place.
    static subscript(key: String, at place: Place) -> ForeignWord? { table[place]?[normalized(key)] }

    private static let table: [Place: [String: ForeignWord]] = Dictionary(grouping: all, by: \.place).mapValues {
        Dictionary($0.map { ($0.word, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// All words of other programs, except those that only have another name here (``Names/otherKeys``).
    package static let all: [ForeignWord] = meanings.flatMap { place, words, key, hint in
        words.split(separator: " ").map { ForeignWord(place: place, word: String($0), key: key, hint: hint) }
    }

    /// By place: words, what says it here, and what to write.
    ///
    /// The words are those of Home Assistant, Prometheus, Alertmanager, monit, keepalived, supervisord, systemd, cron, XState,
    /// thin-edge.io, Ansible, Kubernetes and Docker.
    private static let meanings: [(Place, String, String, String)] = [
        // Feedbacks
        (
            .feedback, "for holdfor waitfor duration onbootsec onstartupsec onactivesec wait sleep startsecs", "after",
            "to act once the state has lasted so long write after: 5m"
        ),
        (
            .feedback, "repeat repeatinterval onunitactivesec onunitinactivesec pollinterval scaninterval cycle loop",
            "every", "to act again and again write every: 5m"
        ),
        (
            .feedback, "groupwait groupinterval settle", "debounce",
            "to wait until nothing changes any more write debounce: 30s"
        ),
        (.feedback, "randomizeddelaysec splay accuracysec", "jitter", "for a random delay write jitter: 30s"),
        (
            .feedback, "persistent catchup", "missed",
            "for times missed while the daemon runs write missed: once; a time without the daemon is not made up for"
        ),
        (
            .feedback, "fall failurethreshold failcount maxfails unhealthythreshold unhealthyafter", "failureThreshold",
            "write failureThreshold: 3 within the side effect that probes: tcp: { …, failureThreshold: 3 }"
        ),
        (
            .feedback, "rise successthreshold healthythreshold healthyafter", "successThreshold",
            "write successThreshold: 2 within the side effect that probes: tcp: { …, successThreshold: 2 }"
        ),
        (
            .feedback, "restartsec startretries maxretries restartdelay backoff attempts", "retry",
            "to run a failed side effect again write retry: { times: 3, delay: 5s }"
        ),
        (
            .feedback, "restart autorestart startlimitburst startlimitintervalsec startlimitinterval", "supervision",
            "for restarts of the system write 'supervision' there; to run a command again write 'retry'"
        ),
        (
            .feedback, "severity level loglevel labels annotations summary priority urgency", "level",
            "write it in the side effect: log: { message: …, level: warning }, or 'priority' of 'notify'"
        ),
        (
            .feedback, "alias id name description comment title", "onState",
            "the key above 'onState' is the feedback's name; write anything else as a comment: # …"
        ),
        (
            .feedback, "actions action do then sequence steps tasks execute effects", "run",
            "a feedback has one side effect under its own name, such as run, log, notify or emit: write a feedback for each"
        ),
        (
            .feedback, "trigger triggers platform entityid expr matchers match on event events", "onState",
            "a feedback acts in states: write onState: and a state, and a transition for the event that leads there"
        ),
        (
            .feedback, "nextstate goto to target transition transitions next", "emit",
            "a feedback emits an event, with emit: or an outcome; a transition names the state that follows"
        ),
        (
            .feedback, "shell script bash shellcommand backgroundscript executeshell", "run",
            "write run: [sh, -c, \"…\"]"
        ),
        (
            .feedback, "program execstartpre startprogram stopprogram execstop service", "run",
            "write run: [program, argument]"
        ),
        (
            .feedback, "webhook webhookconfigs httprequest restcommand fetch curl uri request httpget", "http",
            "write http: { url: … }"
        ),
        (
            .feedback,
            "alert email mail slack telegram message receiver receivers emailconfigs slackconfigs notification",
            "notify", "write notify: { url: …, text: … }"
        ),
        (.feedback, "print echo logger debug systemlog logbook", "log", "write log: \"…\""),
        (.feedback, "raise send fire dispatch signal fireevent", "emit", "write emit: and an event"),
        (.feedback, "mqttpublish topic bus setstate", "publish", "write publish: { to: BUS, value: … }"),
        (
            .feedback, "enabled disabled", "when", "leave it out, or write 'when' and a condition on the state"
        ),
        (
            .feedback, "max maxconcurrent concurrency numprocs", "limit",
            "how many may run at once says limit: 3, beside strategy: continueOnNewState"
        ),
        (
            .feedback, "user username uid runas group environment env environmentfile stdin directory umask", "run",
            "it is a parameter of a command: run: { command: […], user: …, environment: { … } }"
        ),
        (
            .feedback, "onexit onkill onfinish finally always", "onFailure",
            "an outcome is 'onSuccess' or 'onFailure'; write both to hear of every end"
        ),

        (
            .feedback, "else choose switch case", "when",
            "write a feedback for each case, with when: and its condition"
        ),
        (
            .feedback, "waitfortrigger waittemplate waituntil", "onState",
            "to wait for an event add a state: a transition leads to the next one, where a feedback with its onState: runs"
        ),
        (
            .feedback, "continueonerror ignoreerrors initfail", "onFailure",
            "write onFailure: and the event that it leads to"
        ),
        (
            .feedback, "context assign data variables responsevariable register", "set",
            "a state holds data: write set: beside 'to' of the transition, with event.… of an outcome"
        ),
        (
            .feedback, "parallel", "onState",
            "write a feedback for each, with the same onState:; they run beside each other"
        ),
        (
            .feedback, "keepfiringfor resolvetimeout", "after",
            "to stay in a state for a while write a feedback with after: 5m and emit:, which leads out of it"
        ),
        (.feedback, "scrapeinterval evaluationinterval advertint periodseconds", "every", "write every: 15s"),
        (.feedback, "initialdelayseconds startperiod", "after", "to begin later write after: 5s in place of every:"),
        (.feedback, "scrapetimeout withtimeout jobtimeout timeoutseconds", "timeout", "write timeout: 10s"),
        (
            .feedback, "mutetimeintervals activetimeintervals", "when",
            "write when: and a condition on the time, such as when: now.getHours() >= 8"
        ),
        (
            .feedback, "matchre routes route inhibitrules sendresolved", "onState",
            "a feedback acts in states: write onState: and a state, such as one for alarms and one for their end"
        ),
        (
            .feedback, "check", "tcp",
            "a side effect that checks has its own name, such as tcp: { … }, http, ping, dns, process or path"
        ),
        (
            .feedback, "depends dependson requires wants before conflicts", "links",
            "systems are joined by buses and links, in a document of their own: links: { NAME: { attach: …, to: … } }"
        ),
        (.feedback, "trackscript operation builtin invoke src spawn", "run", "write run: [program, argument]"),
        (.feedback, "notifymaster notifybackup notifyfault", "run", "write run: [program, argument]"),
        (
            .feedback, "exit onleave", "onState",
            "a feedback acts when a state is entered: write one with onState: of the state that comes next"
        ),
        (.feedback, "smtpalert pagerduty webpush", "notify", "write notify: { url: …, text: … }"),
        (
            .feedback, "autostart onreboot", "initialState",
            "the system begins in its initialState: write a feedback for it"
        ),
        (
            .feedback, "stopsignal killsignal killmode killasgroup stopasgroup sendsigkill", "timeout",
            "a command ends with SIGTERM, and with SIGKILL later, with all its processes; 'timeout' limits its time"
        ),
        (.feedback, "watchdogsec", "watchdog", "write watchdog: 10s in the system"),
        (
            .feedback, "conditionpathexists pathexists", "path",
            "write a feedback with path: { path: … } that watches the file"
        ),
        (
            .feedback, "minute hour day weekday month dayofweek dayofmonth", "at",
            "write at: and a calendar time, such as at: Mon..Fri 06:30"
        ),
        (.feedback, "tags meta version", "onState", "write a comment, # …, beside 'onState'"),

        // Transitions
        (
            .transition,
            "emit raise send fire log run exec execute actions action do effects effect publish notify http invoke call script "
                + "entry exit alert service command shell",
            "onState", "a transition has no side effects: write a feedback with onState: and the state that it leads to"
        ),
        (
            .transition, "after delay every at timeout wait duration debounce", "after",
            "a transition takes no time: write a feedback with 'onState', 'after' and 'emit'"
        ),
        (
            .transition, "else otherwise choose elseif elif switch case", "when",
            "write a list of rules; the last one without 'when' holds otherwise"
        ),
        (
            .transition, "description comment alias id name meta", "when",
            "a rule has no name: write a comment, # …, beside 'when' and 'to'"
        ),
        (.transition, "internal reenter external stop abort", "to", "write to: stay to change nothing"),
        (
            .transition, "priority order weight", "when",
            "rules are tried in the order in which they stand; the first whose 'when' holds is taken"
        ),
        (
            .transition, "from source on event trigger triggers", "transitions",
            "the keys above a rule say from which state and on which event: transitions: { FROM: { EVENT: … } }"
        ),

        // States
        (
            .state, "on transitions always events triggers", "transitions",
            "write them beside 'states': transitions: { STATE: { EVENT: TARGET } }"
        ),
        (
            .state,
            "entry onentry onenter enter exit onexit invoke actions action activities do run log emit script command exec",
            "feedbacks", "write a feedback beside 'states': feedbacks: { NAME: { onState: STATE, run: … } }"
        ),
        (
            .state, "after delay timeout every for at", "after",
            "write a feedback beside 'states': feedbacks: { NAME: { onState: STATE, after: 5s, emit: EVENT } }"
        ),
        (
            .state, "states initial substates children type parallel", "states",
            "write the states inside beside it, with its name and a dot before theirs: STATE.Inner: {}"
        ),
        (.state, "final", "final", "write it beside 'states': final: [STATE]"),
        (
            .state, "history", "to",
            "a transition leads to the state inside that was left last: to: STATE.history"
        ),
        (
            .state, "description meta tags comment title label", "description",
            "write a comment, # …, or say it in the 'description' of the system"
        ),
        (
            .state, "health severity color", "health", "write it beside 'states': health: { STATE: degraded }"
        ),

        // Systems
        (
            .system, "on rules table routes", "transitions", "write transitions: { STATE: { EVENT: TARGET } }"
        ),
        (
            .system,
            "entry exit timers timer triggers trigger actions action tasks jobs hooks effects services condition "
                + "conditions sequence automation invoke checks check",
            "feedbacks", "write feedbacks: { NAME: { onState: STATE, run: […] } }"
        ),
        (
            .system, "context fields memory", "states",
            "data belong to states: write states: { STATE: { n: int } }, and initialState: { STATE: { n: 0 } }"
        ),
        (
            .system,
            "restart autorestart restartsec startlimitburst startlimitintervalsec startretries restartpolicy onfault",
            "supervision", "write supervision: { onFault: restart, delay: 1s, limit: 5 per 1m }"
        ),
        (.system, "watchdogsec heartbeat", "watchdog", "write watchdog: 10s"),
        (
            .system, "wants requires bindsto partof dependson depends before after conflicts requisite", "links",
            "systems are joined by links, in a document of their own: links: { NAME: { attach: …, to: … } }"
        ),
        (
            .system, "id name alias machine label", "system", "the name of a system is what 'system' says"
        ),
        (
            .system, "timeoutstartsec startsecs readiness readinessprobe", "ready",
            "write ready: { in: [STATE], within: 30s }"
        ),
        (.system, "queue buffer inbox", "mailbox", "write mailbox: { limit: 1000 }"),
        (.system, "healthcheck livenessprobe status", "health", "write health: { STATE: degraded }"),

        (.system, "guards", "when", "write when: and a condition in a rule of 'transitions'"),
        (
            .system,
            "delays timeout ontimeout schedule onerror install operation program unit service vrrpscript vrrpinstance "
                + "notifymaster notifybackup notifyfault",
            "feedbacks",
            "write feedbacks: { NAME: { onState: STATE, after: 5s, emit: EVENT } }, with run:, every: or at: as needed"
        ),
        (
            .system, "always", "transitions",
            "write it below a state, or for all of them: transitions: { any: { always: [{ when: …, to: … }] } }"
        ),
        (.system, "mode", "feedbacks", "'mode' belongs to a feedback: feedbacks: { NAME: { …, mode: … } }"),
        (
            .system, "route receivers receiver inhibitrules global notify", "feedbacks",
            "write feedbacks: { NAME: { onState: STATE, notify: { url: …, text: … } } }"
        ),
        (.system, "maxretries", "feedbacks", "write feedbacks: { NAME: { …, retry: { times: 3, delay: 5s } } }"),
        (.system, "log logging", "feedbacks", "write feedbacks: { NAME: { onState: STATE, log: \"…\" } }"),
        (.system, "version tags meta enabled", "description", "write a comment, # …, or 'description'"),

        // Buses
        (
            .bus, "retain retained sticky memory", "kind",
            "write kind: currentValue for a bus that remembers its last value"
        ),
        (
            .bus, "topic name channel id", "buses",
            "the key above it is the name of the bus: buses: { NAME: { kind: …, value: … } }"
        ),
        (
            .bus, "readers subscribers writers publishers from to", "links",
            "links write and read a bus: links: { NAME: { attach: …, to: BUS, … } }"
        ),
        (.bus, "qos policy full", "overflow", "write overflow: dropOldest or dropNewest"),

        // Links
        (
            .link, "action actions do service run exec log command", "emitEvent",
            "a link has no side effect: write emitEvent: and an event, and a feedback in that system"
        ),
        (
            .link, "onevent trigger triggers", "onState",
            "a link looks at states or at values: write onState: and a state, and emitValue or emitEvent"
        ),
        (
            .link, "emit send raise", "emitValue",
            "write emitValue: and a value for the bus, or emitEvent: and an event for a system"
        ),
        (.link, "transform map message", "emitValue", "write emitValue: \"${…}\""),
        (
            .link, "delay after for every debounce throttle at", "after",
            "a link acts at once: write a feedback with 'after' or 'debounce' in the system"
        ),
        (.link, "ratelimit maxrate", "loop", "write loop: { limit: 10 per 1s }"),

        // Supervision
        (
            .supervision,
            "startlimitburst startlimitintervalsec startlimitinterval maxrestarts startretries intensity retries "
                + "attempts maxretries maxattempts period window burst",
            "limit", "write limit: 5 per 1m"
        ),
        (.supervision, "strategy", "strategy", "a group has it: groups: { NAME: { strategy: …, systems: [ … ] } }"),
        (
            .supervision, "startlimitaction failureaction giveup onlimit escalate", "beyond",
            "'beyond' sets the treatment after the limit is exceeded"
        ),

        // Retries
        (
            .retry, "on onfailure when", "onFailure",
            "a run is repeated after a failure; 'onFailure' beside 'retry' comes after the last"
        ),
    ]
}
