//! Settings of block devices: applied, read back, restored whatever happens.
