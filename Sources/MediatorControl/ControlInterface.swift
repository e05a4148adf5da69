/// The control interface of mediatord: its name and its definition.
public enum ControlInterface {
    /// The name of the interface.
    public static let name = "io.mediatord.Control"

    /// The definition, as it is also given to `GetInterfaceDescription`.
    ///
    /// Values of any JSON kind are declared `object`, which every implementation of Varlink can parse.
    public static let definition = """
        # Looks into a running mediatord and acts on it: systems, buses and links.
        #
        # Times are RFC 3339 in UTC. A value of a timestamp or a duration travels as a
        # string (RFC 3339; such as 1h30m or 500ms), any other value as its JSON.
        interface io.mediatord.Control

        # How a system, or the daemon as a whole, is doing.
        type Health (starting, healthy, degraded, failed, stopped)

        # What a caller may do: look; put in events and values, and look; everything.
        type Right (read, inject, administer)

        # Whether a bus remembers its last value.
        type BusKind (passthrough, currentValue)

        # What a link joins.
        type LinkForm (systemToBus, busToSystem, systemToSystem)

        # A typed field: bool, int, double, string, timestamp, duration, list(T), map(K, V).
        # expected is what it must be besides, such as between 0 and 65535; it is told of the
        # fields of events.
        type Field (name: string, type: string, expected: ?string)

        # A state a system may be in, with the fields of its data; health is how the system
        # is in it, where its configuration says so: degraded or failed.
        type StateType (name: string, fields: []Field, health: ?string)

        # An event a system understands, with the fields of its data.
        type EventType (name: string, fields: []Field)

        # The state a system is in: its name, and the value of each field. cut says that there is
        # more data than is told: a watch tells all of it.
        type State (name: string, data: [string]object, cut: ?bool)

        # What a system has counted since the daemon has it: events taken, transitions made,
        # events no transition handled, events dropped by a full mailbox, faults, and how
        # often it was restarted and reset.
        type Counters (
          events: int,
          transitions: int,
          unhandled: int,
          dropped: int,
          faults: int,
          restarts: int,
          resets: int
        )

        # That a system is paused: since when, and by whom, a user's number and name.
        type Pause (since: string, uid: int, user: ?string)

        # A system at a glance; since is when its state was entered. healthSince is since
        # when it has been healthy or not, healthReason why it is not, healthReasonSince since
        # when for that reason. waiting counts the events in its mailbox, waitingBytes the data
        # of those that hold more than 1 KiB.
        type SystemSummary (
          name: string,
          description: ?string,
          health: Health,
          healthSince: ?string,
          healthReason: ?string,
          healthReasonSince: ?string,
          state: State,
          since: string,
          counters: Counters,
          effectsRunning: int,
          effectsWaiting: int,
          begins: ?string,
          waiting: int,
          waitingBytes: int,
          paused: ?Pause
        )

        # From one state to another on an event; "any" stands for every state or event.
        type Transition (from: string, event: string, to: string, condition: ?string)

        # What a feedback emits when its side effect comes to an outcome.
        type FeedbackOutcome (outcome: string, event: string, condition: ?string)

        # A feedback: on which state it runs which side effect, what becomes of a run that
        # is asked for while another still runs (mode), how many are at work now,
        # how many wait for their time or their turn, when the next one does by its
        # schedule, while that is waited for, and which outcomes emit which events.
        type FeedbackSummary (
          name: string,
          onState: string,
          strategy: string,
          mode: string,
          effect: string,
          running: int,
          waiting: int,
          next: ?string,
          outcomes: []FeedbackOutcome
        )

        # What is done when something in a system has failed; see "supervision" in the
        # guide to the configuration.
        type Supervision (
          onFault: string,
          delay: string,
          maxDelay: string,
          limit: string,
          beyond: string
        )

        # The states in which a system is ready, how long it may take to reach one, and
        # what is done about it otherwise, in the words of onFault.
        type Readiness (states: []string, within: ?string, otherwise: string)

        # Systems that belong together when one of them fails; strategy is one, all or
        # rest.
        type GroupSummary (name: string, strategy: string, systems: []string)

        # What an instance of a template or kind is given, or what that is by default. One that is
        # concealed comes from a credential or from the environment, and has no value here.
        type Parameter (name: string, type: string, value: ?object, concealed: bool)

        # How many events may wait, and what becomes of those beyond that.
        type Mailbox (limit: int, overflow: string)

        # Everything about a system; source is the file and line it is written in, template
        # the template of which it is an instance, and instanceParameters what it is given
        # then; kind is the kind of which it is an instance, if it is written in Swift, and
        # parameters what it is given then; links are the names of the links that touch it;
        # unhandled is what becomes of an event that its state does not handle: ignore, warn
        # or fault.
        type SystemDescription (
          summary: SystemSummary,
          source: ?string,
          template: ?string,
          instanceParameters: ?[]Parameter,
          kind: ?string,
          parameters: ?[]Parameter,
          states: []StateType,
          events: []EventType,
          initialState: string,
          transitions: []Transition,
          feedbacks: []FeedbackSummary,
          links: []string,
          lastFault: ?string,
          lastFaultTime: ?string,
          supervision: Supervision,
          group: ?GroupSummary,
          ready: ?Readiness,
          watchdog: ?string,
          unhandled: ?string,
          mailbox: ?Mailbox
        )

        # A bus at a glance. value and since are there when it remembers a value; cut says that
        # value is only its beginning, and that a watch tells all of it.
        # readers and writers are the links that take from it and give to it.
        type BusSummary (
          name: string,
          description: ?string,
          kind: BusKind,
          valueType: string,
          value: ?object,
          cut: ?bool,
          since: ?string,
          published: int,
          dropped: int,
          readers: int,
          writers: int
        )

        # Everything about a bus. fields is empty when its value is a scalar; limit is
        # how many values may wait in it, overflow what happens to those beyond; fromOutside is
        # what other programs are said to do with it: write, read or both.
        type BusDescription (
          summary: BusSummary,
          source: ?string,
          fields: []Field,
          limit: int,
          overflow: string,
          links: []string,
          fromOutside: ?string
        )

        # How a link came about: by what is written, or by a change that is in no file.
        type LinkOrigin (written, attached, changed)

        # A link at a glance; description is one line for people. It is open while it is
        # held back, because it would fire more often than its loop may, or for what has
        # come over too many links; dropped counts.
        type LinkSummary (
          name: string,
          form: LinkForm,
          system: string,
          bus: ?string,
          toSystem: ?string,
          description: string,
          fired: int,
          lastFired: ?string,
          open: bool,
          dropped: int,
          origin: LinkOrigin
        )

        # Everything about a link: its condition and what it emits, as written; the limit of
        # its loop, such as 10 per 1s, and over how many links at most that may have come for
        # which it fires; and why it is open, if it is.
        type LinkDescription (
          summary: LinkSummary,
          source: ?string,
          condition: ?string,
          emits: string,
          limit: ?string,
          hops: ?int,
          openBecause: ?string
        )

        # What a step of a plan is about.
        type PartKind (system, bus, link, group, access, limits)

        # What becomes of a part: a system is kept, migrated (begins anew in the state in
        # which it is), restarted, added or removed; a bus, a link, a group, or who may do
        # what, kept, changed, added or removed.
        type Fate (keep, migrate, restart, change, add, remove)

        # What value a bus that remembers has afterwards: its present or its first one.
        type ValueFate (keep, initial)

        # In which way a part of a definition differs: only the new definition has it, only the
        # old one has it, or it means something else.
        type ChangeOfPart (added, removed, changed)

        # A part of a definition that differs between what runs and what is written, such as
        # state Full, feedback measure, transition any: Measured or when. old and new say
        # where it is written, as file:line:column, if it has a place of its own.
        type PartChange (part: string, change: ChangeOfPart, old: ?string, new: ?string)

        # What becomes of one part; ending names the feedbacks whose side effects are to end.
        # changes are the first 16 parts in which its definition differs, where that is why;
        # moreChanges counts the others.
        type PlanStep (
          kind: PartKind,
          name: string,
          fate: Fate,
          value: ?ValueFate,
          reason: ?string,
          ending: []string,
          changes: []PartChange,
          moreChanges: int
        )

        # What else plays a part in a finding, such as a hop of a loop, and where.
        type FindingNote (file: string, line: int, column: int, message: string)

        # Something that is wrong, or doubtful, in a configuration; severity is error or
        # warning, hint what would be right. file, line, column and length say where, in
        # characters from 1, and location does so as file:line:column; excerpt is the line.
        # text is all of it, as it is printed.
        type Finding (
          severity: string,
          code: string,
          location: ?string,
          file: ?string,
          line: ?int,
          column: ?int,
          length: ?int,
          message: string,
          hint: ?string,
          excerpt: ?string,
          notes: ?[]FindingNote,
          text: string
        )

        # How the last reload, or change of a link, ended: whether it was applied, and what
        # it did or why not. link names the link, if it was a change of one.
        type ReloadVerdict (time: string, applied: bool, summary: string, link: ?string)

        # A reload, or the change of a link, that is under way: since when, of which link,
        # and how many others wait for their turn behind it.
        type ChangeUnderway (since: string, link: ?string, waiting: int)

        # The systems and buses into which somebody may inject, by patterns of their names.
        type InjectionTargets (systems: []string, buses: []string)

        # How many reloads and changes of links were applied and rejected since the start.
        type ReloadCounters (applied: int, rejected: int)

        # What kind of change there is of a link that is in no file: the link is there only
        # because of it, some keys of a written link are other ones, or it is taken away.
        type ChangeKind (attached, changed, detached)

        # A change of a link that is in no file; text is what a drop-in would say, in YAML.
        type TransientChange (link: string, kind: ChangeKind, text: string)

        # A key of a link with its new value in YAML; nothing removes the key. Keys within
        # keys are joined by points, such as emitEvent.Ring.by.
        type Setting (key: string, value: string)

        # A file with all of its text; or one that had nothing left to say, and was removed.
        type WrittenFile (path: string, text: string, removed: bool)

        # The daemon as a whole, and every system at a glance. configuration lists the
        # directories it was read from; generation counts the configurations that have run,
        # the first one included; transient counts the changes that are in no file. rights
        # are those of the caller; injectInto says into which systems and on which buses
        # only, if not everywhere. underway is a reload or change that is not over.
        method Status() -> (
          version: string,
          pid: int,
          started: string,
          health: Health,
          statusText: string,
          configuration: []string,
          generation: int,
          underway: ?ChangeUnderway,
          reload: ?ReloadVerdict,
          reloads: ReloadCounters,
          transient: int,
          systems: []SystemSummary,
          buses: int,
          links: int,
          rights: []Right,
          injectInto: ?InjectionTargets
        )

        # Every system, by name.
        method ListSystems() -> (systems: []SystemSummary)

        # One system in full.
        method DescribeSystem(name: string) -> (system: SystemDescription)

        # Every bus, by name.
        method ListBuses() -> (buses: []BusSummary)

        # One bus in full.
        method DescribeBus(name: string) -> (bus: BusDescription)

        # Every link, by name.
        method ListLinks() -> (links: []LinkSummary)

        # One link in full.
        method DescribeLink(name: string) -> (link: LinkDescription)

        # The state of a system. With 'more': the present state first (replayed), then
        # every change; ends with the error WatchEnded. previous is the name of the state
        # before, event and eventData what brought the change. dropped says how many
        # changes this watcher missed just before this one, because it read too slowly.
        method WatchSystem(name: string) -> (
          time: string,
          replayed: bool,
          state: State,
          previous: ?string,
          event: ?string,
          eventData: ?[string]object,
          dropped: int
        )

        # The values of a bus. With 'more': a currentValue bus answers with its value
        # first (replayed), then with every value; a passthrough bus answers nothing until
        # a value comes, and must be called with 'more'. Ends with the error WatchEnded.
        # dropped says how many values this watcher missed just before this one.
        method WatchBus(name: string) -> (
          time: string,
          replayed: bool,
          value: ?object,
          dropped: int
        )

        # Sends an event to a system; data has every field the event declares, but may
        # leave out what is optional. Answers when the event lies in the mailbox of the
        # system. time is from just before: what came of the event is not older.
        method Emit(system: string, event: string, data: ?[string]object) -> (
          time: ?string
        )

        # Publishes a value on a bus. Answers when it has been handed to the bus, and time is
        # from just before: what came of the value is not older.
        method Publish(bus: string, value: object) -> (time: ?string)

        # Ends a system and begins it anew in its initial state, also one that has ended on
        # account of faults; others of its group go on. Answers when it has begun.
        method RestartSystem(name: string) -> ()

        # Sends a system to its initial state before it takes another event. What waits for
        # it stays, as do side effects that continue on a new state.
        method ResetSystem(name: string) -> ()

        # Every figure of the daemon, its systems, feedbacks, buses and links, in Prometheus'
        # text format (version 0.0.4).
        method ReadMetrics() -> (text: string)

        # Compares what runs with what is written, and changes nothing. directory is read
        # instead of the daemon's own. A configuration with errors has no steps. At most
        # 200 findings are told; errors and warnings count all. transient names the links
        # whose changes, which are in no file, would stay in force on top of what is written;
        # with dropTransient they do not. With all, what is kept has steps, too.
        method Plan(directory: ?string, dropTransient: ?bool, all: ?bool) -> (
          valid: bool,
          summary: string,
          steps: []PlanStep,
          errors: int,
          warnings: int,
          findings: []Finding,
          transient: []string
        )

        # Makes what runs into what is written. If applied is false nothing has changed,
        # and findings or summary tell why. late names the new, migrated and
        # restarted systems that were not ready in time, or are failed, and lateReasons tells
        # of each how it is, and why; leftBehind names the old ones whose side effects did not
        # end in time. Changes of links that are in no file stay in force unless dropTransient forgets them;
        # transient names the links. With all, what is kept has steps, too.
        method Reload(dropTransient: ?bool, all: ?bool) -> (
          applied: bool,
          generation: int,
          summary: string,
          steps: []PlanStep,
          errors: int,
          warnings: int,
          findings: []Finding,
          late: []string,
          lateReasons: [string]string,
          leftBehind: []string,
          transient: []string
        )

        # The changes of links that are in no file, by link.
        method ListChanges() -> (changes: []TransientChange)

        # Adds a link: definition is what would stand under links, in YAML or JSON, in which
        # settings are set. Without both, a link that was detached is as it is written.
        # What else is written on disk by now is not looked at. The change is in no file and
        # ends with the daemon, unless persist writes it into one. With dryRun nothing is
        # done. If applied is false nothing has changed; if changed is false there was
        # nothing to do. findings has the errors, and the warnings that there were not
        # before; file is what was written, or would be. With all, what is kept has steps,
        # too.
        method AttachLink(
          link: string,
          definition: ?string,
          settings: []Setting,
          persist: ?bool,
          dryRun: ?bool,
          all: ?bool
        ) -> (
          valid: bool,
          applied: bool,
          changed: bool,
          generation: int,
          summary: string,
          steps: []PlanStep,
          errors: int,
          warnings: int,
          findings: []Finding,
          late: []string,
          lateReasons: [string]string,
          transient: []string,
          file: ?WrittenFile
        )

        # Takes a link away, as AttachLink adds one.
        method DetachLink(link: string, persist: ?bool, dryRun: ?bool, all: ?bool) -> (
          valid: bool,
          applied: bool,
          changed: bool,
          generation: int,
          summary: string,
          steps: []PlanStep,
          errors: int,
          warnings: int,
          findings: []Finding,
          late: []string,
          lateReasons: [string]string,
          transient: []string,
          file: ?WrittenFile
        )

        # Sets keys of a link, as AttachLink adds one. With persist and without settings,
        # what was changed of it before is written.
        method SetLink(
          link: string,
          settings: []Setting,
          persist: ?bool,
          dryRun: ?bool,
          all: ?bool
        ) -> (
          valid: bool,
          applied: bool,
          changed: bool,
          generation: int,
          summary: string,
          steps: []PlanStep,
          errors: int,
          warnings: int,
          findings: []Finding,
          late: []string,
          lateReasons: [string]string,
          transient: []string,
          file: ?WrittenFile
        )

        # The files that the configuration that runs was made of, as they were then, with
        # the changes that are in no file on top; must be called with 'more', and answers
        # once for each. owner is the file that a drop-in changes; path is missing if there
        # is no file at all.
        method ReadConfiguration() -> (
          path: ?string,
          owner: ?string,
          text: string,
          transient: bool
        )

        # Pauses a system: it takes no event and begins no side effect until it is resumed,
        # restarted or replaced; what comes waits in its mailbox, whose limit holds. changed
        # is false if it was paused already.
        method PauseSystem(name: string) -> (changed: bool)

        # Lets a system go on. changed is false if it was not paused.
        method ResumeSystem(name: string) -> (changed: bool)

        # What this daemon knows besides what every one does: kinds of systems that are written
        # in Swift, and side effects of its own. document is what it prints with --print-kinds.
        method DescribeKinds() -> (document: object)

        # The levels of the log, from the least grave.
        type LogLevel (trace, debug, info, notice, warning, error, critical)

        # What is logged: events of level and graver ones; given is the level with which
        # the daemon was started.
        method ReadLogLevel() -> (level: LogLevel, given: LogLevel)

        # Says what is logged from now on, until the daemon ends; without level, what was
        # given at its start.
        method SetLogLevel(level: ?LogLevel) -> (level: LogLevel, given: LogLevel)

        # What a step of a story is: a system entered a state on an event; a link, or a
        # feedback, sent that; a bus got a value. A story ends with the clock (tick), a client,
        # the daemon's own program, the start, a reload, a restart of the daemon over which state
        # or value were kept (restored), a fault, the first value of a bus, or inside a system
        # that is written in Swift. After a migration the story of the system before it goes on.
        type CauseKind (
          state,
          event,
          link,
          value,
          feedback,
          tick,
          inside,
          client,
          program,
          start,
          reload,
          migration,
          restored,
          fault,
          firstValue
        )

        # A step of the story why a system is in its state. value is that of the bus, or the
        # result of the side effect; data is that of the state or the event. Either is left
        # out where it is longer than 4096 bytes. sent is when the event was sent, where it
        # waited for a second or longer before it was taken. previous is, of a state, the state
        # that was left for it. replayed: the bus had the value already when
        # the link was shown it. text is the same in words, without the time.
        type CauseHop (
          kind: CauseKind,
          time: ?string,
          system: ?string,
          state: ?string,
          previous: ?string,
          event: ?string,
          data: ?[string]object,
          link: ?string,
          bus: ?string,
          value: ?object,
          feedback: ?string,
          outcome: ?string,
          sent: ?string,
          who: ?string,
          replayed: bool,
          text: string
        )

        # Why a system is in its state: what happened, the latest first, back to what came from
        # outside, across systems, links, buses and side effects. cut says that what came
        # before the last step is no longer kept.
        method Why(name: string) -> (hops: []CauseHop, cut: bool)

        # A transition on an event, as it is written. holds is missing where it cannot be told,
        # since it depends on data of the event that is not given, or does not matter. It
        # fails if its condition does, or the set of a field of the new state; fieldReason
        # tells of that, or, if nothing fails, on what the set of field depends.
        type Candidate (
          from: string,
          event: string,
          to: string,
          condition: ?string,
          source: string,
          holds: ?bool,
          fails: bool,
          reason: ?string,
          field: ?string,
          fieldReason: ?string
        )

        # What sends an event: a link, or a feedback of the system itself.
        type SenderKind (link, feedback)

        # What would send an event, what stands in its way now, and what it waits for.
        type Sender (
          kind: SenderKind,
          name: string,
          description: string,
          source: string,
          reasons: []string,
          waits: string
        )

        # What stands in the way of an event of a system, and of what would send it. Nothing is
        # sent. data has the fields of the event that are known. obstacle is why the system
        # takes no events at all; transitions are those of its state on this event, in the order
        # in which they are tried, and otherStates the states that have some. opaque: nothing is
        # known of its transitions, since it is written in Swift and does not list them.
        # unknownSenders names the feedbacks that are written in Swift and have not sent the
        # event since the system began: whether they may is not known. detached names the links
        # that are detached, whatever they would send. Data that Emit would not take is an
        # InvalidValue here too.
        method WhyNot(name: string, event: string, data: ?[string]object) -> (
          state: State,
          since: string,
          obstacle: ?string,
          transitions: []Candidate,
          otherStates: []string,
          opaque: bool,
          senders: []Sender,
          unknownSenders: []string,
          detached: []string
        )

        # What a step of a trace is.
        type TraceKind (
          began,
          transition,
          stay,
          unhandled,
          dropped,
          fault,
          run,
          skipped,
          paused,
          resumed
        )

        # A condition that was looked at, and its operands with their values.
        type TraceGuard (condition: string, source: string, holds: bool, reason: string)

        # What a side effect has reported, and when; text is the same in words, without the
        # time. retried: it was made again on account of that, which led to no event.
        type TraceOutcome (
          name: string,
          result: ?[string]object,
          time: string,
          retried: ?bool,
          text: string
        )

        # Something that a system did: it began, or took an event (event, data) in a state, and
        # entered another one or not; it did not take an event; something failed; a side effect
        # of a feedback ran from time to ended, and reported outcomes, and more before these, or
        # was not begun, since one ran (skipped);
        # somebody paused or resumed it.
        # Data that is longer than 4096 bytes is left out. text is the same in words, without
        # the time and the conditions.
        type TraceStep (
          kind: TraceKind,
          time: string,
          ended: ?string,
          state: ?State,
          event: ?string,
          data: ?[string]object,
          entered: ?State,
          guards: []TraceGuard,
          feedback: ?string,
          outcomes: []TraceOutcome,
          more: int,
          reason: ?string,
          text: string
        )

        # What a system did of late, the oldest first, side effects by their last outcome: the
        # last 32 steps, and 32 from before that were no mere repetitions; of repetitions in
        # a row only the last. limit: no more
        # than so many, the last ones.
        method Trace(name: string, limit: ?int) -> (steps: []TraceStep)

        # What is told of a watch: a system is in a state, a value came on a bus, a link has
        # fired; a part is new or has begun anew, or has ended; some changes were left out;
        # all that was chosen is watched from here on.
        type WatchTopic (state, value, fired, began, ended, leftOut, watching)

        # Watches systems, buses and links at once; must be called with 'more'. A pattern is
        # a name in which * stands for any letters and ? for one, if need be behind system:,
        # bus: or link:; no pattern is everything. where is an expression that must hold of
        # state and stateName of a system, value of a bus, value of a link; each has name
        # and eventName. A part whose types do not fit it is left out. Present states and
        # values come first (replayed), then every change, also of parts that are new or
        # begin anew. With limit, no more changes than that are told in each period (such
        # as 1s), and leftOut then says how many were not. dropped says how many changes
        # this watcher missed just before this one. Ends with the error WatchEnded.
        # With announce, the first reply of all is watching: whatever happens to the parts
        # after it was sent is told, also of a part that has nothing to show yet. What a
        # reload brings is watched soon after it is in force.
        method Watch(
          patterns: []string,
          where: ?string,
          limit: ?int,
          period: ?string,
          announce: ?bool
        ) -> (
          time: string,
          topic: WatchTopic,
          kind: ?PartKind,
          name: ?string,
          replayed: bool,
          state: ?State,
          previous: ?string,
          event: ?string,
          eventData: ?[string]object,
          value: ?object,
          dropped: int,
          leftOut: ?int
        )

        # There is no system of this name; nearest is the most similar one.
        error NoSuchSystem (name: string, nearest: ?string)

        # There is no bus of this name.
        error NoSuchBus (name: string, nearest: ?string)

        # There is no link of this name.
        error NoSuchLink (name: string, nearest: ?string)

        # There is another link of this name already.
        error LinkExists (name: string)

        # The link is written, but was detached: AttachLink brings it back.
        error LinkDetached (name: string)

        # What keeps something from being accepted: the system's mailbox is full; it is not started,
        # is being restarted, or has ended on account of a fault; it, or the daemon, is being stopped.
        type Obstacle (full, notStarted, restarting, ended, stopping, tooLarge, other)

        # The link exists once for each instance of a template; only all of them can be
        # changed at once, by the name in link.
        error LinkOfInstances (name: string, link: string)

        # The change cannot be written into the file, and was not made. winner is a file
        # that would say otherwise of the link nevertheless.
        error CannotPersist (path: string, reason: string, winner: ?string)

        # The system does not understand this event.
        error NoSuchEvent (system: string, event: string, nearest: ?string)

        # A value is not of the declared type, or not what a kind's event may carry; path says
        # which.
        error InvalidValue (path: string, expected: string, message: string)

        # What was sent is well formed, but could not be taken: obstacle says what stands in the
        # way, for programs, and reason in words.
        error NotAccepted (name: string, obstacle: Obstacle, reason: string)

        # There will be no more replies to a watch: what it watched began anew or was
        # removed, or the daemon is stopping.
        error WatchEnded (name: string, reason: string)

        # The daemon is being stopped, and what was asked for was not carried through: nothing
        # of what was asked for runs when it has ended.
        error Stopping ()

        # The reply would be longer than the limit, in bytes; most of it is the part.
        error ReplyTooLarge (limit: int, part: string)

        # The daemon is at fault; its log says more.
        error InternalError (message: string)

        """

    /// The qualified name of a method or an error of this interface.
    public static func qualified(_ member: String) -> String { "\(name).\(member)" }
}
