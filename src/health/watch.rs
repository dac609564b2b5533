//! Reads one rank's GPU around and between its samples, and during them where asked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::others::others;
use super::{GpuHealth, GpuProcess, GpuSource, NvmlGpu, OtherProcess, ReadingRange};
use crate::result::Gpu;

/// Readings between rounds of samples are at least so far apart: a reading can take milliseconds.
const BETWEEN_ROUNDS: Duration = Duration::from_millis(100);

type Source = Arc<Mutex<Box<dyn GpuSource>>>;

/// The watch over one rank's GPU.
pub struct Watch {
    health: GpuHealth,
    source: Option<Source>,
    /// The ranks' processes on this host, and how many ranks share the GPU.
    own: Vec<u32>,
    sharers: usize,
    last_read: Option<Instant>,
    range: Arc<Mutex<ReadingRange>>,
    poller: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
}

impl Watch {
    /// The watch over `gpu` through NVML.
    pub fn over(gpu: &Gpu, poll: Option<Duration>) -> Watch {
        match NvmlGpu::open(&gpu.uuid) {
            Ok(source) => Watch::with(gpu, poll, Box::new(source)),
            Err(why) => Watch::without(gpu, poll, why),
        }
    }

    /// The watch over `gpu` through another source.
    pub fn with(gpu: &Gpu, poll: Option<Duration>, source: Box<dyn GpuSource>) -> Watch {
        let mut watch = Watch::without(gpu, poll, String::new());
        watch.health.unreadable = None;
        watch.source = Some(Arc::new(Mutex::new(source)));
        watch
    }

    fn without(gpu: &Gpu, poll: Option<Duration>, why: String) -> Watch {
        Watch {
            health: GpuHealth {
                rank: gpu.rank,
                host: gpu.host.clone(),
                uuid: gpu.uuid.clone(),
                unreadable: Some(why),
                poll_ms: poll.map(|every| every.as_millis() as u64),
                before: None,
                sampling: None,
                after: None,
                others: Vec::new(),
            },
            source: None,
            own: Vec::new(),
            sharers: 1,
            last_read: None,
            range: Arc::default(),
            poller: None,
        }
    }

    /// Reads the GPU before warm-up. `own` are the ranks' processes on this host, `sharers` the
    /// number of ranks on this GPU.
    pub fn before(&mut self, own: Vec<u32>, sharers: usize) {
        (self.own, self.sharers) = (own, sharers);
        self.health.before = self.read();
        self.look_for_others();
    }

    /// Reads the GPU after warm-up and between rounds of samples. With polling, the first call
    /// starts it.
    pub fn between_rounds(&mut self) {
        let Some(source) = &self.source else { return };
        match self.health.poll_ms {
            Some(ms) if self.poller.is_none() => {
                let every = Duration::from_millis(ms);
                self.poller = Some(poll(source.clone(), self.range.clone(), every));
            }
            Some(_) => {}
            None => {
                if self
                    .last_read
                    .is_some_and(|at| at.elapsed() < BETWEEN_ROUNDS)
                {
                    return;
                }
                if let Some(reading) = self.read() {
                    lock(&self.range).add(&reading);
                }
                self.last_read = Some(Instant::now());
            }
        }
    }

    /// Reads the GPU a last time, and says what was seen.
    pub fn finish(mut self) -> GpuHealth {
        if let Some((stop, thread)) = self.poller.take() {
            stop.store(true, Ordering::Relaxed);
            thread.thread().unpark();
            let _ = thread.join();
        }
        self.health.after = self.read();
        self.look_for_others();
        let range = lock(&self.range).clone();
        self.health.sampling = (range.readings > 0).then_some(range);
        self.health
    }

    fn read(&mut self) -> Option<super::GpuReading> {
        let reading = lock(self.source.as_ref()?).read();
        reading
            .map_err(|why| self.health.unreadable = Some(why))
            .ok()
    }

    fn look_for_others(&mut self) {
        let Some(source) = &self.source else { return };
        let seen: Vec<GpuProcess> = lock(source).processes().unwrap_or_default();
        for other in others(&seen, &self.own, self.sharers) {
            let known = self
                .health
                .others
                .iter_mut()
                .find(|one| one.pid == other.pid);
            match known {
                Some(known) => *known = the_more(known.clone(), other),
                None => self.health.others.push(other),
            }
        }
    }
}

/// The larger figures of two looks at one process.
fn the_more(one: OtherProcess, later: OtherProcess) -> OtherProcess {
    OtherProcess {
        pid: one.pid,
        name: later.name.or(one.name),
        memory_bytes: one.memory_bytes.max(later.memory_bytes),
        sm_percent: one.sm_percent.max(later.sm_percent),
    }
}

/// Reads `source` into `range` until told to stop.
fn poll(
    source: Source,
    range: Arc<Mutex<ReadingRange>>,
    every: Duration,
) -> (Arc<AtomicBool>, JoinHandle<()>) {
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    let thread = std::thread::spawn(move || {
        while !told.load(Ordering::Relaxed) {
            if let Ok(reading) = lock(&source).read() {
                lock(&range).add(&reading);
            }
            std::thread::park_timeout(every);
        }
    });
    (stop, thread)
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
