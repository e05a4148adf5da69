import CommonExpression

/// Buses and links that exist once for each instance of a template.
extension InstanceTable {
    /// One of the buses that a written one stands for.
    struct Bus {
        var bus: WrittenBus
        var constants = InstanceConstants()
        /// The instance it is for.
        var instance: String?
        /// A Boolean value that indicates whether something is wrong with that, so that nothing is known of the bus but
        /// its name.
        var isBroken = false
    }

    /// The buses that one stands for: `NAME@*` for each instance of the template that it names, else itself.
    func expanded(_ bus: WrittenBus) -> [Bus] {
        guard let each = bus.each else {
            // The missing template has been reported.
            return InstanceName(bus.name.text)?.isEvery == true ? [] : [Bus(bus: bus)]
        }
        guard InstanceName(each.text)?.isEvery == true else {
            context.diagnostics.report(
                .invalidName, in: bus.source, at: each.span, "'\(each.text.prefix(60))' is no template's instances",
                hint: "write the template's name and '*', such as uplink@*")
            return []
        }
        return (all(each, in: bus.source) ?? []).map { instance in
            var copy = bus
            copy.name = Self.naming(instance.written.instance, in: bus.name)
            return Bus(
                bus: copy, constants: instance.constants ?? InstanceConstants(), instance: instance.written.name.text,
                isBroken: instance.constants == nil)
        }
    }

    /// One of the links that a written one stands for.
    struct Link {
        var link: WrittenLink
        var constants = InstanceConstants()
        /// The instance it is for.
        var instance: String?
        /// A template that takes the place of the system of its name.
        var template: SystemScope?
        /// A Boolean value that indicates whether one has been checked for all.
        var isChecked = false
    }

    /// The links that a written one stands for.
    struct Links {
        /// One that is only checked, for all others, since they are alike but for their constants.
        var generic: Link?
        var links: [Link] = []
    }

    /// The links that a written one stands for. If `attach`, or else `toSystem`, is `NAME@*`, there is one link for
    /// each instance of that template, and `*` in the other names means the same instance. Returns nil if the link
    /// stands for itself.
    func expanded(_ link: WrittenLink) -> Links? {
        guard let every = Self.every(link) else { return nil }
        guard let instances = all(every, in: link.source), let name = InstanceName(every.text),
            let template = templates[name.template]
        else { return Links() }
        var links = Links()
        if Self.isAlike(link) {
            let constants = Self.constants("", template.parameters.sampleValue, template.parameters)
            links.generic = Link(link: Self.naming("", in: link), constants: constants, template: template.scope)
        }
        for instance in instances {
            guard let constants = instance.constants else { continue }
            let name = "\(Self.name(ofEach: link))@\(instance.written.instance)"
            links.links.append(
                Link(
                    link: Self.naming(instance.written.instance, in: link, as: name), constants: constants,
                    instance: instance.written.name.text,
                    isChecked: links.generic != nil))
        }
        return links
    }

    /// The name that the links for instances have in common.
    private static func name(ofEach link: WrittenLink) -> String { link.name.text.replacing("@/", with: "/") }

    /// The name whose instances a link is for.
    static func every(_ link: WrittenLink) -> Scalar? {
        if InstanceName(link.system.text)?.isEvery == true { return link.system }
        if case .systemToSystem(let target, _, _) = link.form, InstanceName(target.text)?.isEvery == true {
            return target
        }
        return nil
    }

    /// Returns whether every instance's link leads to or from the same.
    private static func isAlike(_ link: WrittenLink) -> Bool {
        switch link.form {
        case .systemToBus(let bus, _, _), .busToSystem(let bus, _, _): InstanceName(bus.text)?.isEvery != true
        case .systemToSystem(let target, _, _):
            InstanceName(link.system.text)?.isEvery != true || InstanceName(target.text)?.isEvery != true
        // Nobody knows where it leads.
        case .unclear: false
        }
    }

    /// A name with an instance in the place of `*`.
    private static func naming(_ instance: String, in name: Scalar) -> Scalar {
        guard let parts = InstanceName(name.text), parts.isEvery else { return name }
        return Scalar(text: parts.template + instance, style: name.style, span: name.span)
    }

    /// A link with an instance in the place of each `*`, perhaps by another name.
    private static func naming(_ instance: String, in link: WrittenLink, as name: String? = nil) -> WrittenLink {
        let form: WrittenLink.Form =
            switch link.form {
            case .systemToBus(let bus, let selector, let value):
                .systemToBus(bus: naming(instance, in: bus), selector: selector, value: value)
            case .busToSystem(let bus, let onValue, let event):
                .busToSystem(bus: naming(instance, in: bus), onValue: onValue, event: event)
            case .systemToSystem(let target, let selector, let event):
                .systemToSystem(target: naming(instance, in: target), selector: selector, event: event)
            case .unclear: link.form
            }
        return WrittenLink(
            source: link.source,
            name: Scalar(text: name ?? link.name.text, style: link.name.style, span: link.name.span),
            system: naming(instance, in: link.system),
            isSystemBroken: link.isSystemBroken, condition: link.condition, isConditionBroken: link.isConditionBroken,
            form: form, hasFrom: link.hasFrom, firesOnChange: link.firesOnChange, loop: link.loop,
            loopKey: link.loopKey, trigger: link.trigger)
    }
}
