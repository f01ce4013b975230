//! The kernels, as PTX that `scripts/make_ptx.py` made from the CUDA sources beside it.

/// Convolutions on tensor cores (compute capability 8.0 and later).
pub(super) static IGEMM: &str = include_str!("kernels/igemm.ptx");
/// Everything else for halves (8.0 and later).
pub(super) static HALVES: &str = include_str!("kernels/halves.ptx");
/// Everything for floats (6.0 and later).
pub(super) static FLOATS: &str = include_str!("kernels/floats.ptx");

/// A fingerprint of all kernels: what was measured with others does not hold.
pub(super) fn fingerprint() -> u64 {
    [IGEMM, HALVES, FLOATS].iter().fold(FNV, |value, ptx| fnv(value, ptx.as_bytes()))
}

/// FNV-1a's start.
pub(super) const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>).
pub(super) fn fnv(start: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(start, |value, byte| (value ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: &str = include_str!("kernels/common.cuh");

    fn header(file: &str, source: &str, options: &str) -> String {
        let hash = fnv(FNV, format!("{COMMON} {source} {options}").as_bytes());
        format!("// made by scripts/make_ptx.py from {file}, {hash:016x}")
    }

    #[test]
    fn the_ptx_was_made_from_these_sources() {
        let (igemm, ops) = (include_str!("kernels/igemm.cu"), include_str!("kernels/ops.cu"));
        for (ptx, wanted) in [
            (IGEMM, header("igemm.cu", igemm, "compute_80")),
            (HALVES, header("ops.cu", ops, "compute_80 -DHALVES")),
            (FLOATS, header("ops.cu", ops, "compute_60")),
        ] {
            assert_eq!(ptx.lines().next(), Some(wanted.as_str()), "run scripts/make_ptx.py");
        }
    }

    #[test]
    fn drivers_from_525_on_take_the_ptx() {
        for ptx in [IGEMM, HALVES, FLOATS] {
            assert!(ptx.lines().any(|line| line == ".version 8.0"));
        }
    }
}
