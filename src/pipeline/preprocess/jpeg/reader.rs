//! From a file's bytes to the blocks of its components, whatever the kind of its scans.

#![expect(clippy::inline_always, reason = "compiled for the instructions of whoever calls")]

use super::frame::{Frame, Next, Scan};
use super::progressive::Progressive;
use super::sequential::{Sequential, Sink, Wanted};

/// Whether this CPU has what is asked for as `FAST`.
#[cfg(target_arch = "x86_64")]
pub(super) fn fast_here() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
}

/// Where a file's first scan begins.
pub(super) struct Start {
    pub(super) frame: Frame,
    scan: Scan,
    at: usize,
}

impl Start {
    /// Reads the segments up to the first scan; `None` where they are not in order.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut frame = Frame::default();
        match frame.next(bytes, 2)? {
            Next::Scan(scan, at) if !frame.components().is_empty() => {
                Some(Self { frame, scan, at })
            }
            _ => None,
        }
    }
}

/// Reads one file after another; keeps tables and buffers.
#[derive(Default)]
pub(super) struct Reader {
    sequential: Sequential,
    progressive: Progressive,
}

impl Reader {
    /// Hands the wanted blocks of all components to `sink`; `None` where the file is damaged in any part of it,
    /// wanted or not. `FAST` wants AVX2 and BMI.
    #[inline(always)]
    pub(super) fn read<const FAST: bool>(
        &mut self,
        start: Start,
        bytes: &[u8],
        wanted: &[Wanted; 4],
        sink: &mut impl Sink,
    ) -> Option<()> {
        let Start { mut frame, mut scan, mut at } = start;
        if frame.progressive {
            return self.progressive.decode(&mut frame, (scan, at), bytes, wanted, sink);
        }
        let mut missing = frame.components().len();
        let mut seen = [false; 4];
        loop {
            for part in scan.parts() {
                if std::mem::replace(&mut seen[part.component], true) {
                    return None;
                }
                let component = &frame.components()[part.component];
                sink.steps(part.component, frame.quantisation_of(component)?);
            }
            at += self.sequential.decode::<FAST>(&frame, &scan, &bytes[at..], wanted, sink)?;
            missing -= scan.parts().len();
            if missing == 0 {
                return Some(());
            }
            match frame.next(bytes, at)? {
                Next::Scan(next, begins) => (scan, at) = (next, begins),
                Next::End | Next::Cut => return None,
            }
        }
    }

    /// Bytes of memory that are held for pictures.
    pub(super) fn held(&self) -> usize {
        self.sequential.held() + self.progressive.held()
    }
}
