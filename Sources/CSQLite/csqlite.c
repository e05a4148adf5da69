#include "csqlite.h"

int csqlite_configure(sqlite3 *connection, int option, int value) {
    int result = value;
    int code = sqlite3_db_config(connection, option, value, &result);
    return code == SQLITE_OK && result != value ? SQLITE_ERROR : code;
}

int csqlite_bind_text(sqlite3_stmt *statement, int parameter, const void *bytes, size_t count) {
    const char *text = count == 0 ? "" : bytes;
    return sqlite3_bind_text64(statement, parameter, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

int csqlite_bind_bytes(sqlite3_stmt *statement, int parameter, const void *bytes, size_t count) {
    if (count == 0) return sqlite3_bind_zeroblob(statement, parameter, 0);
    return sqlite3_bind_blob64(statement, parameter, bytes, count, SQLITE_TRANSIENT);
}
