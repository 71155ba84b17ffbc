-- What each watch of the relay over its surroundings knew last and has told of it, as JSON of its own.
CREATE TABLE watch_states (name TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT, WITHOUT ROWID;
