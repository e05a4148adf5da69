import CommonExpression
import Glibc
import MediatorConfiguration
import Synchronization
import Testing
import TestSupport

extension `Changes of links that are in no file` {
    @Test func `a new link goes into a file of its own, a change into a drop-in`() throws {
        var layer = try layer(
            Self.attach("more", Self.definition), Self.set("tell", ("emitValue", "x"), ("when", "state.n > 1")),
            Self.detach("dim"))
        let wanted = try graph(layer)
        var files = [Self.file]
        for (link, path) in [
            ("more", "90-mediatorctl.yaml"), ("tell", "lamp.yaml.d/90-mediatorctl.yaml"),
            ("dim", "lamp.yaml.d/90-mediatorctl.yaml"),
        ] {
            let file = try persisted(layer, link, files)
            #expect(file.path == "/etc/m/\(path)")
            #expect(file.layer.kind(ofLink: link) == nil)
            (layer, files) = (file.layer, file.files)
            #expect(try graph(layer, files).means(wanted))
        }
        #expect(layer.links == [])
        #expect(
            files.last.map { String(decoding: $0.contents, as: UTF8.self) } == """
                # Written by mediatorctl: links that were changed while mediatord ran.
                # The next such change overwrites this file. Put your own text into another one.
                # A test.
                links:
                  more:
                    attach: lamp
                    to: light
                    onState: Off
                    emitValue: dark

                """)
        // A later change is written into the same files.
        for change in [
            Self.set("more", ("emitValue", "y")), Self.set("tell", ("when", "")),
            Self.attach("dim", "{attach: lamp, to: levels, emitEvent: Press}"),
            Self.detach("more"),
        ] {
            layer = try layer.applying(change, to: files)
            let wanted = try graph(layer, files)
            let file = try persisted(layer, change.link, files)
            #expect(file.previous != nil)
            (layer, files) = (file.layer, file.files)
            #expect(try graph(layer, files).means(wanted), "\(change)")
            #expect(layer.links == [])
        }
        #expect(try layer.persisting("tell", in: "/etc/m", files: files, remark: "") == nil)
    }

    @Test func `what was detached for good comes back as it is written`() throws {
        let again = LinkChange(link: "dim", action: .attachAgain)
        var layer = try layer(Self.detach("dim"), Self.detach("tell"))
        var files = [Self.file]
        for link in ["dim", "tell"] {
            let file = try persisted(layer, link, files)
            (layer, files) = (file.layer, file.files)
        }
        #expect(try graph(layer, files).links.isEmpty)
        #expect(throws: LinkChangeError.detached("dim")) {
            try layer.applying(Self.set("dim", ("when", "value > 9")), to: files)
        }
        #expect(try layer.applying(Self.detach("dim"), to: files).says(layer, ofLink: "dim"))
        #expect(throws: LinkChangeError.noSuchLink("dimm", nearest: "dim")) {
            try layer.applying(LinkChange(link: "dimm", action: .attachAgain), to: files)
        }

        // For the time being, and taken back.
        let present = try layer.applying(again, to: files)
        #expect(
            try graph(present, files).links.map(\.fingerprint) == [try graph(TransientLayer()).links[0].fingerprint])
        #expect(try present.applying(Self.detach("dim"), to: files).links == [])
        // Another than it was: what is other is written.
        let other = try present.applying(Self.set("dim", ("when", "value > 9")), to: files)
        let otherFile = try persisted(other, "dim", files)
        #expect(otherFile.text?.hasSuffix("links:\n  dim:\n    when: value > 9\n  tell: null\n") == true)
        #expect(try graph(otherFile.layer, otherFile.files).means(graph(other, files)))

        // For good: with the last of them the file goes.
        for link in ["dim", "tell"] {
            layer = try layer.applying(LinkChange(link: link, action: .attachAgain), to: files)
            let file = try persisted(layer, link, files)
            #expect((file.text == nil) == (link == "tell"))
            (layer, files) = (file.layer, file.files)
        }
        #expect(files == [Self.file] && layer.links == [])
    }

    @Test func `what comes later than what is written is known`() throws {
        var file = Self.file
        for (name, text) in [
            ("10", "tell: {}"), ("95", "tell: { emitValue: a }"), ("96", "dim: {}"), ("99", "tell: {}"),
        ] {
            file.dropIns.append(
                ConfigurationFile(path: "/etc/m/lamp.yaml.d/\(name)-x.yaml", text: "links: { \(text) }"))
        }
        let layer = try layer(Self.set("tell", ("emitValue", "b")), over: [file])
        #expect(
            try persisted(layer, "tell", [file]).overriding == [
                "/etc/m/lamp.yaml.d/95-x.yaml", "/etc/m/lamp.yaml.d/99-x.yaml",
            ])
    }

    @Test func `what somebody else has written is left alone`() throws {
        for text in ["links: {}", "# Written by mediatorctl\nlinks: {}\nbuses: {}", "# Written by mediatorctl\n- a"] {
            let foreign = ConfigurationFile(path: "/etc/m/90-mediatorctl.yaml", text: text)
            let layer = try layer(Self.attach("more", Self.definition))
            #expect(throws: PersistError.self) { try persisted(layer, "more", [Self.file, foreign]) }
        }
        let lower = ConfigurationFile(path: "/usr/m/90-mediatorctl.yaml", text: "# Written by mediatorctl\nlinks: {}")
        let error = #expect(throws: PersistError.self) {
            try persisted(layer(Self.attach("more", Self.definition)), "more", [Self.file, lower])
        }
        #expect(error?.reason.contains("/usr/m/90-mediatorctl.yaml") == true)
    }

    @Test func `a file is written whole or not at all, and can be taken back`() throws {
        let root = TemporaryDirectory()
        var file = Self.file
        file.path = "\(root.path)/lamp.yaml"
        try root.write("lamp.yaml", Self.text)
        let layer = try layer(Self.detach("dim"), over: [file])
        let persisted = try #require(try layer.persisting("dim", in: root.path, files: [file], remark: "A test."))
        let layers = ConfigurationLayers([root.path])
        let before = layers.read().files
        let written = try persisted.write()
        #expect(layers.read().files.first?.dropIns == persisted.files.first?.dropIns)
        #expect(throws: PersistError.self) { try persisted.write() }
        #expect(written.undo())
        #expect(layers.read().files == before)

        _ = try persisted.write()
        let files = layers.read().files
        let next = try TransientLayer().applying(Self.set("tell", ("emitValue", "x")), to: files)
        let second = try #require(try next.persisting("tell", in: root.path, files: files, remark: "A test."))
        let again = try second.write()
        #expect(again.undo())
        #expect(layers.read().files == files)
        // A file with nothing left goes, with its directory, and can be put back.
        let back = try TransientLayer().applying(LinkChange(link: "dim", action: .attachAgain), to: files)
        let third = try #require(try back.persisting("dim", in: root.path, files: files, remark: "A test."))
        #expect(third.text == nil)
        let removed = try third.write()
        #expect(layers.read().files == before)
        #expect(access("\(file.path).d", F_OK) != 0)
        #expect(removed.undo())
        #expect(layers.read().files == files)
        // Somebody else has changed it since.
        try root.write("lamp.yaml.d/90-mediatorctl.yaml", "# Written by mediatorctl\nlinks: {}")
        let error = #expect(throws: PersistError.self) { try second.write() }
        #expect(error?.reason == "it has been changed since the last reload; reload first")
    }

    @Test func `what was being written when the power failed goes with the next change`() throws {
        let root = TemporaryDirectory()
        var file = Self.file
        file.path = "\(root.path)/lamp.yaml"
        try root.write("lamp.yaml", Self.text)
        let half = "\(root.path)/lamp.yaml.d/.90-mediatorctl.yaml.1h2k3j"
        let foreign = "\(root.path)/lamp.yaml.d/.90-mediatorctl.yaml"
        root.make("lamp.yaml.d")
        for path in [half, foreign] {
            try root.write(String(path.dropFirst(root.path.utf8.count + 1)), "# Written by medi")
        }
        let layer = try layer(Self.detach("dim"), over: [file])
        let persisted = try #require(try layer.persisting("dim", in: root.path, files: [file], remark: "A test."))
        _ = try persisted.write()
        #expect(access(half, F_OK) != 0 && access(foreign, F_OK) == 0)
        // A change that leaves nothing works in the same way, and then nothing is left.
        let files = ConfigurationLayers([root.path]).read().files
        let back = try TransientLayer().applying(LinkChange(link: "dim", action: .attachAgain), to: files)
        unlink(foreign)
        try root.write("lamp.yaml.d/.90-mediatorctl.yaml.1h2k3j", "")
        _ = try #require(try back.persisting("dim", in: root.path, files: files, remark: "A test.")).write()
        #expect(access("\(root.path)/lamp.yaml.d", F_OK) != 0)
    }

    @Test func `the first directory that outlasts the daemon is written to`() {
        #expect(ConfigurationLayers.system.persistentDirectory == "/etc/mediatord")
        #expect(ConfigurationLayers(["/run/x", "/srv/y", "/z"]).persistentDirectory == "/srv/y")
        #expect(ConfigurationLayers(["/run"]).persistentDirectory == nil)
    }
}
