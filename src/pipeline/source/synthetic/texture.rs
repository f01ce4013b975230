//! Textures that repeat without a seam, shared by all images of a set.

use super::random::Random;

/// Side of a tile; a power of two.
pub(super) const SIDE: usize = 1024;

/// A square of values about 0, mostly within ±1, row by row.
pub(super) struct Tile(Vec<f32>);

impl Tile {
    /// The row at `y`, any `y`.
    pub(super) fn row(&self, y: usize) -> &[f32] {
        let start = (y & (SIDE - 1)) * SIDE;
        &self.0[start..start + SIDE]
    }
}

/// The tiles from which surfaces are made.
pub(super) struct Textures {
    /// Cloud-like: coarse octaves dominate.
    pub(super) smooth: Tile,
    /// Equal variance in each octave, as photos have.
    pub(super) natural: Tile,
    /// Fine octaves dominate: leaves, gravel, fur.
    pub(super) fine: Tile,
    /// Drawn out along x: water, wood, grass from afar.
    pub(super) streaks: Tile,
}

impl Textures {
    pub(super) fn new(seed: u64) -> Self {
        let make = |stream: u64, fall: f32, wide: bool| {
            tile(&mut Random::new(seed, stream | 1 << 32), fall, wide)
        };
        Self {
            smooth: make(1, 0.62, false),
            natural: make(2, 0.95, false),
            fine: make(3, 1.25, false),
            streaks: make(4, 0.95, true),
        }
    }
}

/// Octaves from coarse to fine: the square is doubled again and again, and noise is added each time,
/// its amplitude `fall` times the former's.
fn tile(random: &mut Random, fall: f32, wide: bool) -> Tile {
    // A wide tile starts as a tall column of cells, so that each octave is 8 times as long as high.
    let (mut columns, mut rows) = if wide { (1, 8) } else { (4, 4) };
    let mut cells = vec![0.0_f32; columns * rows];
    let mut amplitude = 1.0_f32;
    let mut energy = 0.0_f32;
    loop {
        for cell in &mut cells {
            *cell += amplitude * (random.unit() + random.unit() - 1.0);
        }
        energy += amplitude * amplitude;
        if columns == SIDE {
            break;
        }
        let taller = if rows < SIDE { 2 } else { 1 };
        cells = doubled(&cells, columns, rows, taller == 2);
        columns *= 2;
        rows *= taller;
        amplitude *= fall;
    }
    let scale = 1.0 / energy.sqrt();
    for cell in &mut cells {
        *cell *= scale;
    }
    Tile(cells)
}

/// Twice the size, interpolated (weights ¾ and ¼), wrapping round.
fn doubled(cells: &[f32], columns: usize, rows: usize, both: bool) -> Vec<f32> {
    let wide: Vec<f32> = (0..rows)
        .flat_map(|y| {
            let row = &cells[y * columns..(y + 1) * columns];
            (0..columns).flat_map(move |x| {
                let (before, after) = (row[(x + columns - 1) % columns], row[(x + 1) % columns]);
                [0.75 * row[x] + 0.25 * before, 0.75 * row[x] + 0.25 * after]
            })
        })
        .collect();
    if !both {
        return wide;
    }
    let columns = columns * 2;
    (0..rows * 2)
        .flat_map(|y| {
            let near = y / 2;
            let far = if y % 2 == 0 { near + rows - 1 } else { near + 1 } % rows;
            let (near, far) = (&wide[near * columns..], &wide[far * columns..]);
            near[..columns].iter().zip(far).map(|(n, f)| 0.75 * n + 0.25 * f)
        })
        .collect()
}
