#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>
#include <stddef.h>

/// libcurl's functions with a variable number of arguments, which Swift cannot call: one function for each type of
/// argument. The caller must pass an option of that type; the constants say which (`CURLOPTTYPE_…` in curl.h).

/// Initializes the library for all threads. Further calls only increment its counter.
CURLcode ccurl_start(void);

/// Sets an option that takes a number or a Boolean.
CURLcode ccurl_set_number(CURL *handle, CURLoption option, long value);

/// Sets an option that takes text, which the library copies; NULL restores the default.
CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *value);

/// Sets an option that takes a list, which must outlive its use by the handle.
CURLcode ccurl_set_list(CURL *handle, CURLoption option, struct curl_slist *list);

/// Sets an option that takes bytes, which the library copies.
CURLcode ccurl_set_bytes(CURL *handle, CURLoption option, const void *bytes, size_t count);

/// Sets the body of the request, which the library copies.
CURLcode ccurl_set_body(CURL *handle, const void *bytes, size_t count);

/// Sets the buffer for error texts: CURL_ERROR_SIZE bytes that outlive the handle.
CURLcode ccurl_set_error_buffer(CURL *handle, char *buffer);

/// Takes a piece of the answer of `size * count` bytes. Any other return value than that product ends the transfer.
typedef size_t (*ccurl_receiver)(char *bytes, size_t size, size_t count, void *context);

/// Sets the functions that receive the lines of the header and the pieces of the body, both with the same context.
CURLcode ccurl_set_receivers(CURL *handle, ccurl_receiver header, ccurl_receiver body, void *context);

/// Receives debug information: its kind and its bytes. Returns 0.
typedef int (*ccurl_observer)(CURL *handle, curl_infotype kind, char *bytes, size_t count, void *context);

/// Sets the function that receives debug information.
CURLcode ccurl_set_observer(CURL *handle, ccurl_observer observer, void *context);

/// Reads a number about a transfer that has ended; 0 if it is not available.
long ccurl_number(CURL *handle, CURLINFO info);

/// Sets an option of a set of transfers that takes a number.
CURLMcode ccurl_set_multi_number(CURLM *handle, CURLMoption option, long value);

#endif
