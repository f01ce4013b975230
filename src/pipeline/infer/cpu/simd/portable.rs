//! Plain Rust, for machines without AVX2: eight values at a time, which compilers turn into what there is.

use super::kernels::kernels;

type Vector = [f32; LANES];
const LANES: usize = 8;

kernels! {
    name: "portable",
    features: [],
    rows: 4,
    tiles: [1, 2, 3, 4],
    long: 4,
    splat: |x| [x; LANES],
    load: |p| p.cast::<Vector>().read_unaligned(),
    store: |p, v| p.cast::<Vector>().write_unaligned(v),
    load_part: |p, n| std::array::from_fn(|i| if i < n { p.add(i).read() } else { 0.0 }),
    store_part: |p, v, n| p.copy_from_nonoverlapping(v.as_ptr(), n),
    fma: |a, b, c| std::array::from_fn(|i| a[i] * b[i] + c[i]),
    add: |a, b| std::array::from_fn(|i| a[i] + b[i]),
    sub: |a, b| std::array::from_fn(|i| a[i] - b[i]),
    mul: |a, b| std::array::from_fn(|i| a[i] * b[i]),
    max: |a, b| std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] }),
    min: |a, b| std::array::from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] }),
}
