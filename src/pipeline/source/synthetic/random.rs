//! Random numbers that are the same everywhere.

/// `SplitMix64` (Steele, Lea and Flood 2014), one stream per image.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        random.bits();
        random
    }

    /// 64 random bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to, not including, 1, in steps of 2⁻²⁴: exact in f32.
    pub(super) fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 * (1.0 / 16_777_216.0)
    }

    pub(super) fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    pub(super) fn chance(&mut self, probability: f32) -> bool {
        self.unit() < probability
    }

    /// A direction, uniform on the circle: a point of the disc, scaled.
    pub(super) fn direction(&mut self) -> (f32, f32) {
        loop {
            let (x, y) = (self.between(-1.0, 1.0), self.between(-1.0, 1.0));
            let square = x * x + y * y;
            if (0.01..=1.0).contains(&square) {
                let length = square.sqrt();
                return (x / length, y / length);
            }
        }
    }
}
