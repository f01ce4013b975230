// Everything but tensor-core convolutions, for tensors of halves (-DHALVES) or of floats; sums are floats in either.
//
// Kernels whose name ends in _8 take eight values at once: the innermost axis must be a multiple of eight.

#include "common.cuh"

#ifdef HALVES
typedef u16 T;
#else
typedef float T;
#endif

__device__ __forceinline__ u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

// ---- the input -----------------------------------------------------------------------------------------------------

struct Normalise {
    u64 y, x;
    int pixels; // of all images, of y
    int side, width; // of x; a row of y has `width` pixels, of which those past `side` are zero
    int channels; // of y: 3, or 4 of which the last is zero
    float mean[3], scale[3];
};

// Bytes, N x side x side x 3 -> (x - mean) * scale.
extern "C" __global__ void normalise(const Normalise p) {
    const u64 i = thread_index();
    if (i >= (u64)p.pixels) return;
    const int column = i % p.width;
    const u64 row = i / p.width;
    float v[4] = {0.f, 0.f, 0.f, 0.f};
    if (column < p.side) {
        const u8* x = (const u8*)p.x + (row * p.side + column) * 3;
#pragma unroll
        for (int c = 0; c < 3; c++) v[c] = ((float)x[c] - p.mean[c]) * p.scale[c];
    }
    if (p.channels == 4) {
#ifdef HALVES
        ((uint2*)p.y)[i] = make_uint2((u32)f2h(v[0]) | ((u32)f2h(v[1]) << 16), (u32)f2h(v[2]));
#else
        ((float4*)p.y)[i] = make_float4(v[0], v[1], v[2], 0.f);
#endif
    } else {
        store<3>((T*)p.y + 3 * i, v);
    }
}

// The same for rows without padding and 4 channels, four pixels a thread: loads and stores of whole words.
extern "C" __global__ void normalise_by4(const Normalise p) {
    const u64 i = thread_index();
    if (4 * i >= (u64)p.pixels) return;
    u32 words[3];
#pragma unroll
    for (int w = 0; w < 3; w++) words[w] = ((const u32*)p.x)[3 * i + w];
    float v[12];
#pragma unroll
    for (int k = 0; k < 12; k++)
        v[k] = ((float)((words[k / 4] >> (k % 4 * 8)) & 255u) - p.mean[k % 3]) * p.scale[k % 3];
#ifdef HALVES
#pragma unroll
    for (int pair = 0; pair < 2; pair++) {
        const float* a = v + 6 * pair;
        ((uint4*)p.y)[2 * i + pair] = make_uint4(
            (u32)f2h(a[0]) | ((u32)f2h(a[1]) << 16), (u32)f2h(a[2]),
            (u32)f2h(a[3]) | ((u32)f2h(a[4]) << 16), (u32)f2h(a[5]));
    }
#else
#pragma unroll
    for (int k = 0; k < 4; k++)
        ((float4*)p.y)[4 * i + k] = make_float4(v[3 * k], v[3 * k + 1], v[3 * k + 2], 0.f);
#endif
}

struct Convert {
    u64 y, x;
    int count;
};

extern "C" __global__ void to_floats(const Convert p) {
    const u64 i = thread_index();
    if (i >= (u64)p.count) return;
    load<1>((const T*)p.x + i, (float*)p.y + i);
}

// ---- value by value ------------------------------------------------------------------------------------------------

struct Binary {
    u64 y, x, other;
    int count;    // chunks of all images
    int image;    // values of one image
    int channels; // of `other` where it has one value a channel, else 0
    int op, swapped, kind;
    float a, b;
};

template <int V>
__device__ __forceinline__ void binary(const Binary& p) {
    const u64 i = thread_index();
    if (i >= (u64)p.count) return;
    const u64 at = i * V;
    const u64 from = p.channels ? at / p.image * p.channels + at % p.channels : at;
    float x[V], o[V];
    load<V>((const T*)p.x + at, x);
    load<V>((const T*)p.other + from, o);
#pragma unroll
    for (int e = 0; e < V; e++) {
        float l = p.swapped ? o[e] : x[e], r = p.swapped ? x[e] : o[e];
        x[e] = p.op == 0 ? l + r : p.op == 1 ? l - r : p.op == 2 ? l * r : l / r;
    }
    activate_all<V>(p.kind, p.a, p.b, x);
    store<V>((T*)p.y + at, x);
}

extern "C" __global__ void binary_8(const Binary p) { binary<8>(p); }
extern "C" __global__ void binary_1(const Binary p) { binary<1>(p); }

struct Affine {
    u64 y, x, scale, shift; // scale and shift are floats; without them only the activation is done
    int count;              // chunks of all images
    int channels, kind;
    float a, b;
};

template <int V>
__device__ __forceinline__ void affine(const Affine& p) {
    const u64 i = thread_index();
    if (i >= (u64)p.count) return;
    const u64 at = i * V;
    float x[V], s[V], t[V];
    load<V>((const T*)p.x + at, x);
    if (p.scale) {
        const int c = at % p.channels;
        load<V>((const float*)p.scale + c, s);
        load<V>((const float*)p.shift + c, t);
#pragma unroll
        for (int e = 0; e < V; e++) x[e] = x[e] * s[e] + t[e];
    }
    activate_all<V>(p.kind, p.a, p.b, x);
    store<V>((T*)p.y + at, x);
}

extern "C" __global__ void affine_8(const Affine p) { affine<8>(p); }
extern "C" __global__ void affine_1(const Affine p) { affine<1>(p); }

// ---- moving values -------------------------------------------------------------------------------------------------

struct Copy {
    u64 y, x;
    int count; // chunks of all rows
    int chunks; // of a row
    int ldx, x0, ldy, y0; // values of a row, and the first one taken and written
};

template <int V>
__device__ __forceinline__ void copy(const Copy& p) {
    const u64 i = thread_index();
    if (i >= (u64)p.count) return;
    const u64 row = i / p.chunks;
    const int at = (i - row * p.chunks) * V;
    float v[V];
    load<V>((const T*)p.x + row * p.ldx + p.x0 + at, v);
    store<V>((T*)p.y + row * p.ldy + p.y0 + at, v);
}

extern "C" __global__ void copy_8(const Copy p) { copy<8>(p); }
extern "C" __global__ void copy_1(const Copy p) { copy<1>(p); }

struct Pad {
    u64 y, x;
    int count; // values of all images, of y
    int h, w, channels, top, left, height, width; // height and width are y's
    float value;
};

extern "C" __global__ void pad(const Pad p) {
    const u64 i = thread_index();
    if (i >= (u64)p.count) return;
    const int c = i % p.channels;
    u64 t = i / p.channels;
    const int column = (int)(t % p.width) - p.left;
    t /= p.width;
    const int row = (int)(t % p.height) - p.top;
    const u64 n = t / p.height;
    float v = p.value;
    if (row >= 0 && row < p.h && column >= 0 && column < p.w)
        load<1>((const T*)p.x + ((n * p.h + row) * p.w + column) * p.channels + c, &v);
    store<1>((T*)p.y + i, &v);
}

#define AXES 6

struct Transpose {
    u64 y, x;
    int count; // values of all images
    int image; // values of one
    int sizes[AXES];   // of y, outermost first; ones in front
    int strides[AXES]; // how far one step along each is in x
};

extern "C" __global__ void transpose(const Transpose p) {
    const u64 i = thread_index();
    if (i >= (u64)p.count) return;
    const u64 n = i / p.image;
    int left = i - n * p.image;
    u64 from = n * p.image;
#pragma unroll
    for (int axis = AXES - 1; axis >= 0; axis--) {
        from += (u64)(left % p.sizes[axis]) * p.strides[axis];
        left /= p.sizes[axis];
    }
    ((T*)p.y)[i] = ((const T*)p.x)[from];
}

// ---- windows -------------------------------------------------------------------------------------------------------

struct Depthwise {
    u64 y, x, w, bias, z; // w is [R, S, C]
    int count;            // threads with work
    int H, W, C, OH, OW, R, S, sh, sw, dh, dw, ph, pw;
    int groups; // threads along a row of y
    int kind;
    float a, b;
};

template <int V>
__device__ __forceinline__ void depthwise_end(const Depthwise& p, float* v, u64 at, int c) {
    float t[V];
    if (p.bias) {
        load<V>((const float*)p.bias + c, t);
#pragma unroll
        for (int e = 0; e < V; e++) v[e] += t[e];
    }
    if (p.z) {
        load<V>((const T*)p.z + at, t);
#pragma unroll
        for (int e = 0; e < V; e++) v[e] += t[e];
    }
    activate_all<V>(p.kind, p.a, p.b, v);
    store<V>((T*)p.y + at, v);
}

// K x K, stride ST both ways: eight channels of TW outputs in a row, so that an input serves several of them.
template <int K, int ST, int TW>
__device__ __forceinline__ void depthwise_row(const Depthwise& p) {
    const u64 i = thread_index();
    if (i >= (u64)p.count) return;
    const int c8 = p.C / 8;
    const int c = (int)(i % c8) * 8;
    u64 t = i / c8;
    const int ow = (int)(t % p.groups) * TW;
    t /= p.groups;
    const int oh = (int)(t % p.OH);
    const u64 n = t / p.OH;
    float acc[TW][8];
#pragma unroll
    for (int o = 0; o < TW; o++)
#pragma unroll
        for (int e = 0; e < 8; e++) acc[o][e] = 0.f;
    const T* image = (const T*)p.x + n * p.H * p.W * p.C + c;
#pragma unroll(K > 3 ? 1 : K)
    for (int r = 0; r < K; r++) {
        const int ih = oh * ST - p.ph + r;
        if (ih < 0 || ih >= p.H) continue;
        float w[K][8];
#pragma unroll
        for (int s = 0; s < K; s++) load<8>((const T*)p.w + (r * K + s) * p.C + c, w[s]);
#pragma unroll
        for (int j = 0; j < (TW - 1) * ST + K; j++) {
            const int iw = ow * ST - p.pw + j;
            if (iw < 0 || iw >= p.W) continue;
            float v[8];
            load<8>(image + ((u64)ih * p.W + iw) * p.C, v);
#pragma unroll
            for (int o = 0; o < TW; o++) {
                const int s = j - o * ST;
                if (s < 0 || s >= K) continue;
#pragma unroll
                for (int e = 0; e < 8; e++) acc[o][e] += v[e] * w[s][e];
            }
        }
    }
#pragma unroll
    for (int o = 0; o < TW; o++)
        if (ow + o < p.OW) depthwise_end<8>(p, acc[o], ((n * p.OH + oh) * p.OW + ow + o) * p.C + c, c);
}

template <int V>
__device__ __forceinline__ void depthwise_any(const Depthwise& p) {
    const u64 i = thread_index();
    if (i >= (u64)p.count) return;
    const int chunks = p.C / V;
    const int c = (int)(i % chunks) * V;
    u64 t = i / chunks;
    const int ow = (int)(t % p.OW);
    t /= p.OW;
    const int oh = (int)(t % p.OH);
    const u64 n = t / p.OH;
    float acc[V] = {};
    for (int r = 0; r < p.R; r++) {
        const int ih = oh * p.sh - p.ph + r * p.dh;
        if (ih < 0 || ih >= p.H) continue;
        for (int s = 0; s < p.S; s++) {
            const int iw = ow * p.sw - p.pw + s * p.dw;
            if (iw < 0 || iw >= p.W) continue;
            float v[V], w[V];
            load<V>((const T*)p.x + ((n * p.H + ih) * p.W + iw) * p.C + c, v);
            load<V>((const T*)p.w + (r * p.S + s) * p.C + c, w);
#pragma unroll
            for (int e = 0; e < V; e++) acc[e] += v[e] * w[e];
        }
    }
    depthwise_end<V>(p, acc, i * V, c);
}

extern "C" __global__ void depthwise_3_1(const Depthwise p) { depthwise_row<3, 1, 4>(p); }
extern "C" __global__ void depthwise_3_2(const Depthwise p) { depthwise_row<3, 2, 2>(p); }
extern "C" __global__ void depthwise_5_1(const Depthwise p) { depthwise_row<5, 1, 4>(p); }
extern "C" __global__ void depthwise_5_2(const Depthwise p) { depthwise_row<5, 2, 2>(p); }
extern "C" __global__ void depthwise_7_1(const Depthwise p) { depthwise_row<7, 1, 4>(p); }
extern "C" __global__ void depthwise_8(const Depthwise p) { depthwise_any<8>(p); }
extern "C" __global__ void depthwise_1(const Depthwise p) { depthwise_any<1>(p); }

struct Pool {
    u64 y, x;
    int count; // chunks of all images, of y
    int H, W, C, OH, OW, R, S, sh, sw, dh, dw, ph, pw;
    int bottom, right; // padding that counts
    int mode;          // 0 greatest, 1 mean of what is inside, 2 mean with padding
};

template <int V>
__device__ __forceinline__ void pool(const Pool& p) {
    const u64 i = thread_index();
    if (i >= (u64)p.count) return;
    const int chunks = p.C / V;
    const int c = (int)(i % chunks) * V;
    u64 t = i / chunks;
    const int ow = (int)(t % p.OW);
    t /= p.OW;
    const int oh = (int)(t % p.OH);
    const u64 n = t / p.OH;
    float acc[V];
#pragma unroll
    for (int e = 0; e < V; e++) acc[e] = p.mode == 0 ? __int_as_float(0xff800000) : 0.f;
    int inside = 0, padded = 0;
    for (int r = 0; r < p.R; r++) {
        const int ih = oh * p.sh - p.ph + r * p.dh;
        for (int s = 0; s < p.S; s++) {
            const int iw = ow * p.sw - p.pw + s * p.dw;
            padded += ih < p.H + p.bottom && iw < p.W + p.right;
            if (ih < 0 || ih >= p.H || iw < 0 || iw >= p.W) continue;
            inside++;
            float v[V];
            load<V>((const T*)p.x + ((n * p.H + ih) * p.W + iw) * p.C + c, v);
#pragma unroll
            for (int e = 0; e < V; e++) acc[e] = p.mode == 0 ? fmaxf(acc[e], v[e]) : acc[e] + v[e];
        }
    }
    if (p.mode != 0) {
        const float scale = 1.f / (float)(p.mode == 1 ? inside : padded);
#pragma unroll
        for (int e = 0; e < V; e++) acc[e] *= scale;
    }
    store<V>((T*)p.y + i * V, acc);
}

extern "C" __global__ void pool_8(const Pool p) { pool<8>(p); }
extern "C" __global__ void pool_1(const Pool p) { pool<1>(p); }

// ---- sums ----------------------------------------------------------------------------------------------------------

struct Mean {
    u64 y, x;
    int positions, channels;
};

// A block: one image, 32 channels (or chunks), 8 threads that share the positions.
template <int V>
__device__ __forceinline__ void mean(const Mean& p) {
    __shared__ float sums[8][32 * V];
    const int lane = threadIdx.x & 31, part = threadIdx.x >> 5;
    const int c = (blockIdx.x * 32 + lane) * V;
    float acc[V] = {};
    if (c < p.channels) {
        const T* x = (const T*)p.x + (u64)blockIdx.y * p.positions * p.channels + c;
        for (int i = part; i < p.positions; i += 8) {
            float v[V];
            load<V>(x + (u64)i * p.channels, v);
#pragma unroll
            for (int e = 0; e < V; e++) acc[e] += v[e];
        }
    }
#pragma unroll
    for (int e = 0; e < V; e++) sums[part][e * 32 + lane] = acc[e];
    __syncthreads();
    if (part || c >= p.channels) return;
    const float scale = 1.f / (float)p.positions;
#pragma unroll
    for (int e = 0; e < V; e++) {
        float sum = 0.f;
        for (int i = 0; i < 8; i++) sum += sums[i][e * 32 + lane];
        acc[e] = sum * scale;
    }
    store<V>((T*)p.y + (u64)blockIdx.y * p.channels + c, acc);
}

extern "C" __global__ void mean_8(const Mean p) { mean<8>(p); }
extern "C" __global__ void mean_1(const Mean p) { mean<1>(p); }

__device__ __forceinline__ float warp_sum(float v) {
    for (int step = 16; step; step >>= 1) v += __shfl_xor_sync(0xffffffff, v, step);
    return v;
}

struct Rows {
    u64 y, x, scale, shift; // scale and shift are floats
    int rows, len;          // of all images
    float epsilon;
};

// A warp a row.
extern "C" __global__ void softmax(const Rows p) {
    const u64 row = thread_index() / 32;
    const int lane = threadIdx.x & 31;
    if (row >= (u64)p.rows) return;
    const T* x = (const T*)p.x + row * p.len;
    float greatest = __int_as_float(0xff800000), sum = 0.f, v;
    for (int i = lane; i < p.len; i += 32) {
        load<1>(x + i, &v);
        greatest = fmaxf(greatest, v);
    }
    for (int step = 16; step; step >>= 1) greatest = fmaxf(greatest, __shfl_xor_sync(0xffffffff, greatest, step));
    for (int i = lane; i < p.len; i += 32) {
        load<1>(x + i, &v);
        sum += expf(v - greatest);
    }
    const float scale = 1.f / warp_sum(sum);
    for (int i = lane; i < p.len; i += 32) {
        load<1>(x + i, &v);
        v = expf(v - greatest) * scale;
        store<1>((T*)p.y + row * p.len + i, &v);
    }
}

extern "C" __global__ void layer_norm(const Rows p) {
    const u64 row = thread_index() / 32;
    const int lane = threadIdx.x & 31;
    if (row >= (u64)p.rows) return;
    const T* x = (const T*)p.x + row * p.len;
    float sum = 0.f, v;
    for (int i = lane; i < p.len; i += 32) {
        load<1>(x + i, &v);
        sum += v;
    }
    const float middle = warp_sum(sum) / (float)p.len;
    sum = 0.f;
    for (int i = lane; i < p.len; i += 32) {
        load<1>(x + i, &v);
        sum += (v - middle) * (v - middle);
    }
    const float scale = rsqrtf(warp_sum(sum) / (float)p.len + p.epsilon);
    for (int i = lane; i < p.len; i += 32) {
        load<1>(x + i, &v);
        v = (v - middle) * scale * ((const float*)p.scale)[i] + ((const float*)p.shift)[i];
        store<1>((T*)p.y + row * p.len + i, &v);
    }
}

struct Lrn {
    u64 y, x;
    int count; // values of all images
    int channels, size;
    float alpha, beta, bias; // alpha is already divided by size
};

extern "C" __global__ void lrn(const Lrn p) {
    const u64 i = thread_index();
    if (i >= (u64)p.count) return;
    const int c = i % p.channels;
    const int first = max(c - (p.size - 1) / 2, 0), last = min(c + p.size / 2, p.channels - 1);
    float sum = 0.f, v;
    for (int k = first; k <= last; k++) {
        load<1>((const T*)p.x + (i - c) + k, &v);
        sum += v * v;
    }
    load<1>((const T*)p.x + i, &v);
    v *= powf(p.bias + p.alpha * sum, -p.beta);
    store<1>((T*)p.y + i, &v);
}

// ---- convolution without tensor cores ------------------------------------------------------------------------------

// 64 x 64 outputs a block of 256 threads, 16 values of the sum a step, any number of channels.
extern "C" __global__ void __launch_bounds__(256) sgemm(const Conv p) {
    __shared__ float xs[16][64 + 4], ws[16][64 + 4];
    const int tid = threadIdx.x;
    const int tile_m = blockIdx.x / p.ntiles, tile_n = blockIdx.x - tile_m * p.ntiles;
    const int m0 = tile_m * 64, n0 = tile_n * 64;
    const int col = tid & 15, row = tid >> 4;
    const T* x = (const T*)p.x + (u64)blockIdx.z * p.C;
    const T* w = (const T*)p.w + ((u64)blockIdx.z * p.K + n0) * p.kpad;
    int h0[4], w0[4];
    long long from[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int m = m0 + row + i * 16;
        const int ow = m % p.OW, t = m / p.OW;
        const int oh = t % p.OH, n = t / p.OH;
        h0[i] = m < p.M ? oh * p.sh - p.ph : -(1 << 28);
        w0[i] = ow * p.sw - p.pw;
        from[i] = ((long long)n * p.H * p.W + (long long)(oh * p.sh - p.ph) * p.W + w0[i]) * p.ldx;
    }
    int c = col % p.C, tap = col / p.C;
    int r = tap / p.S, s = tap - r * p.S;
    float acc[4][4] = {};
    for (int k0 = 0; k0 < p.kpad; k0 += 16) {
        const int dh = r * p.dh, dw = s * p.dw;
        const long long delta = (long long)(dh * p.W + dw) * p.ldx + c;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float v = 0.f;
            if (r < p.R && (u32)(h0[i] + dh) < (u32)p.H && (u32)(w0[i] + dw) < (u32)p.W) load<1>(x + from[i] + delta, &v);
            xs[col][row + i * 16] = v;
            v = 0.f;
            if (n0 + row + i * 16 < p.K && k0 + col < p.kpad) load<1>(w + (u64)(row + i * 16) * p.kpad + k0 + col, &v);
            ws[col][row + i * 16] = v;
        }
        c += 16;
        while (c >= p.C) {
            c -= p.C;
            if (++s == p.S) {
                s = 0;
                ++r;
            }
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++) {
            float a[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                a[i] = xs[k][row * 4 + i];
                b[i] = ws[k][col + i * 16];
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int m = m0 + row * 4 + i;
        if (m >= p.M) continue;
        const int channel = blockIdx.z * p.K + n0 + col;
        const u64 at = (u64)m * p.ldy + channel;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (n0 + col + j * 16 >= p.K) continue;
            float z = 0.f;
            if (p.z) load<1>((const T*)p.z + at + j * 16, &z);
            acc[i][j] += z + (p.bias ? ((const float*)p.bias)[channel + j * 16] : 0.f);
        }
        activate_all<4>(p.kind, p.a, p.b, acc[i]);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (n0 + col + j * 16 >= p.K) continue;
            if (p.floats)
                ((float*)p.y)[at + j * 16] = acc[i][j];
            else
                store<1>((T*)p.y + at + j * 16, acc[i] + j);
        }
    }
}
