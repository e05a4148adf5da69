#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>
#include <stddef.h>

/// libcurl's functions with a variable number of arguments, which Swift cannot call: one function for each type of
/// argument. The caller must pass an option of that type; the constants say which (`CURLOPTTYPE_…` in curl.h).

/// Prepares the library for all threads. Further calls only count.
CURLcode ccurl_start(void);

/// Sets an option that takes a number or a truth value.
CURLcode ccurl_set_number(CURL *handle, CURLoption option, long value);

/// Sets an option that takes text, which the library copies; NULL restores the default.
CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *value);

/// Sets an option that takes a list, which must outlive its use by the handle.
CURLcode ccurl_set_list(CURL *handle, CURLoption option, struct curl_slist *list);

/// Sets an option that takes bytes, which the library copies.
CURLcode ccurl_set_bytes(CURL *handle, CURLoption option, const void *bytes, size_t count);

/// Sets the body of the request, which the library copies.
CURLcode ccurl_set_body(CURL *handle, const void *bytes, size_t count);

/// Sets where the library writes what it knows of an error: CURL_ERROR_SIZE bytes that outlive the handle.
CURLcode ccurl_set_error_buffer(CURL *handle, char *buffer);

/// Takes a piece of the answer of `size * count` bytes. Any other return value than that product ends the transfer.
typedef size_t (*ccurl_receiver)(char *bytes, size_t size, size_t count, void *context);

/// Sets who takes the lines of the header and the pieces of the body, each with the same context.
CURLcode ccurl_set_receivers(CURL *handle, ccurl_receiver header, ccurl_receiver body, void *context);

/// Takes what the library tells of its work: a kind of information and its bytes. Returns 0.
typedef int (*ccurl_observer)(CURL *handle, curl_infotype kind, char *bytes, size_t count, void *context);

/// Sets who is told of the library's work.
CURLcode ccurl_set_observer(CURL *handle, ccurl_observer observer, void *context);

/// Reads a number about a transfer that has ended; 0 if there is none.
long ccurl_number(CURL *handle, CURLINFO info);

/// Sets an option of a set of transfers that takes a number.
CURLMcode ccurl_set_multi_number(CURLM *handle, CURLMoption option, long value);

#endif
