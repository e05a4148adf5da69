#!/bin/sh
# Makes a copy of FeedbackKit without the observer's hooks in the folder given: its observer is of a type that has no
# values, so that every `if let observer` is known to fail when the copy is compiled. Stops if the engine no longer looks
# as the changes expect.
set -eu
cd "$(dirname "$0")"
copy=$1
rm -rf "$copy"
mkdir -p "$copy/FeedbackKitUnobserved" "$copy/UnobservedLoop"
cp -R ../../Sources/FeedbackKit/. "$copy/FeedbackKitUnobserved"
find "$copy/FeedbackKitUnobserved" -name '*.docc' -prune -exec rm -rf {} +
loop="$copy/FeedbackKitUnobserved/Loop/LoopCore.swift"

# change WHAT PATTERN REPLACEMENT: replaces a line that must be there exactly once.
change() {
    found=$(grep -c -- "$2" "$loop") || true
    if [ "$found" != 1 ]; then
        echo "unobserved.sh: $1 is $found times in LoopCore.swift, not once: adapt the pattern '$2'." >&2
        exit 1
    fi
    sed -i "s/$2/$3/" "$loop"
}

change "the class that holds the observer" "final class Observer: Sendable {" "@frozen enum Observer: Sendable {"
change "the observer it holds" "@usableFromInline let base: any LoopObserver<State, Event>" \
    "@usableFromInline var base: NoObserver<State, Event> { switch self {} }"
change "how it is made" "init(_ base: any LoopObserver<State, Event>) {" "static func unused(_ base: Int) {"
sed -i '/static func unused/{n;s/self.base = base/_ = base/}' "$loop"
change "the observer of a new loop" "self.observer = observer.map(Observer.init)" "self.observer = nil"
change "the observer set later" "let new = observer.map(Observer.init)" "let new: Observer? = nil"

cat >"$copy/FeedbackKitUnobserved/Loop/NoObserver.swift" <<'SWIFT'
/// An observer there is none of.
@frozen
@usableFromInline
enum NoObserver<State: Sendable, Event: Sendable>: LoopObserver {}
SWIFT
sed -e 's/FeedbackKit/FeedbackKitUnobserved/; s/enum ObservedLoop/enum UnobservedLoop/' \
    Sources/ObservedLoop/ObservedLoop.swift >"$copy/UnobservedLoop/UnobservedLoop.swift"
