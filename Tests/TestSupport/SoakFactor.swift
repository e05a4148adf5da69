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
