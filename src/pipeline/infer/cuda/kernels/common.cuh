// What all kernels share. There is no #include of the toolkit's headers: NVRTC brings none for halves, so that the
// conversions are inline PTX.
//
// Each kernel takes one structure: addresses first, then 32-bit numbers (see `launch.rs`).

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ float h2f(u16 h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

__device__ __forceinline__ u16 f2h(float f) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

__device__ __forceinline__ void unpack8(uint4 v, float* f) {
    const u32 w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        f[2 * i] = h2f((u16)(w[i] & 0xffff));
        f[2 * i + 1] = h2f((u16)(w[i] >> 16));
    }
}

__device__ __forceinline__ uint4 pack8(const float* f) {
    u32 w[4];
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = (u32)f2h(f[2 * i]) | ((u32)f2h(f[2 * i + 1]) << 16);
    return make_uint4(w[0], w[1], w[2], w[3]);
}

// V values in a row as floats, from and to memory of halves or floats.
template <int V>
__device__ __forceinline__ void load(const u16* p, float* f) {
    if (V == 8) {
        unpack8(*(const uint4*)p, f);
    } else {
#pragma unroll
        for (int i = 0; i < V; i++) f[i] = h2f(p[i]);
    }
}

template <int V>
__device__ __forceinline__ void load(const float* p, float* f) {
    if (V == 8) {
        *(float4*)f = *(const float4*)p;
        *(float4*)(f + 4) = *(const float4*)(p + 4);
    } else {
#pragma unroll
        for (int i = 0; i < V; i++) f[i] = p[i];
    }
}

template <int V>
__device__ __forceinline__ void store(u16* p, const float* f) {
    if (V == 8) {
        *(uint4*)p = pack8(f);
    } else {
#pragma unroll
        for (int i = 0; i < V; i++) p[i] = f2h(f[i]);
    }
}

template <int V>
__device__ __forceinline__ void store(float* p, const float* f) {
    if (V == 8) {
        *(float4*)p = *(const float4*)f;
        *(float4*)(p + 4) = *(const float4*)(f + 4);
    } else {
#pragma unroll
        for (int i = 0; i < V; i++) p[i] = f[i];
    }
}

// Activations, as `lower.rs` numbers them. Number 0 clamps to [a, b], which is none, ReLU and clip.
__device__ __forceinline__ float activate(int kind, float a, float b, float x) {
    switch (kind) {
    case 0: return fminf(fmaxf(x, a), b);
    case 1: return x < 0.f ? a * x : x;
    case 2: return 1.f / (1.f + expf(-x));
    case 3: return fminf(fmaxf(a * x + b, 0.f), 1.f);
    case 4: return x / (1.f + expf(-x));
    case 5: return x * fminf(fmaxf(x * (1.f / 6.f) + 0.5f, 0.f), 1.f);
    case 6: return 0.5f * x * (1.f + erff(x * 0.70710678f));
    default: return tanhf(x);
    }
}

// The activation of V values. What is more than a clamp is a call, or its code would be there V times over in each kernel.
__device__ __noinline__ float4 activate4(int kind, float a, float b, float4 v) {
    v.x = activate(kind, a, b, v.x);
    v.y = activate(kind, a, b, v.y);
    v.z = activate(kind, a, b, v.z);
    v.w = activate(kind, a, b, v.w);
    return v;
}

template <int V>
__device__ __forceinline__ void activate_all(int kind, float a, float b, float* v) {
    if (V == 1) {
        v[0] = activate(kind, a, b, v[0]);
    } else if (kind == 0) {
#pragma unroll
        for (int e = 0; e < V; e++) v[e] = fminf(fmaxf(v[e], a), b);
    } else {
#pragma unroll
        for (int e = 0; e < V; e += 4) {
            float4 t = activate4(kind, a, b, make_float4(v[e], v[e + 1], v[e + 2], v[e + 3]));
            v[e] = t.x;
            v[e + 1] = t.y;
            v[e + 2] = t.z;
            v[e + 3] = t.w;
        }
    }
}

// One convolution (or matrix product: one tap, one row). A thread's place in M = images x OH x OW is `m`.
//   y[m, k] = act( sum over r, s, c of x[image, oh*sh - ph + r*dh, ow*sw - pw + s*dw, c] * w[k, r, s, c] + bias[k] + z[m, k] )
// Channels of the group that blockIdx.z says: C in, K out; a pixel has ldx values in x and ldy in y and z.
struct Conv {
    u64 y, x, w, bias, z, partial, counters;
    int M, H, W, C, K, OH, OW, R, S, sh, sw, dh, dw, ph, pw;
    int ldx, ldy;
    int kpad;   // values of a row of w, a multiple of 8; what is beyond R*S*C is zero
    int ntiles; // tiles along K
    int splits; // blocks (blockIdx.y) that share the sum of one tile
    int kind;   // activation
    float a, b;
    int floats; // y is of floats whatever else is of
};
