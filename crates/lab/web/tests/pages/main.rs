//! The pages, asked for without a network: what is answered, to whom, and what is refused.

mod changing;
mod hostile;
mod reading;
mod support;
