import CommonExpression

extension CalendarParser {
    /// `*`, or `1,3..7/2`; an empty list is anything.
    mutating func chain(_ place: Place) throws(CalendarProblem) -> Chain {
        let start = position
        if takes("*") {
            if peeks("/") {
                throw unexpected("the end of '*'", hint: "write 0/2 for every other one, or 1/2 for days and months")
            }
            let any = Component(start: 0, step: 1_000_000)
            return Chain(components: place.isSeconds ? [(any, start..<position)] : [], range: start..<position)
        }
        var chain = Chain(range: start..<start)
        repeat {
            let first = position
            guard chain.components.count < CalendarExpression.mostComponents else {
                throw CalendarProblem(
                    "there are more than \(CalendarExpression.mostComponents) values in one place", at: start..<position
                )
            }
            var component = Component(start: try number(place))
            if takes("..") {
                component.stop = try number(place)
                component.step = place.isSeconds ? 1_000_000 : 1
            }
            if takes("/") {
                let number = position
                component.step = try self.number(place)
                guard component.step > 0 else {
                    throw CalendarProblem("a repetition cannot be 0", at: number..<position)
                }
            }
            chain.components.append((component, first..<position))
        } while takes(",")
        chain.range = start..<position
        return chain
    }

    /// A number; seconds are in microseconds, and rounded to these.
    private mutating func number(_ place: Place) throws(CalendarProblem) -> Int64 {
        guard !isAtEnd, Self.isDigit(bytes[position]) else { throw unexpected("a number", hint: misplacedDay) }
        let start = position
        var value: Int64 = 0
        while !isAtEnd, Self.isDigit(bytes[position]) {
            guard position - start < Self.longestNumber else {
                throw CalendarProblem("this number is too large", at: start..<position + 1)
            }
            value = value * 10 + Int64(bytes[position] - 0x30)
            position += 1
        }
        guard place.isSeconds else { return value }
        value *= 1_000_000
        // One point is a decimal point, two are a range.
        guard peeks("."), !peeks("..") else { return value }
        position += 1
        guard !isAtEnd, Self.isDigit(bytes[position]) else { throw unexpected("a digit") }
        var unit: Int64 = 100_000
        while !isAtEnd, Self.isDigit(bytes[position]), unit > 0 {
            value += Int64(bytes[position] - 0x30) * unit
            unit /= 10
            position += 1
        }
        if !isAtEnd, (0x35...0x39).contains(bytes[position]) { value += 1 }
        while !isAtEnd, Self.isDigit(bytes[position]) { position += 1 }
        return value
    }

    /// The list in order and without duplicates. Each value lies within the bounds of its place.
    func normal(_ chain: Chain, _ place: Place) throws(CalendarProblem) -> [Component] {
        var components: [Component] = []
        for (component, range) in chain.components {
            let component = Self.normal(component)
            try check(component, place, at: range)
            components.append(component)
        }
        components.sort()
        return components.enumerated().filter { $0.offset == 0 || components[$0.offset - 1] != $0.element }.map(
            \.element)
    }

    /// A range ends with its last value. A range of one value becomes that value.
    static func normal(_ written: Component) -> Component {
        guard var stop = written.stop else { return written }
        var component = written
        if stop > component.start, component.step > 0 { stop -= (stop - component.start) % component.step }
        component.stop = stop
        return component.start == stop ? Component(start: component.start) : component
    }

    private func check(_ component: Component, _ place: Place, at range: Range<Int>) throws(CalendarProblem) {
        func fail(_ message: String, hint: String? = nil, reason: String? = nil) -> CalendarProblem {
            CalendarProblem(message, at: range, hint: hint, reason: reason)
        }
        for value in [component.start, component.stop ?? component.start] where !place.range.contains(value) {
            let (first, last) = (place.text(place.range.lowerBound), place.text(place.range.upperBound))
            let reason = "the \(place.name) is from \(first) to \(last)"
            throw fail("\(reason), not \(place.text(value))", reason: reason)
        }
        if let stop = component.stop, stop < component.start {
            throw fail("this range ends before it begins", hint: "write two, such as 22..23,0..5")
        }
        guard component.step > 0 else { return }
        let isWithin =
            if let stop = component.stop {
                component.start + component.step <= stop
            } else if place.name == Place.dayFromEnd.name {
                component.start - component.step >= place.range.lowerBound
            } else {
                component.start + component.step <= place.range.upperBound
            }
        guard isWithin, component.step <= place.range.upperBound - place.range.lowerBound else {
            throw fail("the repetition leads out of the \(place.name)s, so that there would be none")
        }
    }
}
