#ifndef CRE2_H
#define CRE2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A compiled regular expression in the syntax of RE2. It is immutable, so any number of threads may match with it at
/// once.
struct cre2_pattern;

/// Compiles a pattern in UTF-8.
///
/// `memory` limits the bytes of the pattern and its matching; a pattern that needs more is refused. For a refused
/// pattern it returns NULL and writes the reason to `message`: at most `capacity` bytes with the terminating zero. The
/// caller frees the result with cre2_free.
struct cre2_pattern *cre2_compile(
    const char *text, size_t length, int64_t memory, char *message, size_t capacity);

/// Returns whether the pattern matches some part of a text in UTF-8. Linear in the length of the text.
bool cre2_matches(const struct cre2_pattern *pattern, const char *text, size_t length);

/// A part of a text, in bytes. A group that takes no part in a match begins at -1.
struct cre2_span {
    int64_t begin;
    int64_t length;
};

/// Finds the first match of a pattern in a text in UTF-8, from a position on, and writes the match and its groups to
/// `spans`. Returns whether there is one. Linear in the length of the text behind the position.
bool cre2_find(
    const struct cre2_pattern *pattern, const char *text, size_t length, size_t start, struct cre2_span *spans, int count);

/// Returns the number of capturing groups of the pattern.
int cre2_groups(const struct cre2_pattern *pattern);

/// Returns the number of instructions of the compiled pattern, which bounds the time for each byte of a text.
int cre2_size(const struct cre2_pattern *pattern);

/// Frees a pattern; NULL is allowed.
void cre2_free(struct cre2_pattern *pattern);

#ifdef __cplusplus
}
#endif

#endif
