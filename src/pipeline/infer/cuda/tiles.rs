//! The shapes of tile in which the tensor-core kernel computes, and which of them suits a convolution.

use super::driver::Facts;

/// One build of the kernel in `kernels/igemm.cu`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tile {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Rows: pixels of the output.
    pub rows: usize,
    /// Columns: channels of the output.
    pub columns: usize,
    /// Values of the sum that one step takes.
    pub step: usize,
    /// Steps under way.
    pub stages: usize,
    /// Threads of a block.
    pub threads: u32,
    /// Of how many channels the input must have a multiple.
    pub vector: usize,
}

const fn tile(
    kernel: &'static str,
    [rows, columns, step, stages]: [usize; 4],
    threads: u32,
    vector: usize,
) -> Tile {
    Tile { kernel, rows, columns, step, stages, threads, vector }
}

/// As `kernels/igemm.cu` builds them. Saved measurements name them, so that the order may change.
pub(super) const TILES: [Tile; 11] = [
    tile("igemm_128x128", [128, 128, 64, 3], 256, 8),
    tile("igemm_256x64", [256, 64, 32, 4], 256, 8),
    tile("igemm_128x64", [128, 64, 64, 3], 256, 8),
    tile("igemm_64x128", [64, 128, 64, 3], 256, 8),
    tile("igemm_128x32", [128, 32, 64, 3], 128, 8),
    tile("igemm_64x64", [64, 64, 64, 4], 128, 8),
    tile("igemm_32x64", [32, 64, 64, 4], 64, 8),
    tile("igemm_128x64_by4", [128, 64, 32, 4], 256, 4),
    tile("igemm_64x64_by4", [64, 64, 32, 4], 128, 4),
    tile("igemm_128x64_by2", [128, 64, 32, 4], 256, 2),
    tile("igemm_64x64_by2", [64, 64, 32, 4], 128, 2),
];

/// Tiles whose sum may be split: as many counters are there.
pub(super) const MOST_SPLIT_TILES: usize = 4096;
/// Bytes for the parts of split sums.
pub(super) const PARTIAL_BYTES: usize = 64 << 20;

impl Tile {
    /// Shared memory of a block, bytes.
    pub(super) const fn shared(&self) -> usize {
        (self.rows + self.columns) * self.step * 2 * self.stages
    }

    /// Blocks of it that fit on a multiprocessor.
    fn resident(&self, device: &Facts) -> usize {
        let by_threads = 512 / self.threads as usize;
        (device.shared_per_multiprocessor / (self.shared() + 1024)).min(by_threads).max(1)
    }
}

/// A matrix product to be cut into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Product {
    /// Rows: pixels of all images.
    pub rows: usize,
    /// Columns a group: output channels.
    pub columns: usize,
    /// Values of the sum.
    pub depth: usize,
    /// Groups.
    pub groups: usize,
    /// Of how many channels the input has a multiple: 8, 4 or 2.
    pub vector: usize,
    /// Whether a residual is read.
    pub residual: bool,
}

/// How a product is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Into which tiles.
    pub tile: &'static Tile,
    /// How many blocks share the sum of one tile.
    pub splits: usize,
}

impl Product {
    /// Tiles in all.
    pub(super) const fn tiles(&self, tile: &Tile) -> usize {
        self.rows.div_ceil(tile.rows) * self.columns.div_ceil(tile.columns) * self.groups
    }

    /// Every cut that makes sense on the device, the most promising first.
    pub(super) fn cuts(&self, device: &Facts) -> Vec<Cut> {
        let mut cuts: Vec<(f64, Cut)> = Vec::new();
        for tile in TILES.iter().filter(|tile| tile.vector == self.vector) {
            if tile.shared() + 1024 > device.shared_per_block {
                continue;
            }
            let (tiles, steps) = (self.tiles(tile), self.depth.div_ceil(tile.step));
            let mut splits = 1;
            loop {
                let cut = Cut { tile, splits };
                cuts.push((self.clocks(cut, device), cut));
                splits *= 2;
                let parts = tiles * splits;
                let bytes = parts * tile.rows * tile.columns * 4;
                if steps < 2 * splits
                    || tiles > MOST_SPLIT_TILES
                    || parts > 4 * device.multiprocessors
                    || bytes > PARTIAL_BYTES
                {
                    break;
                }
            }
        }
        cuts.sort_by(|a, b| a.0.total_cmp(&b.0));
        cuts.into_iter().map(|(_, cut)| cut).collect()
    }

    /// A guess of how long it takes, in clocks of a multiprocessor: what the tensor cores, the second-level cache and
    /// the waits for it need. Only the order counts; measuring decides among the best.
    fn clocks(&self, cut: Cut, device: &Facts) -> f64 {
        let tile = cut.tile;
        let blocks = self.tiles(tile) * cut.splits;
        let resident = tile.resident(device);
        let busy = blocks.div_ceil(device.multiprocessors).min(resident) as f64;
        let waves = blocks.div_ceil(device.multiprocessors * resident) as f64;
        let steps = self.depth.div_ceil(tile.step).div_ceil(cut.splits) as f64;
        let area = (tile.rows * tile.columns) as f64;
        let multiply = area * tile.step as f64 / 600.0;
        let fetch = ((tile.rows + tile.columns) * tile.step * 2) as f64 / 32.0;
        let step = (multiply.max(fetch) * busy).max(250.0);
        let end = area * if self.residual { 4.0 } else { 2.0 } / 24.0 * busy;
        let join =
            if cut.splits > 1 { 1500.0 + area * 4.0 * (1 + cut.splits) as f64 / 64.0 } else { 0.0 };
        waves * (1500.0 + steps * step + end + join)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn h200() -> Facts {
        Facts {
            index: 0,
            name: "NVIDIA H200".into(),
            capability: (9, 0),
            multiprocessors: 132,
            shared_per_block: 227 << 10,
            shared_per_multiprocessor: 228 << 10,
            threads_per_multiprocessor: 2048,
            memory: 140 << 30,
            uuid: String::new(),
        }
    }

    const LARGE: Product = Product {
        rows: 64 * 56 * 56,
        columns: 256,
        depth: 576,
        groups: 1,
        vector: 8,
        residual: false,
    };

    #[test]
    fn the_table_is_that_of_the_kernels() {
        let source = include_str!("kernels/igemm.cu").replace(' ', "");
        for tile in &TILES {
            let Tile { kernel, rows, columns, step, stages, vector, .. } = tile;
            let start = format!("KERNEL({kernel},{rows},{columns},");
            let line = source.lines().find(|line| line.starts_with(&start)).expect(kernel);
            let numbers: Vec<usize> = line[start.len()..]
                .trim_end_matches(')')
                .split(',')
                .map(|number| number.parse().unwrap())
                .collect();
            let [wm, wn, bk, stg, v, _blocks] = numbers[..] else { panic!("{line}") };
            assert_eq!((bk, stg, v), (*step, *stages, *vector), "{kernel}");
            assert_eq!(wm * wn * 32, tile.threads as usize, "{kernel}");
            // What the kernel asserts as well: the sums fit where the tiles were.
            assert!(rows * (columns + 8) * 4 <= tile.shared(), "{kernel}");
        }
        assert_eq!(source.matches("\nKERNEL(").count(), TILES.len());
    }

    #[test]
    fn large_products_take_large_tiles_and_small_ones_are_split() {
        let best = LARGE.cuts(&h200())[0];
        assert_eq!(best.splits, 1);
        assert!(best.tile.rows * best.tile.columns >= 128 * 64, "{best:?}");
        let small = Product { rows: 49, columns: 512, depth: 4608, ..LARGE };
        let best = small.cuts(&h200())[0];
        assert!(best.splits > 1, "{best:?}");
    }

    #[test]
    fn every_cut_keeps_to_its_bounds() {
        for rows in [1, 49, 3136, 100_000] {
            for depth in [8, 64, 147, 4608] {
                let product = Product { rows, depth, ..LARGE };
                for cut in product.cuts(&h200()) {
                    assert!(cut.splits == 1 || product.tiles(cut.tile) <= MOST_SPLIT_TILES);
                    assert!(cut.splits <= depth.div_ceil(cut.tile.step));
                }
            }
        }
    }

    #[test]
    fn devices_with_little_shared_memory_get_tiles_that_fit() {
        let small =
            Facts { shared_per_block: 64 << 10, shared_per_multiprocessor: 64 << 10, ..h200() };
        let cuts = LARGE.cuts(&small);
        assert!(!cuts.is_empty() && cuts.iter().all(|cut| cut.tile.shared() < 64 << 10));
    }
}
