//! Values by kind.
