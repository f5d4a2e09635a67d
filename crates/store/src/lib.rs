//! Runs and studies in an SQLite database: kept, searched, tagged, exported.
