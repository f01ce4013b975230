/* A CUDA driver without a device behind it: memory is the host's, kernels are plain loops that do what the kernels in
 * src/pipeline/infer/cuda/kernels say, on halves or floats. So the engine's own work (packing, addresses, arguments, graphs,
 * lanes) runs where there is no GPU. Built by the tests with: cc -shared -fPIC -Wl,-soname,libcuda.so.1
 *
 * -DNO_DEVICE: a driver that starts and finds no device. -DOLD: one that serves CUDA 11.4. -DLACKING: without graphs.
 * In the environment: FAKE_CUDA_KIB of memory on the device; FAKE_CUDA_BATCHES, after so many the device is lost when the next is started,
 * or with FAKE_CUDA_LATE when it is waited for; FAKE_CUDA_CAPABILITY, its generation (8 otherwise).
 * Calls fail as a driver's would where an argument is out of bounds. */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int Result;
enum { OK = 0, BAD = 1, NO_MEMORY = 2, NONE = 100, LOST = 719 };

/* ---- values ---------------------------------------------------------------------------------------------------- */

static float h2f(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023, bits;
    if (exponent == 31) bits = sign | 0x7f800000 | fraction << 13;
    else if (exponent) bits = sign | (exponent + 112) << 23 | fraction << 13;
    else {
        float f = ldexpf((float)fraction, -24);
        return h & 0x8000 ? -f : f;
    }
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static uint16_t f2h(float f) {
    uint32_t bits, sign;
    memcpy(&bits, &f, 4);
    sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits >= 0x47800000) return sign | (bits > 0x7f800000 ? 0x7e00 : 0x7c00);
    if (bits < 0x38800000) {
        float a = fabsf(f) + 0.5f;
        memcpy(&bits, &a, 4);
        return sign | (bits - 0x3f000000);
    }
    bits -= 0x38000000;
    return sign | (bits + 0xfff + (bits >> 13 & 1)) >> 13;
}

static int halves;
static float *table; /* what each half is */
static float get(uint64_t p, size_t i) { return halves ? table[((uint16_t *)p)[i]] : ((float *)p)[i]; }
static void put(uint64_t p, size_t i, float v) {
    if (halves) ((uint16_t *)p)[i] = f2h(v);
    else ((float *)p)[i] = v;
}

static float act(int kind, float a, float b, float x) {
    switch (kind) {
    case 0: return fminf(fmaxf(x, a), b);
    case 1: return x < 0 ? a * x : x;
    case 2: return 1 / (1 + expf(-x));
    case 3: return fminf(fmaxf(a * x + b, 0), 1);
    case 4: return x / (1 + expf(-x));
    case 5: return x * fminf(fmaxf(x / 6 + 0.5f, 0), 1);
    case 6: return 0.5f * x * (1 + erff(x * 0.70710678f));
    default: return tanhf(x);
    }
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

struct Conv {
    uint64_t y, x, w, bias, z, partial, counters;
    int M, H, W, C, K, OH, OW, R, S, sh, sw, dh, dw, ph, pw, ldx, ldy, kpad, ntiles, splits, kind;
    float a, b;
    int floats;
};

static void conv(const struct Conv *p, int groups) {
    float *row = malloc(sizeof(float) * p->kpad), *w = malloc(sizeof(float) * p->kpad * p->K * groups);
    for (size_t i = 0; i < (size_t)p->kpad * p->K * groups; i++) w[i] = get(p->w, i);
    for (int m = 0; m < p->M; m++) {
        int ow = m % p->OW, oh = m / p->OW % p->OH, n = m / p->OW / p->OH;
        for (int g = 0; g < groups; g++) {
            memset(row, 0, sizeof(float) * p->kpad);
            for (int r = 0; r < p->R; r++)
                for (int s = 0; s < p->S; s++) {
                    int h = oh * p->sh - p->ph + r * p->dh, v = ow * p->sw - p->pw + s * p->dw;
                    if (h < 0 || h >= p->H || v < 0 || v >= p->W) continue;
                    size_t at = (((size_t)n * p->H + h) * p->W + v) * p->ldx + (size_t)g * p->C;
                    for (int c = 0; c < p->C; c++) row[(r * p->S + s) * p->C + c] = get(p->x, at + c);
                }
            for (int k = 0; k < p->K; k++) {
                const float *filter = w + ((size_t)g * p->K + k) * p->kpad;
                float sum = 0;
                for (int i = 0; i < p->kpad; i++) sum += row[i] * filter[i];
                size_t to = (size_t)m * p->ldy + (size_t)g * p->K + k;
                if (p->bias) sum += ((float *)p->bias)[g * p->K + k];
                if (p->z) sum += get(p->z, to);
                sum = act(p->kind, p->a, p->b, sum);
                if (p->floats) ((float *)p->y)[to] = sum;
                else put(p->y, to, sum);
            }
        }
    }
    free(row);
    free(w);
}

struct Normalise {
    uint64_t y, x;
    int pixels, side, width, channels;
    float mean[3], scale[3];
};

static void normalise(const struct Normalise *p) {
    for (size_t i = 0; i < (size_t)p->pixels; i++) {
        size_t column = i % p->width, row = i / p->width;
        for (int c = 0; c < p->channels; c++) {
            float v = 0;
            if (c < 3 && column < (size_t)p->side)
                v = (((uint8_t *)p->x)[(row * p->side + column) * 3 + c] - p->mean[c]) * p->scale[c];
            put(p->y, i * p->channels + c, v);
        }
    }
}

struct Convert {
    uint64_t y, x;
    int count;
};

struct Binary {
    uint64_t y, x, other;
    int count, image, channels, op, swapped, kind;
    float a, b;
};

static void binary(const struct Binary *p, int vector) {
    for (size_t at = 0; at < (size_t)p->count * vector; at++) {
        float x = get(p->x, at);
        float o = get(p->other, p->channels ? at / p->image * p->channels + at % p->channels : at);
        float l = p->swapped ? o : x, r = p->swapped ? x : o;
        put(p->y, at, act(p->kind, p->a, p->b, p->op == 0 ? l + r : p->op == 1 ? l - r : p->op == 2 ? l * r : l / r));
    }
}

struct Affine {
    uint64_t y, x, scale, shift;
    int count, channels, kind;
    float a, b;
};

static void affine(const struct Affine *p, int vector) {
    for (size_t at = 0; at < (size_t)p->count * vector; at++) {
        float x = get(p->x, at);
        if (p->scale) x = x * ((float *)p->scale)[at % p->channels] + ((float *)p->shift)[at % p->channels];
        put(p->y, at, act(p->kind, p->a, p->b, x));
    }
}

struct Copy {
    uint64_t y, x;
    int count, chunks, ldx, x0, ldy, y0;
};

static void copy(const struct Copy *p, int vector) {
    size_t len = (size_t)p->chunks * vector;
    for (size_t row = 0; row < (size_t)p->count / p->chunks; row++)
        for (size_t i = 0; i < len; i++) put(p->y, row * p->ldy + p->y0 + i, get(p->x, row * p->ldx + p->x0 + i));
}

struct Pad {
    uint64_t y, x;
    int count, h, w, channels, top, left, height, width;
    float value;
};

static void pad(const struct Pad *p) {
    for (size_t i = 0; i < (size_t)p->count; i++) {
        int c = i % p->channels, column = (int)(i / p->channels % p->width) - p->left;
        int row = (int)(i / p->channels / p->width % p->height) - p->top;
        size_t n = i / p->channels / p->width / p->height;
        int inside = row >= 0 && row < p->h && column >= 0 && column < p->w;
        put(p->y, i, inside ? get(p->x, ((n * p->h + row) * p->w + column) * p->channels + c) : p->value);
    }
}

struct Transpose {
    uint64_t y, x;
    int count, image, sizes[6], strides[6];
};

static void transpose(const struct Transpose *p) {
    for (size_t i = 0; i < (size_t)p->count; i++) {
        size_t n = i / p->image, left = i % p->image, from = n * p->image;
        for (int axis = 5; axis >= 0; axis--) {
            from += left % p->sizes[axis] * p->strides[axis];
            left /= p->sizes[axis];
        }
        put(p->y, i, get(p->x, from));
    }
}

struct Depthwise {
    uint64_t y, x, w, bias, z;
    int count, H, W, C, OH, OW, R, S, sh, sw, dh, dw, ph, pw, groups, kind;
    float a, b;
};

static void depthwise(const struct Depthwise *p, int vector, int wide) {
    size_t rows = (size_t)p->count / (p->C / vector) / p->groups;
    if (p->groups != (p->OW + wide - 1) / wide) abort();
    for (size_t row = 0; row < rows; row++)
        for (int ow = 0; ow < p->OW; ow++)
            for (int c = 0; c < p->C; c++) {
                size_t n = row / p->OH, to = (row * p->OW + ow) * p->C + c;
                int oh = row % p->OH;
                float sum = 0;
                for (int r = 0; r < p->R; r++)
                    for (int s = 0; s < p->S; s++) {
                        int h = oh * p->sh - p->ph + r * p->dh, v = ow * p->sw - p->pw + s * p->dw;
                        if (h < 0 || h >= p->H || v < 0 || v >= p->W) continue;
                        sum += get(p->x, ((n * p->H + h) * p->W + v) * p->C + c) * get(p->w, (r * p->S + s) * p->C + c);
                    }
                if (p->bias) sum += ((float *)p->bias)[c];
                if (p->z) sum += get(p->z, to);
                put(p->y, to, act(p->kind, p->a, p->b, sum));
            }
}

struct Pool {
    uint64_t y, x;
    int count, H, W, C, OH, OW, R, S, sh, sw, dh, dw, ph, pw, bottom, right, mode;
};

static void pool(const struct Pool *p, int vector) {
    for (size_t i = 0; i < (size_t)p->count * vector; i++) {
        int c = i % p->C, ow = i / p->C % p->OW, oh = i / p->C / p->OW % p->OH, inside = 0, padded = 0;
        size_t n = i / p->C / p->OW / p->OH;
        float acc = p->mode ? 0 : -INFINITY;
        for (int r = 0; r < p->R; r++)
            for (int s = 0; s < p->S; s++) {
                int h = oh * p->sh - p->ph + r * p->dh, v = ow * p->sw - p->pw + s * p->dw;
                padded += h < p->H + p->bottom && v < p->W + p->right;
                if (h < 0 || h >= p->H || v < 0 || v >= p->W) continue;
                inside++;
                float x = get(p->x, ((n * p->H + h) * p->W + v) * p->C + c);
                acc = p->mode ? acc + x : fmaxf(acc, x);
            }
        put(p->y, i, p->mode == 0 ? acc : acc / (p->mode == 1 ? inside : padded));
    }
}

struct Mean {
    uint64_t y, x;
    int positions, channels;
};

static void mean(const struct Mean *p, int images) {
    for (int n = 0; n < images; n++)
        for (int c = 0; c < p->channels; c++) {
            float sum = 0;
            for (int i = 0; i < p->positions; i++) sum += get(p->x, ((size_t)n * p->positions + i) * p->channels + c);
            put(p->y, (size_t)n * p->channels + c, sum / p->positions);
        }
}

struct Rows {
    uint64_t y, x, scale, shift;
    int rows, len;
    float epsilon;
};

static void softmax(const struct Rows *p) {
    for (size_t row = 0; row < (size_t)p->rows; row++) {
        size_t at = row * p->len;
        float most = -INFINITY, sum = 0;
        for (int i = 0; i < p->len; i++) most = fmaxf(most, get(p->x, at + i));
        for (int i = 0; i < p->len; i++) sum += expf(get(p->x, at + i) - most);
        for (int i = 0; i < p->len; i++) put(p->y, at + i, expf(get(p->x, at + i) - most) / sum);
    }
}

static void layer_norm(const struct Rows *p) {
    for (size_t row = 0; row < (size_t)p->rows; row++) {
        size_t at = row * p->len;
        float middle = 0, variance = 0;
        for (int i = 0; i < p->len; i++) middle += get(p->x, at + i) / p->len;
        for (int i = 0; i < p->len; i++) variance += powf(get(p->x, at + i) - middle, 2) / p->len;
        for (int i = 0; i < p->len; i++)
            put(p->y, at + i,
                (get(p->x, at + i) - middle) / sqrtf(variance + p->epsilon) * ((float *)p->scale)[i] + ((float *)p->shift)[i]);
    }
}

struct Lrn {
    uint64_t y, x;
    int count, channels, size;
    float alpha, beta, bias;
};

static void lrn(const struct Lrn *p) {
    for (size_t i = 0; i < (size_t)p->count; i++) {
        int c = i % p->channels, first = c - (p->size - 1) / 2, last = c + p->size / 2;
        float sum = 0;
        for (int k = first < 0 ? 0 : first; k <= last && k < p->channels; k++) sum += powf(get(p->x, i - c + k), 2);
        put(p->y, i, get(p->x, i) * powf(p->bias + p->alpha * sum, -p->beta));
    }
}

/* ---- the driver ------------------------------------------------------------------------------------------------ */

struct Module {
    int halves;
};

struct Function {
    char name[32];
    int halves, shared;
};

struct Launch {
    struct Function *function;
    unsigned grid[3], threads;
    uint8_t arguments[256];
    void *from, *to;
    size_t bytes;
    int fill;
    struct Launch *next;
};

struct Stream {
    int capturing;
    struct Launch *first, **last;
};

struct Event {
    double ms;
};

static long batches_left = -1;
static int capability = 8, late, lost;
static size_t memory_left = (size_t)64 << 30;

static void run(const struct Launch *l) {
    const char *name = l->function->name;
    const void *a = l->arguments;
    size_t end = strlen(name);
    int vector = end > 2 && !strcmp(name + end - 2, "_8") ? 8 : 1;
    halves = l->function->halves;
    if (!strncmp(name, "igemm", 5) || !strcmp(name, "sgemm")) {
        const struct Conv *p = a;
        int columns = 0, rows = 0;
        if (sscanf(name, "igemm_%dx%d", &rows, &columns) != 2) rows = columns = 64;
        /* The grid covers the outputs, and sums are split among no more blocks than there are steps. */
        unsigned blocks = (p->M + rows - 1) / rows * ((p->K + columns - 1) / columns);
        if (l->grid[0] != blocks || (int)l->grid[1] != p->splits || p->ntiles != (p->K + columns - 1) / columns) abort();
        if (p->kpad % 8 || p->kpad < p->R * p->S * p->C) abort();
        conv(p, l->grid[2]);
    } else if (!strcmp(name, "normalise") || !strcmp(name, "normalise_by4")) normalise(a);
    else if (!strcmp(name, "to_floats")) {
        const struct Convert *p = a;
        for (int i = 0; i < p->count; i++) ((float *)p->y)[i] = get(p->x, i);
    } else if (!strncmp(name, "binary", 6)) binary(a, vector);
    else if (!strncmp(name, "affine", 6)) affine(a, vector);
    else if (!strncmp(name, "copy", 4)) copy(a, vector);
    else if (!strcmp(name, "pad")) pad(a);
    else if (!strcmp(name, "transpose")) transpose(a);
    else if (!strncmp(name, "depthwise", 9)) {
        int k, stride;
        int row = sscanf(name, "depthwise_%d_%d", &k, &stride) == 2;
        depthwise(a, row ? 8 : vector, !row ? 1 : stride == 1 ? 4 : 2);
    } else if (!strncmp(name, "pool", 4)) pool(a, vector);
    else if (!strncmp(name, "mean", 4)) mean(a, l->grid[1]);
    else if (!strcmp(name, "softmax")) softmax(a);
    else if (!strcmp(name, "layer_norm")) layer_norm(a);
    else if (!strcmp(name, "lrn")) lrn(a);
    else abort();
}

static size_t argument_bytes(const char *name) {
    static const struct {
        const char *start;
        size_t bytes;
    } known[] = {
        {"igemm", sizeof(struct Conv)},          {"sgemm", sizeof(struct Conv)},      {"normalise", sizeof(struct Normalise)},
        {"to_floats", sizeof(struct Convert)},   {"binary", sizeof(struct Binary)},   {"affine", sizeof(struct Affine)},
        {"copy", sizeof(struct Copy)},           {"pad", sizeof(struct Pad)},         {"transpose", sizeof(struct Transpose)},
        {"depthwise", sizeof(struct Depthwise)}, {"pool", sizeof(struct Pool)},       {"mean", sizeof(struct Mean)},
        {"softmax", sizeof(struct Rows)},        {"layer_norm", sizeof(struct Rows)}, {"lrn", sizeof(struct Lrn)},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strncmp(name, known[i].start, strlen(known[i].start))) return known[i].bytes;
    abort();
}

static void put_on(struct Stream *s, const struct Launch *what) {
    if (!s->capturing) {
        if (what->function) run(what);
        else if (what->from) memcpy(what->to, what->from, what->bytes);
        else memset(what->to, what->fill, what->bytes);
        return;
    }
    struct Launch *copy = malloc(sizeof *copy);
    *copy = *what;
    copy->next = NULL;
    *s->last = copy;
    s->last = &copy->next;
}

Result cuInit(unsigned flags) {
    (void)flags;
#ifdef NO_DEVICE
    return NONE;
#endif
    table = malloc(65536 * sizeof *table);
    for (int i = 0; i < 65536; i++) table[i] = h2f(i);
    const char *text = getenv("FAKE_CUDA_KIB");
    if (text) memory_left = (size_t)atol(text) << 10;
    text = getenv("FAKE_CUDA_CAPABILITY");
    if (text) capability = atoi(text);
    text = getenv("FAKE_CUDA_BATCHES");
    if (text) batches_left = atol(text);
    late = getenv("FAKE_CUDA_LATE") != NULL;
    return OK;
}

Result cuDriverGetVersion(int *version) {
#ifdef OLD
    *version = 11040;
#else
    *version = 12000;
#endif
    return OK;
}

Result cuGetErrorName(Result error, const char **text) {
    *text = error == NONE ? "CUDA_ERROR_NO_DEVICE" : error == NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR";
    return OK;
}

Result cuGetErrorString(Result error, const char **text) {
    *text = error == NONE ? "no CUDA-capable device is detected" : error == NO_MEMORY ? "out of memory" : "failed";
    return OK;
}

Result cuDeviceGet(int *device, int index) { return *device = index, OK; }
Result cuDeviceGetCount(int *count) { return *count = 1, OK; }
Result cuDeviceGetName(char *name, int len, int device) { return (void)device, snprintf(name, len, "Fake GPU"), OK; }
Result cuDeviceTotalMem_v2(size_t *bytes, int device) { return (void)device, *bytes = memory_left, OK; }
Result cuDeviceGetUuid_v2(void *uuid, int device) { return (void)device, memset(uuid, 7, 16), OK; }
Result cuDevicePrimaryCtxRetain(void **context, int device) { return (void)device, *context = malloc(1), OK; }
Result cuDevicePrimaryCtxRelease_v2(int device) { return (void)device, OK; }
Result cuCtxSetCurrent(void *context) { return (void)context, OK; }
Result cuCtxSynchronize(void) { return OK; }
Result cuMemGetInfo_v2(size_t *unused, size_t *total) { return *unused = *total = memory_left, OK; }

Result cuDeviceGetAttribute(int *value, int which, int device) {
    (void)device;
    /* an A100's shared memory and multiprocessors */
    *value = which == 75 ? capability : which == 76 ? 0 : which == 16 ? 108 : which == 97 ? 163 << 10 : which == 81 ? 164 << 10 : 0;
    return OK;
}

Result cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    if (bytes > memory_left) return NO_MEMORY;
    size_t *start = aligned_alloc(256, (bytes + 511) / 256 * 256);
    memory_left -= bytes;
    memset(start, 0xff, bytes + 256);
    start[0] = bytes;
    *address = (uint64_t)start + 256;
    return OK;
}

Result cuMemFree_v2(uint64_t address) {
    size_t *start = (size_t *)(address - 256);
    memory_left += start[0];
    free(start);
    return OK;
}

Result cuMemHostAlloc(void **start, size_t bytes, unsigned flags) { return (void)flags, *start = malloc(bytes), OK; }
Result cuMemFreeHost(void *start) { return free(start), OK; }

Result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, struct Stream *s) {
    put_on(s, &(struct Launch){.from = (void *)from, .to = (void *)to, .bytes = bytes});
    return OK;
}

Result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, struct Stream *s) {
    put_on(s, &(struct Launch){.from = (void *)from, .to = to, .bytes = bytes});
    return OK;
}

Result cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, struct Stream *s) {
    put_on(s, &(struct Launch){.to = (void *)to, .bytes = bytes, .fill = value});
    return OK;
}

Result cuStreamCreate(struct Stream **s, unsigned flags) {
    (void)flags;
    *s = calloc(1, sizeof **s);
    return OK;
}
Result cuStreamDestroy_v2(struct Stream *s) { return free(s), OK; }
Result cuStreamSynchronize(struct Stream *s) { return (void)s, OK; }

Result cuStreamWaitEvent(struct Stream *s, void *event, unsigned flags) { return (void)s, (void)event, (void)flags, OK; }

Result cuStreamBeginCapture_v2(struct Stream *s, int mode) {
    (void)mode;
    s->capturing = 1;
    s->first = NULL;
    s->last = &s->first;
    return OK;
}

Result cuStreamEndCapture(struct Stream *s, void **graph) {
    s->capturing = 0;
    *graph = s->first;
    return OK;
}

#ifndef LACKING
Result cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
    (void)flags;
    *exec = graph;
    return OK;
}
#endif

Result cuGraphLaunch(struct Launch *graph, struct Stream *s) {
    /* A batch begins with its pictures, and goes on with something else. */
    int batch = graph && graph->function && !strncmp(graph->function->name, "normalise", 9) && graph->next
        && strncmp(graph->next->function->name, "normalise", 9);
    if (batch && batches_left >= 0 && batches_left-- == 0) lost = 1;
    if (lost) return late ? OK : LOST;
    for (; graph; graph = graph->next) put_on(s, graph);
    return OK;
}

Result cuGraphUpload(void *graph, struct Stream *s) { return (void)graph, (void)s, OK; }
Result cuGraphDestroy(void *graph) { return (void)graph, OK; }

Result cuGraphExecDestroy(struct Launch *graph) {
    while (graph) {
        struct Launch *next = graph->next;
        free(graph);
        graph = next;
    }
    return OK;
}

Result cuEventCreate(struct Event **event, unsigned flags) {
    (void)flags;
    *event = calloc(1, sizeof **event);
    return OK;
}
Result cuEventDestroy_v2(struct Event *event) { return free(event), OK; }
Result cuEventSynchronize(struct Event *event) { return (void)event, lost ? LOST : OK; }

Result cuEventRecord(struct Event *event, struct Stream *s) {
    struct timespec now;
    (void)s;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->ms = now.tv_sec * 1e3 + now.tv_nsec / 1e6;
    return OK;
}

Result cuEventElapsedTime(float *ms, struct Event *from, struct Event *to) { return *ms = to->ms - from->ms, OK; }

Result cuModuleLoadData(struct Module **module, const char *ptx) {
    if (strncmp(ptx, "// made by", 10)) return BAD;
    *module = malloc(sizeof **module);
    (*module)->halves = strstr(ptx, ".target sm_80") != NULL;
    return OK;
}
Result cuModuleUnload(struct Module *module) { return free(module), OK; }

Result cuModuleGetFunction(struct Function **function, struct Module *module, const char *name) {
    *function = calloc(1, sizeof **function);
    snprintf((*function)->name, sizeof (*function)->name, "%s", name);
    (*function)->halves = module->halves;
    /* 128 bytes are the kernel's own. */
    (*function)->shared = (48 << 10) - 128;
    return OK;
}

Result cuFuncSetAttribute(struct Function *function, int which, int value) {
    if (which != 8 || value > 163 << 10) return BAD;
    function->shared = value;
    return OK;
}

Result cuLaunchKernel(struct Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned tx, unsigned ty, unsigned tz,
                      unsigned shared, struct Stream *s, void **parameters, void **extra) {
    (void)extra;
    if (!gx || !gy || !gz || gy > 65535 || gz > 65535 || gx > 0x7fffffff || tx * ty * tz > 1024 || !tx) return BAD;
    if ((int)shared > function->shared) return BAD;
    struct Launch launch = {.function = function, .grid = {gx, gy, gz}, .threads = tx};
    memcpy(launch.arguments, parameters[0], argument_bytes(function->name));
    put_on(s, &launch);
    return OK;
}
