//! temp
use crate::{arguments::DemoArguments, exit::Failure};
pub(crate) fn main(_: &DemoArguments) -> Result<u8, Failure> {
    Ok(0)
}
