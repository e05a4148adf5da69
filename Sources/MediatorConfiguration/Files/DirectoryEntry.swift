package import Glibc

/// A directory entry of `readdir`.
package enum DirectoryEntry {
    /// The name in an entry.
    ///
    /// An entry is only as long as its name (getdents(2)), so the field is read where it lies, up to its zero. To take it as the
    /// 256 bytes as which it is declared would read beyond the entry, and at the end of what `readdir` holds beyond that.
    package static func name(of entry: UnsafeMutablePointer<dirent>) -> String {
        let field = entry.pointer(to: \.d_name).map { UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self) }
        return field.map { String(cString: $0) } ?? ""
    }
}
