-- A database as its first version was. It is never changed.
CREATE TABLE entry (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    path TEXT NOT NULL,
    part INTEGER NOT NULL DEFAULT 0,
    parent INTEGER REFERENCES entry(id) ON DELETE CASCADE,
    block INTEGER,
    points TEXT NOT NULL DEFAULT '[]',
    started_unix_ns INTEGER,
    elapsed_ns INTEGER,
    tool TEXT NOT NULL,
    hostname TEXT,
    kernel TEXT,
    cpu_model TEXT,
    job_text TEXT NOT NULL DEFAULT '',
    flaw TEXT,
    UNIQUE (path, part)
) STRICT;
CREATE INDEX entry_by_start ON entry(started_unix_ns);
CREATE INDEX entry_by_parent ON entry(parent);
CREATE TABLE option (
    entry INTEGER NOT NULL REFERENCES entry(id) ON DELETE CASCADE,
    job TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (entry, job, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX option_by_value ON option(name, value);
CREATE TABLE figure (
    entry INTEGER NOT NULL REFERENCES entry(id) ON DELETE CASCADE,
    job TEXT NOT NULL, name TEXT NOT NULL, latency TEXT, unit TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (entry, job, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE tag (
    entry INTEGER NOT NULL REFERENCES entry(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    PRIMARY KEY (entry, name)
) STRICT, WITHOUT ROWID;
INSERT INTO entry (id, kind, title, path, started_unix_ns, tool) VALUES (7, 'run', 'old', '/recordings/old.iolab', 1000000000, 'iolab 0.1.0');
INSERT INTO option VALUES (7, 'old', 'bs', '4k');
INSERT INTO figure VALUES (7, 'old', 'iops', NULL, '', 123.5);
INSERT INTO tag VALUES (7, 'kept');
PRAGMA application_id = 0x696f6c61;
PRAGMA user_version = 1;
