//! Create and delete I/O queues.

use crate::fields::bits;

bits! {
    /// Create and Delete I/O Submission and Completion Queue, dword 10 (Base, sections 5.3 to 5.6).
    QueueDword10: u32 {
        /// Queue Identifier.
        qid / with_qid: u16 [0; 16]
        /// Queue Size in entries, less one (not for Delete).
        qsize / with_qsize: u16 [16; 16]
    }
}

bits! {
    /// Create I/O Completion Queue, dword 11 (Base, section 5.3).
    CreateCqDword11: u32 {
        /// Physically Contiguous.
        pc / with_pc: bool [0]
        /// Interrupts Enabled.
        ien / with_ien: bool [1]
        /// Interrupt Vector.
        iv / with_iv: u16 [16; 16]
    }
}

bits! {
    /// Create I/O Submission Queue, dword 11 (Base, section 5.4).
    CreateSqDword11: u32 {
        /// Physically Contiguous.
        pc / with_pc: bool [0]
        /// Queue Priority: 0 urgent, 1 high, 2 medium, 3 low.
        qprio / with_qprio: u8 [1; 2]
        /// Completion Queue Identifier.
        cqid / with_cqid: u16 [16; 16]
    }
}
