//! Help made from the tables.
