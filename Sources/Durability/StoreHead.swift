import Glibc

/// The head of a store, which changes with every commit.
package struct StoreHead: Sendable, Hashable {
    /// The id of the store: 16 random bytes.
    package var store: [UInt8]
    /// The number of the last life of a process that wrote to the store.
    package var life: UInt64 = 0
    /// The number of the last change.
    package var order: UInt64 = 0
    /// The number of parts.
    package var rows: UInt64 = 0
    /// The sum of the checksums of all parts, modulo 2⁶⁴.
    var sums: UInt64 = 0
    /// The time of the last commit.
    package var time: StoreTime = StoreTime(wall: 0, boottime: 0, boot: [])
    /// A Boolean value that indicates whether the last life closed the store.
    package var isClean = true
    /// The number of starts since the last one that became ready.
    package var starts: UInt64 = 0

    /// The stored digest: the sums of all rows and of the head itself, modulo 2⁶⁴.
    var digest: UInt64 {
        var sum = Checksum()
        sum.add(store)
        for number in [life, order, rows, UInt64(bitPattern: time.wall), UInt64(bitPattern: time.boottime)] {
            sum.add(number)
        }
        sum.add(time.boot)
        sum.add(isClean ? 1 : 0)
        sum.add(starts)
        return sums &+ sum.value
    }

    /// Notes a commit of a life.
    mutating func advance(life: UInt64, closes: Bool, time: StoreTime) {
        self.life = life
        self.time = time
        isClean = closes
    }

    /// Notes a milestone of this life.
    mutating func note(_ milestone: StoreMilestone) {
        switch milestone {
        case .started: starts += 1
        case .ready: starts = 0
        }
    }
}

/// A reading of the clocks.
package struct StoreTime: Sendable, Hashable {
    /// The wall clock, in nanoseconds since 1970.
    package var wall: Int64
    /// The time since the boot, in nanoseconds. It includes suspension.
    package var boottime: Int64
    /// The id of the boot, 16 bytes; empty if the system does not tell.
    package var boot: [UInt8]

    package init(wall: Int64, boottime: Int64, boot: [UInt8]) {
        self.wall = wall
        self.boottime = boottime
        self.boot = boot
    }

    /// Reads the clocks of the system.
    @Sendable package static func now() -> StoreTime {
        StoreTime(wall: read(CLOCK_REALTIME), boottime: read(CLOCK_BOOTTIME), boot: currentBoot)
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static let currentBoot: [UInt8] = {
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return [] }
        defer { fclose(file) }
        var text = [UInt8](repeating: 0, count: 64)
        let count = fread(&text, 1, text.count, file)
        let digits = text.prefix(count).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }.map(UInt8.init)
        guard digits.count == 32 else { return [] }
        return (0..<16).map { digits[2 * $0] << 4 | digits[2 * $0 + 1] }
    }()
}

/// The 64-bit FNV-1a checksum of a sequence of fields. Each field of variable length is preceded by its length.
struct Checksum {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ bytes: [UInt8]) {
        add(UInt64(bytes.count))
        for byte in bytes { add(byte) }
    }

    mutating func add(_ number: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) { add(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
}
