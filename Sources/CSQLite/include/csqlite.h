#ifndef CSQLITE_H
#define CSQLITE_H

#include <sqlite3.h>
#include <stddef.h>

/// SQLite, and the parts of it that Swift cannot call: functions with a variable number of arguments, and macros that
/// are casts.

/// Sets an option of a connection that is on or off (SQLITE_DBCONFIG_…). Returns a result code.
int csqlite_configure(sqlite3 *connection, int option, int value);

/// Binds text to a parameter, which SQLite copies. Returns a result code.
int csqlite_bind_text(sqlite3_stmt *statement, int parameter, const void *bytes, size_t count);

/// Binds bytes to a parameter, which SQLite copies. No bytes are an empty value, never NULL. Returns a result code.
int csqlite_bind_bytes(sqlite3_stmt *statement, int parameter, const void *bytes, size_t count);

#endif
