/// The links at each system and bus, by their indices, in order.
struct Joints: Sendable {
    /// By system, those attached to it: they look at its states, or bring it events from a bus.
    let attached: [[Int]]
    /// By system, those from other systems that bring it events.
    let targeting: [[Int]]
    /// By bus, those that put values on it.
    let writers: [[Int]]
    /// By bus, those that take values from it.
    let readers: [[Int]]
    /// Those with a limit of loops written on them.
    let limited: [Int]

    /// The joints of a whole. Linear.
    init(of whole: AnalysedConfiguration) {
        var attached = Array(repeating: [Int](), count: whole.systems.count)
        var targeting = attached
        var writers = Array(repeating: [Int](), count: whole.buses.count)
        var readers = writers
        var limited: [Int] = []
        for (index, link) in whole.links.enumerated() {
            attached[link.definition.system].append(index)
            switch link.definition.form {
            case .systemToBus(let bus, _, _): writers[bus].append(index)
            case .busToSystem(let bus, _, _): readers[bus].append(index)
            case .systemToSystem(let target, _, _): targeting[target].append(index)
            }
            if link.written.loopKey != nil { limited.append(index) }
        }
        self.attached = attached
        self.targeting = targeting
        self.writers = writers
        self.readers = readers
        self.limited = limited
    }
}
