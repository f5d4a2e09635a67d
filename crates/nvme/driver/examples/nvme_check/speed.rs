//! Polled random reads of 4 KiB from one thread, for an order of magnitude.

use iolab_nvme_driver::{Namespace, Submit};

use crate::session::{Session, mix, whole};

const BYTES: usize = 4096;
/// Rounds between two readings of the clock.
const ROUNDS: u32 = 256;

pub(crate) fn measure(session: &mut Session, seconds: u64) -> crate::Outcome {
    let namespace = session.first_namespace()?;
    for depth in [1, 64] {
        let reads = random_reads(session, &namespace, depth, seconds * 1_000_000_000)?;
        println!("depth {depth}: {reads:.0} reads/s");
    }
    Ok(())
}

fn random_reads(
    session: &mut Session,
    namespace: &Namespace,
    depth: u16,
    for_ns: u64,
) -> Result<f64, Box<dyn std::error::Error>> {
    let blocks = BYTES as u32 / namespace.block_bytes();
    let places = namespace.blocks() / u64::from(blocks);
    let buffers = (0..depth).map(|_| session.buffer(BYTES)).collect::<Result<Vec<_>, _>>()?;
    let mut idle: Vec<u16> = (0..depth).collect();
    let (mut draw, mut ended, mut failed) = (0, 0u64, 0u64);
    let start_ns = session.clock.now_ns();
    let mut now_ns = start_ns;
    while now_ns - start_ns < for_ns {
        for _ in 0..ROUNDS {
            for slot in idle.drain(..) {
                draw += 1;
                let lba = mix(draw) % places * u64::from(blocks);
                let submit = session.queue.read(slot, namespace, lba, blocks, whole(&buffers[usize::from(slot)]));
                if submit != Submit::Accepted {
                    return Err(format!("not accepted: {submit:?}").into());
                }
            }
            session.queue.flush();
            session.queue.reap(usize::from(depth), |completion| {
                idle.push(completion.slot);
                ended += 1;
                failed += u64::from(!completion.outcome.is_done());
            })?;
        }
        now_ns = session.clock.now_ns();
    }
    while session.queue.in_flight() > 0 {
        session.queue.wait(1_000_000_000)?;
        session.queue.reap(usize::from(depth), |_| {})?;
    }
    if failed > 0 {
        return Err(format!("{failed} reads failed").into());
    }
    Ok(ended as f64 * 1e9 / (now_ns - start_ns) as f64)
}
