//! What `iostat -x` says of two looks at a block device, column by column.
