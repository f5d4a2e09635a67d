//! The driver with virtual drives, and with devices that misbehave.

mod commands;
mod drive;
mod fake;
mod fault_plan;
mod hostile;
mod misbehaviour;
mod threads;
mod virtual_ssd;
