import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// A channel for reports to a system. The system is made after the incarnation that reports to it.
final class ReportBox: Sendable {
    private let now: @Sendable () -> Timestamp

    /// - Parameter now: The function that returns the calendar time.
    init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    /// The receiver of the reports.
    private final class Receiver: Sendable {
        let receive: @Sendable (Report) -> Void
        let entered: Entered

        init(_ receive: @escaping @Sendable (Report) -> Void, _ entered: @escaping Entered) {
            self.receive = receive
            self.entered = entered
        }
    }

    private let receiver = Mutex<Receiver?>(nil)

    /// A report that an incarnation, given by its number, has entered or updated a state. The old state is `nil` at the start. This
    /// report is frequent, so it has its own function, which takes only the needed values.
    typealias Entered = @Sendable (SystemState, _ old: SystemState?, _ number: UInt64) -> Void

    /// A report of an incarnation, with the number of the incarnation.
    enum Report: Sendable {
        case fault(Fault, of: UInt64, isFailure: Bool)
        case traced(Happening, of: UInt64)
        case broke(LoopFault, of: UInt64)
        case wasReset(UInt64)
        /// The loop of a persisted system takes a reset, and ``hasReset(_:)`` follows when that has ended. Both together are
        /// ``wasReset(_:)``.
        case tookReset(UInt64)
        /// The reset of a persisted system has ended.
        case hasReset(UInt64)
        case ended(UInt64)
        /// The result of a feedback, with the stretch to which it belongs.
        case feedback(FeedbackReport, Standing.Stretch, of: UInt64)
        /// An event that may end conditions, unless their sources have just failed again.
        case ends(Conditions.Event, unless: Set<Conditions.Source>, of: UInt64)
    }

    /// A Boolean value that indicates whether rules or links have a condition. It is read at each event.
    let hasConditionOfState = Atomic(false)

    /// Sets the receiver. Must be called once.
    func connect(_ receive: @escaping @Sendable (Report) -> Void, entered: @escaping Entered) {
        let new = Receiver(receive, entered)
        receiver.withLock { $0 = new }
    }

    /// Returns the reports of an incarnation.
    func reports(of number: UInt64) -> Reports { Reports(self, of: number) }

    func tell(_ report: Report) {
        receiver.withLock { $0 }?.receive(report)
    }

    fileprivate func tellEntered(_ state: SystemState, _ old: SystemState?, of number: UInt64) {
        receiver.withLock { $0 }?.entered(state, old, number)
    }

    fileprivate var time: Timestamp { now() }
}

/// The reports of an incarnation to its system.
final class Reports: Sendable {
    private let box: ReportBox
    private let number: UInt64

    fileprivate init(_ box: ReportBox, of number: UInt64) {
        self.box = box
        self.number = number
    }

    /// Reports a fault.
    func fault(_ fault: Fault) { box.tell(.fault(fault, of: number, isFailure: false)) }

    /// Reports the result of a feedback.
    func feedback(_ report: FeedbackReport, _ stretch: Standing.Stretch) {
        box.tell(.feedback(report, stretch, of: number))
    }

    /// A Boolean value that indicates whether rules or links of the system have a condition.
    var hasConditionOfState: Bool { box.hasConditionOfState.load(ordering: .acquiring) }

    /// Reports an event that may end conditions.
    func end(_ event: Conditions.Event, unless again: Set<Conditions.Source>) {
        box.tell(.ends(event, unless: again, of: number))
    }

    /// Reports a state that was entered or updated in place. The old state is `nil` at the start.
    func entered(_ state: SystemState, _ old: SystemState?) { box.tellEntered(state, old, of: number) }

    /// Reports an event that changed nothing, with its time, and with the fault if a fault was the cause.
    func stayed(_ state: SystemState, _ event: SystemEvent, _ time: Timestamp, _ fault: Fault?) {
        happened(Happening(.stayed, state.record, event, at: time, fault))
    }

    /// Reports an event that was not handled.
    func unhandled(_ state: SystemState, _ event: SystemEvent) {
        happened(Happening(.unhandled, state.record, event, at: box.time))
    }

    /// Reports a dropped event.
    func dropped(_ event: SystemEvent, _ reason: DropReason) {
        happened(Happening(.dropped(reason), nil, event, at: box.time))
    }

    /// Reports a side effect that has ended or was not begun.
    func happened(_ happening: Happening) { box.tell(.traced(happening, of: number)) }

    /// Reports the fault of an event that the system must handle and did not.
    func failed(_ fault: Fault) { box.tell(.fault(fault, of: number, isFailure: true)) }

    /// Reports a failure of the loop, which is being cancelled.
    func broke(_ fault: LoopFault) { box.tell(.broke(fault, of: number)) }

    /// Reports that the loop takes a reset. The reset itself may still fail.
    func wasReset() { box.tell(.wasReset(number)) }

    /// Reports that no part of the incarnation still runs.
    func ended() { box.tell(.ended(number)) }
}
