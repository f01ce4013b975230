//! How many warps of a kernel fit on a multiprocessor, by what the driver knows of its registers and shared memory.

use cudarc::driver::sys::{self, CUresult};

/// What this module calls, which a run does without where it is missing.
const FUNCTIONS: [&[u8]; 5] = [
    b"cuGraphGetNodes\0",
    b"cuGraphNodeGetType\0",
    b"cuGraphKernelNodeGetParams_v2\0",
    b"cuKernelGetFunction\0",
    b"cuOccupancyMaxActiveBlocksPerMultiprocessor\0",
];
/// Threads of a warp on every NVIDIA GPU (CUDA C++ Programming Guide, "Hardware Multithreading").
const WARP: usize = 32;
/// Kernels of one step that are looked at; more are none of ours.
const MOST: usize = 64;

fn known() -> bool {
    #[expect(unsafe_code, reason = "C functions are looked up")]
    // SAFETY: they are looked for, not called.
    unsafe {
        let library = sys::culib();
        FUNCTIONS.iter().all(|name| library.get::<unsafe extern "C" fn()>(*name).is_ok())
    }
}

/// The mean theoretical occupancy (0 to 1) of a graph's kernels on a device that takes `threads` threads a
/// multiprocessor; `None` where it has none, or the driver does not tell.
pub(super) fn of(graph: sys::CUgraph, threads: usize) -> Option<f64> {
    if !known() {
        return None;
    }
    let nodes = nodes(graph)?;
    let mut sum = 0.0;
    let mut kernels = 0;
    for node in nodes {
        let mut kind = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the node is the graph's, and one value is written.
        let told = unsafe { sys::cuGraphNodeGetType(node, &raw mut kind) };
        if told != CUresult::CUDA_SUCCESS {
            return None;
        }
        if kind == sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL {
            sum += kernel(node, threads)?;
            kernels += 1;
        }
    }
    (kernels > 0).then(|| sum / f64::from(kernels))
}

fn nodes(graph: sys::CUgraph) -> Option<Vec<sys::CUgraphNode>> {
    let mut nodes = vec![std::ptr::null_mut(); MOST];
    let mut count = MOST;
    #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
    // SAFETY: there is room for as many nodes as `count` says.
    let told = unsafe { sys::cuGraphGetNodes(graph, nodes.as_mut_ptr(), &raw mut count) };
    nodes.truncate(count.min(MOST));
    (told == CUresult::CUDA_SUCCESS).then_some(nodes)
}

fn kernel(node: sys::CUgraphNode, most_threads: usize) -> Option<f64> {
    #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
    // SAFETY: the node is a kernel's; the structure is plain numbers and pointers, for which zero is a value; a kernel
    // of a library has `kern` in place of `func`.
    let (blocks, threads) = unsafe {
        let mut node_of: sys::CUDA_KERNEL_NODE_PARAMS = std::mem::zeroed();
        let told = sys::cuGraphKernelNodeGetParams_v2(node, &raw mut node_of);
        if told != CUresult::CUDA_SUCCESS {
            return None;
        }
        let mut function = node_of.func;
        if function.is_null() {
            let told = sys::cuKernelGetFunction(&raw mut function, node_of.kern);
            if told != CUresult::CUDA_SUCCESS {
                return None;
            }
        }
        let threads = node_of.blockDimX * node_of.blockDimY * node_of.blockDimZ;
        let mut blocks = 0;
        let told = sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &raw mut blocks,
            function,
            threads.cast_signed(),
            node_of.sharedMemBytes as usize,
        );
        if told != CUresult::CUDA_SUCCESS {
            return None;
        }
        (blocks, threads)
    };
    Some(share(usize::try_from(blocks).ok()?, threads as usize, most_threads))
}

/// Warps of `blocks` blocks as a share of those that fit.
fn share(blocks: usize, threads: usize, most_threads: usize) -> f64 {
    let fit = (most_threads / WARP).max(1);
    (blocks * threads.div_ceil(WARP)) as f64 / fit as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_are_counted_whole() {
        assert!((share(2, 256, 2048) - 0.25).abs() < 1e-12);
        assert!((share(8, 33, 2048) - 0.25).abs() < 1e-12, "a warp of one thread is a warp");
        assert!((share(16, 128, 2048) - 1.0).abs() < 1e-12);
    }
}
