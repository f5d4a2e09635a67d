//! Registers compared with numbers taken from the specification.

use iolab_nvme_spec::registers::*;

#[test]
fn capabilities() {
    // MQES 2047, CQR, TO 15, DSTRD 2, NSSRS, CSS NVM and identified, MPSMIN 1, MPSMAX 4, CMBS.
    let cap = Capabilities(0x0241_0832_0f01_07ff);
    assert_eq!((cap.mqes(), cap.max_queue_entries(), cap.cqr(), cap.ams()), (2047, 2048, true, 0));
    assert_eq!((cap.to(), cap.timeout_ns()), (15, 7_500_000_000));
    assert_eq!((cap.dstrd(), cap.nssrs()), (2, true));
    assert_eq!(cap.css(), Capabilities::CSS_NVM | Capabilities::CSS_IDENTIFIED);
    assert_eq!((cap.min_page_bytes(), cap.max_page_bytes()), (8192, 65536));
    assert_eq!((cap.cmbs(), cap.pmrs()), (true, false));
    let made = Capabilities(0)
        .with_mqes(2047)
        .with_cqr(true)
        .with_to(15)
        .with_dstrd(2)
        .with_nssrs(true)
        .with_css(0x41)
        .with_mpsmin(1)
        .with_mpsmax(4)
        .with_cmbs(true);
    assert_eq!(made, cap);
}

#[test]
fn configuration_and_status() {
    let cc = ControllerConfiguration(0).with_en(true).with_iosqes(6).with_iocqes(4);
    assert_eq!(cc.0, 0x0046_0001);
    assert_eq!(cc.with_shn(ShutdownNotification::NORMAL.0).0, 0x0046_4001);
    assert_eq!(cc.with_css(ControllerConfiguration::CSS_IDENTIFIED).with_mps(1).with_ams(1).0, 0x0046_08e1);
    let csts = ControllerStatus(0b1011);
    assert_eq!((csts.rdy(), csts.cfs(), csts.shst()), (true, true, ShutdownStatus::COMPLETE.0));
    assert_eq!(AdminQueueAttributes(0).with_asqs(31).with_acqs(63).0, 0x003f_001f);
    assert_eq!(Version::V1_4.to_string(), "1.4.0");
}

#[test]
fn fields_do_not_leak_into_their_neighbours() {
    assert_eq!(ControllerConfiguration(0).with_shn(0xff).0, 0xc000);
    assert_eq!(AdminQueueAttributes(u32::MAX).with_asqs(0).0, 0xffff_f000);
}

#[test]
fn doorbells() {
    for (stride, queue, submission, completion) in
        [(0, 0, 0x1000, 0x1004), (0, 1, 0x1008, 0x100c), (2, 3, 0x1060, 0x1070), (0, 0xffff, 0x8_0ff8, 0x8_0ffc)]
    {
        let stride = DoorbellStride(stride);
        assert_eq!((stride.submission_tail(queue), stride.completion_head(queue)), (submission, completion));
        assert_eq!(stride.queue_of(submission), Some((u64::from(queue), false)));
        assert_eq!(stride.queue_of(completion), Some((u64::from(queue), true)));
        assert_eq!(stride.shadow_completion_head(queue), completion - 0x1000);
    }
    assert_eq!(DoorbellStride(0).queue_of(0xffc), None);
    assert_eq!(DoorbellStride(1).queue_of(0x1004), None);
}

#[test]
fn memory_buffer() {
    let location = MemoryBufferLocation(0x0001_2102);
    assert_eq!((location.bir(), location.cqda(), location.ofst()), (2, true, 0x12));
    let size = MemoryBufferSize(0x0004_0219);
    assert_eq!((size.sqs(), size.cqs(), size.rds(), size.wds()), (true, false, true, true));
    assert_eq!((size.szu(), size.sz()), (2, 0x40));
}
