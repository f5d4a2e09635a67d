//! Charts as SVG with their data tables: deterministic, accessible, without a script.
