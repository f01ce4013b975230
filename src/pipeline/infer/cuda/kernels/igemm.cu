// Implicit-GEMM convolution on tensor cores: fp16 in and out, fp32 sums, mma.sync m16n8k16, cp.async (sm_80 and later).
//
// A block computes BM x BN outputs with WM x WN warps, BK values of the sum a step, STG steps under way. The loader knows
// its tap and channel, moves on by BK without a division, and lets cp.async fill in zeros for what lies outside of the image.
// V is how many channels in a row a copy takes: C must be a multiple of it.
// Where a tile's sum is split among blocks, each writes its part, and the one that comes last adds them up in order.

#include "common.cuh"

template <int BYTES>
__device__ __forceinline__ void copy_async(u32 dst, const u16* src, bool ok) {
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(dst), "l"(src), "r"(ok ? 16 : 0));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(dst), "l"(src), "n"(BYTES), "r"(ok ? BYTES : 0));
}

// Byte offset of a 16-byte chunk in a tile with rows of BK halves; the xor keeps ldmatrix free of bank conflicts.
template <int BK>
__device__ __forceinline__ u32 place(int row, int chunk) {
    if (BK == 64) return (u32)(row * 128 + ((chunk ^ (row & 7)) << 4));
    return (u32)(row * 64 + ((chunk ^ ((row >> 1) & 3)) << 4));
}

__device__ __forceinline__ void ldmatrix4(u32* r, u32 address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
}

__device__ __forceinline__ void mma(float* d, const u32* a, const u32* b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Eight outputs of one row, where rows are whole chunks and the activation clamps: bias, residual, store.
__device__ __forceinline__ void finish_chunk(const Conv& p, const float* sums, const float* bias, u64 at) {
    float v[8], t[8];
    load<8>(sums, v);
    if (p.z) {
        load<8>((const u16*)p.z + at, t);
#pragma unroll
        for (int e = 0; e < 8; e++) v[e] += t[e];
    }
#pragma unroll
    for (int e = 0; e < 8; e++) v[e] = fminf(fmaxf(v[e] + bias[e], p.a), p.b);
    store<8>((u16*)p.y + at, v);
}

// One output, whatever the rest is.
__device__ __forceinline__ float finish_one(const Conv& p, float v, int channel, u64 at) {
    if (p.bias) v += ((const float*)p.bias)[channel];
    if (p.z) v += h2f(((const u16*)p.z)[at]);
    return activate(p.kind, p.a, p.b, v);
}

template <int BM, int BN, int WM, int WN, int BK, int STG, int V>
__device__ __forceinline__ void convolve(const Conv& p) {
    constexpr int THREADS = WM * WN * 32;
    constexpr int MI = BM / WM / 16, NJ = BN / WN / 8;
    constexpr int ACOLS = BK / V, AROWS = THREADS / ACOLS, APASS = BM / AROWS;
    constexpr int BCOLS = BK / 8, BROWS = THREADS / BCOLS, BPASS = BN / BROWS;
    constexpr int STAGE = (BM + BN) * BK * 2;
    constexpr int STRIDE = BN + 8; // floats of a row of sums, so that fragments meet no bank conflict
    static_assert(APASS * AROWS == BM && BPASS * BROWS == BN, "the loaders cover the tile");
    static_assert(BM * STRIDE * 4 <= STAGE * STG, "the sums fit where the tiles were");
    extern __shared__ __align__(128) u8 smem[];
    u32 base;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(base) : "l"((u64)smem));
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int wm = (warp % WM) * (BM / WM), wn = (warp / WM) * (BN / WN);
    const int tile_m = blockIdx.x / p.ntiles, tile_n = blockIdx.x - tile_m * p.ntiles;
    const int m0 = tile_m * BM, n0 = tile_n * BN;
    const int steps = (p.kpad + BK - 1) / BK;
    const int first = (int)((u64)steps * blockIdx.y / p.splits);
    const int count = (int)((u64)steps * (blockIdx.y + 1) / p.splits) - first;

    // Where this thread's rows of the image begin, and where it is in the sum.
    const u16* x = (const u16*)p.x + (u64)blockIdx.z * p.C;
    const int acol = (tid % ACOLS) * V, arow = tid / ACOLS;
    int h0[APASS], w0[APASS];
    int from[APASS];
#pragma unroll
    for (int i = 0; i < APASS; i++) {
        int m = m0 + arow + i * AROWS;
        int ow = m % p.OW, t = m / p.OW;
        int oh = t % p.OH, n = t / p.OH;
        h0[i] = m < p.M ? oh * p.sh - p.ph : -(1 << 28);
        w0[i] = ow * p.sw - p.pw;
        from[i] = (n * p.H * p.W + (oh * p.sh - p.ph) * p.W + w0[i]) * p.ldx;
    }
    int c = first * BK + acol;
    int tap = c / p.C;
    c -= tap * p.C;
    int r = tap / p.S, s = tap - r * p.S;
    const int bcol = (tid % BCOLS) * 8, brow = tid / BCOLS;
    const u16* weights = (const u16*)p.w + ((u64)blockIdx.z * p.K + n0 + brow) * p.kpad + first * BK + bcol;
    int bk = first * BK + bcol;

    auto fetch = [&](int stage) {
        const u32 a0 = base + stage * STAGE, b0 = a0 + BM * BK * 2;
        const int dh = r * p.dh, dw = s * p.dw;
        const int delta = (dh * p.W + dw) * p.ldx + c;
        const bool inside = r < p.R;
#pragma unroll
        for (int i = 0; i < APASS; i++) {
            bool ok = inside && (u32)(h0[i] + dh) < (u32)p.H && (u32)(w0[i] + dw) < (u32)p.W;
            copy_async<V * 2>(a0 + place<BK>(arow + i * AROWS, acol / 8) + (acol & 7) * 2, x + (from[i] + delta), ok);
        }
#pragma unroll
        for (int i = 0; i < BPASS; i++) {
            bool ok = n0 + brow + i * BROWS < p.K && bk < p.kpad;
            copy_async<16>(b0 + place<BK>(brow + i * BROWS, bcol / 8), weights + (u64)i * BROWS * p.kpad, ok);
        }
        weights += BK;
        bk += BK;
        c += BK;
        while (c >= p.C) {
            c -= p.C;
            if (++s == p.S) {
                s = 0;
                ++r;
            }
        }
    };

    float acc[MI][NJ][4];
#pragma unroll
    for (int i = 0; i < MI; i++)
#pragma unroll
        for (int j = 0; j < NJ; j++) acc[i][j][0] = acc[i][j][1] = acc[i][j][2] = acc[i][j][3] = 0.f;

#pragma unroll 1
    for (int t = 0; t < STG - 1; t++) {
        if (t < count) fetch(t);
        asm volatile("cp.async.commit_group;");
    }
    int stage = 0, next = STG - 1;
    for (int kt = 0; kt < count; kt++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STG - 2));
        __syncthreads();
        if (kt + STG - 1 < count) fetch(next);
        asm volatile("cp.async.commit_group;");
        const u32 a0 = base + stage * STAGE, b0 = a0 + BM * BK * 2;
#pragma unroll
        for (int kk = 0; kk < BK / 16; kk++) {
            u32 af[MI][4], bf[NJ][2];
#pragma unroll
            for (int i = 0; i < MI; i++)
                ldmatrix4(af[i], a0 + place<BK>(wm + i * 16 + (lane & 15), kk * 2 + (lane >> 4)));
#pragma unroll
            for (int j = 0; j < NJ / 2; j++)
                ldmatrix4(bf[2 * j], b0 + place<BK>(wn + j * 16 + (lane & 7) + ((lane >> 4) << 3), kk * 2 + ((lane >> 3) & 1)));
#pragma unroll
            for (int i = 0; i < MI; i++)
#pragma unroll
                for (int j = 0; j < NJ; j++) mma(acc[i][j], af[i], bf[j]);
        }
        stage = stage + 1 == STG ? 0 : stage + 1;
        next = next + 1 == STG ? 0 : next + 1;
    }
    asm volatile("cp.async.wait_group 0;");
    __syncthreads();

    if (p.splits > 1) {
        const u32 tile = blockIdx.z * gridDim.x + blockIdx.x;
        float4* parts = (float4*)p.partial + (u64)tile * p.splits * (BM * BN / 4);
        float4* mine = parts + (u64)blockIdx.y * (BM * BN / 4) + tid;
#pragma unroll
        for (int i = 0; i < MI; i++)
#pragma unroll
            for (int j = 0; j < NJ; j++)
                mine[(i * NJ + j) * THREADS] = make_float4(acc[i][j][0], acc[i][j][1], acc[i][j][2], acc[i][j][3]);
        __threadfence();
        __shared__ u32 arrived;
        __syncthreads();
        if (tid == 0) arrived = atomicAdd((u32*)p.counters + tile, 1u);
        __syncthreads();
        if (arrived != (u32)p.splits - 1) return;
        __threadfence();
        if (tid == 0) ((u32*)p.counters)[tile] = 0;
#pragma unroll
        for (int i = 0; i < MI; i++)
#pragma unroll
            for (int j = 0; j < NJ; j++) acc[i][j][0] = acc[i][j][1] = acc[i][j][2] = acc[i][j][3] = 0.f;
        for (int part = 0; part < p.splits; part++) {
            const float4* their = parts + (u64)part * (BM * BN / 4) + tid;
#pragma unroll
            for (int i = 0; i < MI; i++)
#pragma unroll
                for (int j = 0; j < NJ; j++) {
                    float4 v = __ldcg(their + (i * NJ + j) * THREADS);
                    acc[i][j][0] += v.x;
                    acc[i][j][1] += v.y;
                    acc[i][j][2] += v.z;
                    acc[i][j][3] += v.w;
                }
        }
    }

    float* sums = (float*)smem;
#pragma unroll
    for (int i = 0; i < MI; i++)
#pragma unroll
        for (int j = 0; j < NJ; j++) {
            float* at = sums + (wm + i * 16 + (lane >> 2)) * STRIDE + wn + j * 8 + (lane & 3) * 2;
            *(float2*)at = make_float2(acc[i][j][0], acc[i][j][1]);
            *(float2*)(at + 8 * STRIDE) = make_float2(acc[i][j][2], acc[i][j][3]);
        }
    __syncthreads();
    const u64 group = (u64)blockIdx.z * p.K;
    if (p.kind == 0 && (p.K & 7) == 0 && (p.ldy & 7) == 0 && !p.floats) {
        constexpr int OCOLS = BN / 8, OROWS = THREADS / OCOLS;
        const int col = (tid % OCOLS) * 8;
        if (n0 + col >= p.K) return;
        float bias[8] = {};
        if (p.bias) load<8>((const float*)p.bias + group + n0 + col, bias);
#pragma unroll 4
        for (int row = tid / OCOLS; row < BM; row += OROWS)
            if (m0 + row < p.M)
                finish_chunk(p, sums + row * STRIDE + col, bias, (u64)(m0 + row) * p.ldy + group + n0 + col);
        return;
    }
    constexpr int PAIRS = BN / 2;
    const bool even = (p.K & 1) == 0 && (p.ldy & 1) == 0 && !p.floats;
#pragma unroll 1
    for (int at = tid; at < BM * PAIRS; at += THREADS) {
        const int row = at / PAIRS, col = (at % PAIRS) * 2;
        if (m0 + row >= p.M || n0 + col >= p.K) continue;
        const u64 to = (u64)(m0 + row) * p.ldy + group + n0 + col;
        const bool both = n0 + col + 1 < p.K;
        const float2 v = *(const float2*)(sums + row * STRIDE + col);
        const int channel = (int)group + n0 + col;
        const float first = finish_one(p, v.x, channel, to);
        const float second = both ? finish_one(p, v.y, channel + 1, to + 1) : 0.f;
        if (even) {
            *(u32*)((u16*)p.y + to) = (u32)f2h(first) | ((u32)f2h(second) << 16);
        } else if (p.floats) {
            ((float*)p.y)[to] = first;
            if (both) ((float*)p.y)[to + 1] = second;
        } else {
            ((u16*)p.y)[to] = f2h(first);
            if (both) ((u16*)p.y)[to + 1] = f2h(second);
        }
    }
}

#define KERNEL(name, BM, BN, WM, WN, BK, STG, V, BLOCKS)                                        \
    extern "C" __global__ void __launch_bounds__(WM* WN * 32, BLOCKS) name(const Conv p) {       \
        convolve<BM, BN, WM, WN, BK, STG, V>(p);                                                 \
    }

// As `tiles.rs` lists them.
KERNEL(igemm_128x128, 128, 128, 2, 4, 64, 3, 8, 2)
KERNEL(igemm_256x64, 256, 64, 4, 2, 32, 4, 8, 2)
KERNEL(igemm_128x64, 128, 64, 4, 2, 64, 3, 8, 2)
KERNEL(igemm_64x128, 64, 128, 2, 4, 64, 3, 8, 2)
KERNEL(igemm_128x32, 128, 32, 4, 1, 64, 3, 8, 3)
KERNEL(igemm_64x64, 64, 64, 2, 2, 64, 4, 8, 3)
KERNEL(igemm_32x64, 32, 64, 1, 2, 64, 4, 8, 4)
KERNEL(igemm_128x64_by4, 128, 64, 4, 2, 32, 4, 4, 2)
KERNEL(igemm_64x64_by4, 64, 64, 2, 2, 32, 4, 4, 3)
KERNEL(igemm_128x64_by2, 128, 64, 4, 2, 32, 4, 2, 2)
KERNEL(igemm_64x64_by2, 64, 64, 2, 2, 32, 4, 2, 3)
