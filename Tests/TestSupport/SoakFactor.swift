import Glibc

/// The factor on the length of the random tests: 1 in `make check`, 5 in `make nightly`, 50 in `make soak`.
///
/// The environment variable `SOAK_FACTOR` sets it: a whole number, at least 1.
package let soakFactor: Int = {
    guard let text = getenv("SOAK_FACTOR").map({ String(cString: $0) }) else { return 1 }
    guard let factor = Int(text), factor >= 1 else {
        fatalError("SOAK_FACTOR is a whole number, at least 1, not '\(text)'")
    }
    return factor
}()

/// The number of repetitions of a test under load: a tenth under the thread sanitizer, where each takes about ten times as long.
/// The sanitizer finds a race at its first occurrence, also if it did no harm.
///
/// The sanitizer runs if the environment variable `TSAN_OPTIONS` is set.
package func repetitions(_ count: Int) -> Int { getenv("TSAN_OPTIONS") == nil ? count : max(1, count / 10) }
