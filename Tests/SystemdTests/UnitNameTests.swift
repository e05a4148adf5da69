import Systemd
import Testing

@Suite struct `The object of a unit` {
    /// The paths that `busctl tree org.freedesktop.systemd1` shows.
    private static let names = [
        ("nginx.service", "nginx_2eservice"),
        ("getty@tty1.service", "getty_40tty1_2eservice"),
        ("dev-disk-by\\x2duuid.device", "dev_2ddisk_2dby_5cx2duuid_2edevice"),
        ("-.mount", "_2d_2emount"),
        ("9p.service", "_39p_2eservice"),
        ("a9_b:c.slice", "a9_5fb_3ac_2eslice"),
        ("ü.service", "_c3_bc_2eservice"),
        ("", "_"),
    ]

    @Test(arguments: names)
    func `has a path in which everything except letters and digits is escaped`(name: String, label: String) {
        let path = "/org/freedesktop/systemd1/unit/" + label
        #expect(UnitName.objectPath(name) == path)
        #expect(UnitName.name(ofObject: path) == name)
    }

    @Test(arguments: ["/org/freedesktop/systemd1/job/1", "", "_2", "_zz", "_ff"])
    func `has no name if the path is not a unit's`(label: String) {
        let path = label.hasPrefix("/") ? label : "/org/freedesktop/systemd1/unit/a\(label)"
        #expect(label.isEmpty ? UnitName.name(ofObject: path) == "a" : UnitName.name(ofObject: path) == nil)
    }
}
