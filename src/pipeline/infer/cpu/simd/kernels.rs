//! The kernels, written once over vector operations that an instruction set's module gives.

/// Makes the kernels of one instruction set and its table `ISA`.
///
/// Each operation is given as a closure-like form that is pasted into functions which have the instruction set switched on.
macro_rules! kernels {
    (
        name: $name:literal,
        features: [$(#[$feature:meta])?],
        rows: $rows:literal,
        tiles: [$($tile:literal),*],
        long: $long:literal,
        splat: |$splat_x:ident| $splat:expr,
        load: |$load_p:ident| $load:expr,
        store: |$store_p:ident, $store_v:ident| $store:expr,
        load_part: |$lp_p:ident, $lp_n:ident| $load_part:expr,
        store_part: |$sp_p:ident, $sp_v:ident, $sp_n:ident| $store_part:expr,
        fma: |$fma_a:ident, $fma_b:ident, $fma_c:ident| $fma:expr,
        add: |$add_a:ident, $add_b:ident| $add:expr,
        sub: |$sub_a:ident, $sub_b:ident| $sub:expr,
        mul: |$mul_a:ident, $mul_b:ident| $mul:expr,
        max: |$max_a:ident, $max_b:ident| $max:expr,
        min: |$min_a:ident, $min_b:ident| $min:expr,
    ) => {
        use super::{Isa, Patch, Row, Tile, TileKernel, Windows, math};
        use crate::pipeline::infer::graph::{Activation, BinaryOp};

        pub(super) static ISA: Isa = Isa {
            name: $name,
            lanes: LANES,
            rows: $rows,
            tiles: [&[$(tile::<$tile, 1> as TileKernel),*], &[$(tile::<$tile, 2> as TileKernel),*]],
            copy,
            gather,
            spread,
            collect,
            depthwise,
            max_pool,
            average_pool,
            activate,
            combine,
            accumulate,
            affine,
            layer_norm,
        };

        $(#[$feature])?
        #[inline]
        fn splat($splat_x: f32) -> Vector {
            $splat
        }

        $(#[$feature])?
        #[inline]
        unsafe fn load($load_p: *const f32) -> Vector {
            // SAFETY: the caller vouches for LANES values at the pointer.
            unsafe { $load }
        }

        $(#[$feature])?
        #[inline]
        unsafe fn store($store_p: *mut f32, $store_v: Vector) {
            // SAFETY: the caller vouches for LANES places at the pointer.
            unsafe { $store }
        }

        $(#[$feature])?
        #[inline]
        unsafe fn load_part($lp_p: *const f32, $lp_n: usize) -> Vector {
            // SAFETY: the caller vouches for so many values at the pointer; the rest is not touched.
            unsafe { $load_part }
        }

        $(#[$feature])?
        #[inline]
        unsafe fn store_part($sp_p: *mut f32, $sp_v: Vector, $sp_n: usize) {
            // SAFETY: the caller vouches for so many places at the pointer; the rest is not touched.
            unsafe { $store_part }
        }

        $(#[$feature])?
        #[inline]
        fn fma($fma_a: Vector, $fma_b: Vector, $fma_c: Vector) -> Vector {
            $fma
        }

        $(#[$feature])?
        #[inline]
        fn add($add_a: Vector, $add_b: Vector) -> Vector {
            $add
        }

        $(#[$feature])?
        #[inline]
        fn sub($sub_a: Vector, $sub_b: Vector) -> Vector {
            $sub
        }

        $(#[$feature])?
        #[inline]
        fn mul($mul_a: Vector, $mul_b: Vector) -> Vector {
            $mul
        }

        $(#[$feature])?
        #[inline]
        fn max($max_a: Vector, $max_b: Vector) -> Vector {
            $max
        }

        $(#[$feature])?
        #[inline]
        fn min($min_a: Vector, $min_b: Vector) -> Vector {
            $min
        }

        /// A tile of `R` rows and `V` vectors; see [`Tile`].
        $(#[$feature])?
        unsafe fn tile<const R: usize, const V: usize>(t: &Tile) {
            let mut sums = [[splat(0.0); V]; R];
            // SAFETY: the caller vouches for all that `Tile` says: R rows of the left matrix, `depth` rows of a panel of
            // V · LANES columns, and R rows of `columns` values of output and residual. Columns beyond are not touched.
            unsafe {
                let whole = t.columns == V * LANES;
                let valid = |v: usize| t.columns.saturating_sub(v * LANES).min(LANES);
                if t.bias.is_null() {
                    for r in 0..R {
                        for v in 0..V {
                            let p = t.out.add(r * t.out_step + v * LANES);
                            if whole {
                                sums[r][v] = load(p);
                            } else if valid(v) > 0 {
                                sums[r][v] = load_part(p, valid(v));
                            }
                        }
                    }
                } else {
                    for v in 0..V {
                        let bias = load(t.bias.add(v * LANES));
                        for row in &mut sums {
                            row[v] = bias;
                        }
                    }
                }
                let (mut left, mut right) = (t.left, t.right);
                for _ in 0..t.depth {
                    let mut columns = [splat(0.0); V];
                    for v in 0..V {
                        columns[v] = load(right.add(v * LANES));
                    }
                    for r in 0..R {
                        let value = splat(left.add(r * t.left_step).read());
                        for v in 0..V {
                            sums[r][v] = fma(value, columns[v], sums[r][v]);
                        }
                    }
                    left = left.add(1);
                    right = right.add(V * LANES);
                }
                let (low, high) = (splat(t.min), splat(t.max));
                if whole {
                    for r in 0..R {
                        for v in 0..V {
                            let at = r * t.out_step + v * LANES;
                            let mut value = sums[r][v];
                            if !t.residual.is_null() {
                                value = add(value, load(t.residual.add(at)));
                            }
                            store(t.out.add(at), min(max(value, low), high));
                        }
                    }
                } else {
                    for r in 0..R {
                        for v in 0..V {
                            let (at, n) = (r * t.out_step + v * LANES, valid(v));
                            if n == 0 {
                                continue;
                            }
                            let mut value = sums[r][v];
                            if !t.residual.is_null() {
                                value = add(value, load_part(t.residual.add(at), n));
                            }
                            store_part(t.out.add(at), min(max(value, low), high), n);
                        }
                    }
                }
            }
        }

        /// Copies `count` values.
        $(#[$feature])?
        #[inline]
        unsafe fn copy(to: *mut f32, from: *const f32, count: usize) {
            // SAFETY: the caller vouches for `count` values at both pointers.
            unsafe {
                let mut at = 0;
                while at + LANES <= count {
                    store(to.add(at), load(from.add(at)));
                    at += LANES;
                }
                if at < count {
                    store_part(to.add(at), load_part(from.add(at), count - at), count - at);
                }
            }
        }

        /// Lays windows out in rows.
        $(#[$feature])?
        unsafe fn gather(w: &Windows) {
            // SAFETY: the caller vouches for all that `Windows` says.
            unsafe {
                for pixel in 0..w.pixels {
                    let mut to = w.to.add(pixel * w.to_step);
                    let from = w.from.add(pixel * w.pixel_step);
                    for line in 0..w.lines {
                        for block in 0..w.blocks {
                            copy(to, from.add(line * w.line_step + block * w.block_step), w.run);
                            to = to.add(w.run);
                        }
                    }
                }
            }
        }

        /// Bᵀ d B of 4×4 pixels d, for each channel.
        $(#[$feature])?
        unsafe fn spread(p: &Patch) {
            let mut from = 0;
            while from < p.channels {
                let n = (p.channels - from).min(LANES);
                let mut d = [[splat(0.0); 4]; 4];
                // SAFETY: the caller vouches for all that `Patch` says: the pixels marked as there, and places of whole vectors.
                unsafe {
                    for y in p.rows[0]..p.rows[1] {
                        for x in p.columns[0]..p.columns[1] {
                            let at = p.image.wrapping_offset(
                                (y * p.line_step + x * p.channels + from).wrapping_sub(p.origin).cast_signed(),
                            );
                            d[y][x] = if n == LANES { load(at) } else { load_part(at, n) };
                        }
                    }
                    let mut half = d;
                    for x in 0..4 {
                        let [a, b, c, e] = [d[0][x], d[1][x], d[2][x], d[3][x]];
                        half[0][x] = sub(a, c);
                        half[1][x] = add(b, c);
                        half[2][x] = sub(c, b);
                        half[3][x] = sub(b, e);
                    }
                    for y in 0..4 {
                        let [a, b, c, e] = half[y];
                        for (x, value) in [sub(a, c), add(b, c), sub(c, b), sub(b, e)].into_iter().enumerate() {
                            store(p.values.add((4 * y + x) * p.value_step + from), value);
                        }
                    }
                }
                from += LANES;
            }
        }

        /// Aᵀ m A of 4×4 values m, which are 2×2 pixels, for each channel.
        $(#[$feature])?
        unsafe fn collect(p: &Patch, bias: *const f32, residual: *const f32, (low, high): (f32, f32)) {
            let (low, high) = (splat(low), splat(high));
            let mut from = 0;
            while from < p.channels {
                let n = (p.channels - from).min(LANES);
                // SAFETY: the caller vouches for all that `Patch` says, a bias of whole vectors, and a residual as large as the image.
                unsafe {
                    let value = |at: usize| load(p.values.add(at * p.value_step + from));
                    let mut half = [[splat(0.0); 4]; 2];
                    for x in 0..4 {
                        let [a, b, c, e] = [value(x), value(4 + x), value(8 + x), value(12 + x)];
                        half[0][x] = add(add(a, b), c);
                        half[1][x] = sub(sub(b, c), e);
                    }
                    let bias = load(bias.add(from));
                    for y in p.rows[0]..p.rows[1] {
                        let [a, b, c, e] = half[y];
                        let pair = [add(add(a, b), c), sub(sub(b, c), e)];
                        for x in p.columns[0]..p.columns[1] {
                            let at = y * p.line_step + x * p.channels + from;
                            let mut value = add(pair[x], bias);
                            if !residual.is_null() {
                                let other = residual.add(at);
                                value = add(value, if n == LANES { load(other) } else { load_part(other, n) });
                            }
                            value = min(max(value, low), high);
                            let to = p.image.add(at);
                            if n == LANES { store(to, value) } else { store_part(to, value, n) }
                        }
                    }
                }
                from += LANES;
            }
        }

        /// A row of a depthwise convolution.
        $(#[$feature])?
        unsafe fn depthwise(row: &Row) {
            // SAFETY: the caller vouches for all that `Row` says.
            unsafe {
                match (row.window.kernel, row.window.stride[1], row.window.dilation) {
                    ([3, 3], 1, [1, 1]) => depthwise_by::<3, 1>(row),
                    ([3, 3], 2, [1, 1]) => depthwise_by::<3, 2>(row),
                    ([5, 5], 1, [1, 1]) => depthwise_by::<5, 1>(row),
                    ([5, 5], 2, [1, 1]) => depthwise_by::<5, 2>(row),
                    ([7, 7], 1, [1, 1]) => depthwise_by::<7, 1>(row),
                    _ => depthwise_by::<0, 0>(row),
                }
            }
        }

        /// As [`depthwise`]: `K` columns of the window and steps of `S`, or any of both where they are 0.
        $(#[$feature])?
        #[inline]
        unsafe fn depthwise_by<const K: usize, const S: usize>(row: &Row) {
            let w = row.window;
            let (kernel, stride) = if K == 0 { (w.kernel[1], w.stride[1]) } else { (K, S) };
            let dilation = if K == 0 { w.dilation[1] } else { 1 };
            // Rows of the window that are within the image.
            let top = row.at * w.stride[0];
            let first_row = w.pad[0].saturating_sub(top).div_ceil(w.dilation[0]);
            let rows = (w.input[0] + w.pad[0]).saturating_sub(top).div_ceil(w.dilation[0]).min(w.kernel[0]);
            // Outputs all of whose columns are within the image.
            let reach = (kernel - 1) * dilation;
            let inner_from = w.pad[1].div_ceil(stride).min(w.output[1]);
            let inner_to = match (w.input[1] + w.pad[1]).checked_sub(reach + 1) {
                Some(room) => (room / stride + 1).clamp(inner_from, w.output[1]),
                None => inner_from,
            };
            let (low, high) = (splat(row.min), splat(row.max));
            let (c, line) = (row.channels, w.input[1] * row.channels);
            // SAFETY: the caller vouches for the image, the output row, and weights and bias of whole vectors. Rows and columns are
            // kept within the image as computed above, channels of a last part vector within `channels`.
            unsafe {
                let mut from = 0;
                while from < c {
                    let n = (c - from).min(LANES);
                    let weights = row.weights.add(from);
                    let bias = load(row.bias.add(from));
                    let image = row.image.add(from);
                    let fetch = |p: *const f32| if n == LANES { load(p) } else { load_part(p, n) };
                    let put = |x: usize, sum: Vector| {
                        let p = row.out.add(x * c + from);
                        let value = min(max(sum, low), high);
                        if n == LANES { store(p, value) } else { store_part(p, value, n) }
                    };
                    let edge = |x: usize| {
                        // Columns of the window that are within the image.
                        let left = x * stride;
                        let first = w.pad[1].saturating_sub(left).div_ceil(dilation);
                        let end = (w.input[1] + w.pad[1]).saturating_sub(left).div_ceil(dilation);
                        let mut sum = bias;
                        for ky in first_row..rows {
                            let y = top + ky * w.dilation[0] - w.pad[0];
                            for kx in first..end.min(kernel) {
                                let at = left + kx * dilation - w.pad[1];
                                let value = fetch(image.add(y * line + at * c));
                                sum = fma(value, load(weights.add((ky * kernel + kx) * row.step)), sum);
                            }
                        }
                        put(x, sum);
                    };
                    for x in 0..inner_from {
                        edge(x);
                    }
                    let mut x = inner_from;
                    if K > 0 && n == LANES {
                        let pixels = |x: usize| image.wrapping_add(top * line + x * S * c).wrapping_sub(w.pad[0] * line + w.pad[1] * c);
                        let start = (first_row, rows);
                        while x + $long <= inner_to {
                            let sums = side_by_side::<K, S, $long>(pixels(x), (line, c), (weights, row.step), start, bias);
                            for (i, sum) in sums.into_iter().enumerate() {
                                put(x + i, sum);
                            }
                            x += $long;
                        }
                        while x + 3 <= inner_to {
                            let sums = side_by_side::<K, S, 3>(pixels(x), (line, c), (weights, row.step), start, bias);
                            for (i, sum) in sums.into_iter().enumerate() {
                                put(x + i, sum);
                            }
                            x += 3;
                        }
                        while x < inner_to {
                            let [sum] = side_by_side::<K, S, 1>(pixels(x), (line, c), (weights, row.step), start, bias);
                            put(x, sum);
                            x += 1;
                        }
                    }
                    for x in x..w.output[1] {
                        edge(x);
                    }
                    from += LANES;
                }
            }
        }

        /// `N` outputs side by side, all of whose columns are within the image: `pixel` is where the window of the first would begin,
        /// of whose rows `from .. to` are within the image.
        $(#[$feature])?
        #[inline]
        unsafe fn side_by_side<const K: usize, const S: usize, const N: usize>(
            pixel: *const f32,
            (line, channels): (usize, usize),
            (weights, step): (*const f32, usize),
            (from, to): (usize, usize),
            bias: Vector,
        ) -> [Vector; N] {
            let mut sums = [bias; N];
            for ky in from..to {
                // SAFETY: the caller vouches for rows and columns, and for K × K weights of whole vectors.
                unsafe {
                    let pixel = pixel.wrapping_add(ky * line);
                    let taps = weights.add(ky * K * step);
                    for kx in 0..K {
                        let weight = load(taps.add(kx * step));
                        for (i, sum) in sums.iter_mut().enumerate() {
                            *sum = fma(load(pixel.add((i * S + kx) * channels)), weight, *sum);
                        }
                    }
                }
            }
            sums
        }

        /// Calls `each` with every place of the window of output (row.at, x) within the image.
        $(#[$feature])?
        #[inline]
        unsafe fn pooled(
            row: &Row,
            x: usize,
            from: usize,
            start: Vector,
            step: impl Fn(Vector, Vector) -> Vector,
        ) -> (Vector, usize) {
            let w = row.window;
            let n = (row.channels - from).min(LANES);
            let (mut result, mut count) = (start, 0);
            for ky in 0..w.kernel[0] {
                let y = (row.at * w.stride[0] + ky * w.dilation[0]).wrapping_sub(w.pad[0]);
                if y >= w.input[0] {
                    continue;
                }
                for kx in 0..w.kernel[1] {
                    let column = (x * w.stride[1] + kx * w.dilation[1]).wrapping_sub(w.pad[1]);
                    if column >= w.input[1] {
                        continue;
                    }
                    // SAFETY: y and column are within the image, from .. from + n within its channels.
                    let value = unsafe {
                        let p = row.image.add((y * w.input[1] + column) * row.channels + from);
                        if n == LANES { load(p) } else { load_part(p, n) }
                    };
                    result = step(result, value);
                    count += 1;
                }
            }
            (result, count)
        }

        /// Writes `value` to the channels from `from` on of output x.
        $(#[$feature])?
        #[inline]
        unsafe fn put(row: &Row, x: usize, from: usize, value: Vector) {
            let n = (row.channels - from).min(LANES);
            // SAFETY: the caller vouches for the output row.
            unsafe {
                let p = row.out.add(x * row.channels + from);
                if n == LANES { store(p, value) } else { store_part(p, value, n) }
            }
        }

        /// A row of a pool of maxima.
        $(#[$feature])?
        unsafe fn max_pool(row: &Row) {
            for x in 0..row.window.output[1] {
                for from in (0..row.channels).step_by(LANES) {
                    // SAFETY: the caller vouches for all that `Row` says.
                    unsafe {
                        let start = splat(f32::NEG_INFINITY);
                        let (value, _) = pooled(row, x, from, start, |a, b| max(a, b));
                        put(row, x, from, value);
                    }
                }
            }
        }

        /// A row of a pool of means.
        $(#[$feature])?
        unsafe fn average_pool(row: &Row, count_padding: bool) {
            let w = row.window;
            let within = |axis: usize, at: usize| {
                let padded = w.input[axis] + w.pad[axis] + w.pad_end[axis];
                let left = padded.saturating_sub(at * w.stride[axis]).div_ceil(w.dilation[axis]);
                left.min(w.kernel[axis])
            };
            for x in 0..w.output[1] {
                for from in (0..row.channels).step_by(LANES) {
                    // SAFETY: the caller vouches for all that `Row` says.
                    unsafe {
                        let (sum, count) = pooled(row, x, from, splat(0.0), |a, b| add(a, b));
                        let count = if count_padding { within(0, row.at) * within(1, x) } else { count };
                        put(row, x, from, mul(sum, splat((count as f32).recip())));
                    }
                }
            }
        }

        /// Applies an activation.
        $(#[$feature])?
        unsafe fn activate(activation: Activation, values: &mut [f32]) {
            math::activate(activation, values);
        }

        /// Two tensors value by value.
        $(#[$feature])?
        unsafe fn combine(op: BinaryOp, swapped: bool, out: &mut [f32], a: &[f32], b: &[f32]) {
            math::combine(op, swapped, out, a, b);
        }

        /// out += x.
        $(#[$feature])?
        unsafe fn accumulate(out: &mut [f32], x: &[f32]) {
            math::accumulate(out, x);
        }

        /// A row of an affine map.
        $(#[$feature])?
        unsafe fn affine(out: &mut [f32], x: &[f32], scale: &[f32], shift: &[f32]) {
            math::affine(out, x, scale, shift);
        }

        /// A row of a layer normalisation.
        $(#[$feature])?
        unsafe fn layer_norm(out: &mut [f32], x: &[f32], scale: &[f32], shift: &[f32], epsilon: f32) {
            math::layer_norm(out, x, scale, shift, epsilon);
        }
    };
}

pub(super) use kernels;
