#!/usr/bin/env python3
# Draws digits, trains the LeNet of samples/lenet on them, quantizes it to UINT8 and writes
# digits.weights, digits.testset, pictures/ and the golden of the tests. README.md beside this file
# has the formats, the preprocessing and the fonts; `train.py --check` only reads and evaluates.
#
# digits.weights (little endian, no padding inside records):
#   char magic[8] "TIMDIGIT"; uint32 version = 1; uint32 count;
#   count records of 72 bytes: char name[24] zero-padded; uint32 dtype (UINT8 = 2, INT32 = 5);
#     uint32 rank; uint32 dims[4] innermost first, unused ones 1; float32 scale; int32 zero_point;
#     uint64 offset from the start of the file; uint64 size in bytes. A record of size 0 describes
#     an activation: its quantization and its shape with batch 1.
#   The data follow, each tensor at a multiple of 64 bytes.
#
# digits.testset (little endian):
#   char magic[8] "TIMTESTS"; uint32 version = 1; uint32 count; uint32 width; uint32 height;
#   uint32 bits = 4; uint8 labels[count]; uint8 images[count][width * height / 2]: row by row, two
#   pixels a byte, the left one in the low nibble; pixel value = nibble * 17.
"""Train, quantize and check the digit reader of samples/lenet."""

import argparse
import functools
import glob
import json
import math
import os
import struct
import sys
import time

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE = os.path.dirname(HERE)
GOLDEN = os.path.join(SAMPLE, "..", "..", "tests", "golden", "lenet_digits_golden.json")
FONT_ROOT = "/usr/share/fonts"
SIDE, BOX = 28, 20  # the network's picture, and the box in it that the digit fills
THRESHOLD, MIN_CONTRAST = 96, 24

# Family -> file patterns below FONT_ROOT. Every pattern must match: a missing package would change
# the result silently. Families of one origin stay on one side (Carlito is Lato, Hack is DejaVu).
TRAIN_FONTS = {
    "liberation-sans": ["truetype/liberation/LiberationSans*.ttf"],
    "liberation-serif": ["truetype/liberation/LiberationSerif*.ttf"],
    "liberation-mono": ["truetype/liberation/LiberationMono*.ttf"],
    "freefont": ["truetype/freefont/*.ttf"],
    "dejavu-sans": ["truetype/dejavu/DejaVuSans-*.ttf", "truetype/dejavu/DejaVuSans.ttf",
                    "truetype/dejavu/DejaVuSansCondensed*.ttf"],
    "dejavu-mono": ["truetype/dejavu/DejaVuSansMono*.ttf", "truetype/hack/*.ttf"],
    "dejavu-serif": ["truetype/dejavu/DejaVuSerif*.ttf"],
    "lato": ["truetype/lato/*.ttf", "truetype/crosextra/Carlito*.ttf"],
    "open-sans": ["truetype/open-sans/*.ttf", "truetype/noto/NotoSans-*.ttf",
                  "truetype/noto/NotoSansDisplay-*.ttf"],
    "noto-serif": ["truetype/noto/NotoSerif-*.ttf", "truetype/noto/NotoSerifDisplay-*.ttf"],
    "courier-prime": ["opentype/courier-prime/*.otf"],
    "nimbus-mono": ["opentype/urw-base35/NimbusMonoPS*.otf"],
    "nimbus-roman": ["opentype/urw-base35/NimbusRoman*.otf"],
    "nimbus-sans": ["opentype/urw-base35/NimbusSans*.otf"],
    "c059": ["opentype/urw-base35/C059*.otf"],
    "p052": ["opentype/urw-base35/P052*.otf"],
    "bookman": ["opentype/urw-base35/URWBookman*.otf"],
    "gothic": ["opentype/urw-base35/URWGothic*.otf"],
    "z003": ["opentype/urw-base35/Z003*.otf"],
    "junicode": ["opentype/junicode/*.otf"],
    "eb-garamond": ["opentype/ebgaramond/*.otf"],
    "lobster": ["opentype/lobster/*.otf", "opentype/lobstertwo/*.otf"],
    "dancing-script": ["opentype/dancingscript/*.otf"],
    "kristi": ["truetype/kristi/*.ttf"],
    "breip": ["truetype/breip/Breip.ttf"],
    "humor-sans": ["truetype/humor-sans/*.ttf"],
    "jura": ["opentype/jura/*.otf"],
    "fira-code": ["truetype/firacode/*.ttf"],
    "quicksand": ["truetype/quicksand/*.ttf"],
}
# Looked at while the training was being set up; neither trained on nor part of the test set.
VALIDATION_FONTS = {
    "gentium": ["truetype/gentium/*.ttf"],
    "tuffy": ["truetype/tuffy/*.ttf"],
    "play": ["truetype/play/*.ttf"],
    "oxygen": ["truetype/oxygen/*.ttf"],
}
TEST_FONTS = {
    "roboto": ["truetype/roboto/unhinted/RobotoTTF/*.ttf",
               "truetype/roboto/unhinted/RobotoCondensed*.ttf"],
    "cantarell": ["opentype/cantarell/*.otf"],
    "comic-neue": ["opentype/comic-neue/*.otf"],
    "caladea": ["truetype/crosextra/Caladea*.ttf"],
    "libertine": ["opentype/linux-libertine/LinLibertine_[DMR]*.otf",
                  "opentype/linux-libertine/LinBiolinum_R*.otf"],
    "inconsolata": ["truetype/inconsolata/*.otf"],
    "rufscript": ["truetype/rufscript/*.ttf"],
}

# ---------------------------------------------------------------------------------------------
# Preprocessing: integers only, so that any language repeats it exactly (README.md, section 2).


@functools.lru_cache(maxsize=None)
def overlap(source, target):
    """target x source matrix: how much of source pixel j lies in target pixel i, in 1/target."""
    i = np.arange(target)[:, None]
    j = np.arange(source)[None, :]
    lap = np.minimum((i + 1) * source, (j + 1) * target) - np.maximum(i * source, j * target)
    return np.maximum(lap, 0).astype(np.float64)


def preprocess(gray):
    """uint8 picture of any size -> 28x28 uint8, light digit on black, centred, as MNIST has it."""
    p = gray.astype(np.int64)
    h, w = p.shape
    inner = p[1:-1, 1:-1]
    n = p.size - inner.size
    total = int(p.sum() - inner.sum())
    if 2 * total > 255 * n:
        p = 255 - p
        total = 255 * n - total
    low = total // n
    high = int(p.max())
    out = np.zeros((SIDE, SIDE), np.uint8)
    if high - low < MIN_CONTRAST:
        return out
    p = np.maximum(p - low, 0) * 255 // (high - low)
    ink = p >= THRESHOLD
    rows = np.flatnonzero(ink.any(axis=1))
    cols = np.flatnonzero(ink.any(axis=0))
    p = p[rows[0]:rows[-1] + 1, cols[0]:cols[-1] + 1]
    h, w = p.shape
    longer = max(h, w)
    new_w = max(1, (2 * w * BOX + longer) // (2 * longer))
    new_h = max(1, (2 * h * BOX + longer) // (2 * longer))
    # Sums stay below 2^53, so float64 holds these integers exactly.
    sums = (overlap(h, new_h) @ p.astype(np.float64) @ overlap(w, new_w).T).astype(np.int64)
    area = w * h
    p = (2 * sums + area) // (2 * area)
    peak = int(p.max())
    if peak == 0:  # specks far apart: nothing of them is left at this size
        return out
    p = (510 * p + peak) // (2 * peak)
    x0, y0 = (SIDE - new_w) // 2, (SIDE - new_h) // 2
    out[y0:y0 + new_h, x0:x0 + new_w] = p
    return out


def to_16_levels(images):
    """The test set's grid: level 0..15, shown as level * 17."""
    return ((images.astype(np.int32) * 15 + 127) // 255 * 17).astype(np.uint8)


# ---------------------------------------------------------------------------------------------
# Drawing.


def font_files(families):
    found = []
    for family, patterns in families.items():
        files = []
        for pattern in patterns:
            matches = sorted(glob.glob(os.path.join(FONT_ROOT, pattern)))
            if not matches:
                sys.exit(f"font family {family}: nothing matches {FONT_ROOT}/{pattern}; "
                         "README.md lists the packages to install")
            files += matches
        found.append(files)
    return found


@functools.lru_cache(maxsize=None)
def load_font(path, size):
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)


def glyph(rng, files, digit, hard):
    """The digit in a font drawn at random from `files` (family first), ink 255 on 0."""
    family = files[rng.integers(len(files))]
    path = family[rng.integers(len(family))]
    size = int(rng.choice([22, 30, 40, 52, 64]))
    font = load_font(path, size)
    side = size * 2
    picture = Image.new("L", (side, side), 0)
    fat = int(rng.integers(1, 1 + max(1, size // 20))) if rng.random() < 0.25 * hard else 0
    ImageDraw.Draw(picture).text((side / 2, side / 2), str(digit), font=font, fill=255, anchor="mm",
                                 stroke_width=fat)
    return picture


def arc(cx, cy, rx, ry, start, stop, n=24):
    """Points on an ellipse; angles in turns, 0 to the right, growing clockwise on the screen."""
    t = np.linspace(start, stop, n) * 2 * math.pi
    return np.stack([cx + rx * np.cos(t), cy + ry * np.sin(t)], axis=1)


def spline(*points, n=10):
    """Catmull-Rom curve through the points."""
    p = np.array(points, float)
    p = np.concatenate([2 * p[:1] - p[1:2], p, 2 * p[-1:] - p[-2:-1]])
    t = np.linspace(0, 1, n, endpoint=False)[:, None]
    parts = []
    for a, b, c, d in zip(p, p[1:], p[2:], p[3:]):
        parts.append(0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t ** 2 +
                            (3 * b - a - 3 * c + d) * t ** 3))
    return np.concatenate(parts + [p[-2:-1]])


def line(*points):
    """A polyline, densified so that warping bends it."""
    p = np.array(points, float)
    t = np.linspace(0, 1, 10)[:, None]
    return np.concatenate([a + (b - a) * t for a, b in zip(p, p[1:])])


def skeleton(rng, digit):
    """Pen strokes of a handwritten digit in the unit square, y downwards."""
    u = rng.uniform
    kind = rng.random()
    if digit == 0:
        start, gap = u(-0.4, -0.1), u(-0.06, 0.04)
        strokes = [arc(0.5, 0.5, u(0.3, 0.5), 0.5, start, start + 1 - gap, 40)]
        if rng.random() < 0.08:
            strokes.append(line((u(0.6, 0.75), u(0.2, 0.3)), (u(0.25, 0.4), u(0.7, 0.8))))
        return strokes
    if digit == 1:
        x = u(0.5, 0.6)
        if kind < 0.45:
            return [line((x, 0), (x + u(-0.1, 0.05), 1))]
        flag = line((x - u(0.12, 0.35), u(0.12, 0.32)), (x, 0), (x, 1))
        if kind < 0.8:
            return [flag]
        return [flag, line((x - u(0.18, 0.32), 1), (x + u(0.18, 0.32), 1))]
    if digit == 2:
        top = [(u(0.05, 0.2), u(0.18, 0.32)), (u(0.3, 0.45), u(0.0, 0.04)), (0.75, u(0.04, 0.1)),
               (u(0.8, 0.92), u(0.25, 0.35)), (u(0.55, 0.7), u(0.5, 0.62))]
        if kind < 0.65:
            foot = (u(0.05, 0.15), u(0.92, 1))
            return [np.concatenate([spline(*top, foot), line(foot, (u(0.85, 1), u(0.9, 1)))])]
        return [spline(*top, (0.3, 0.85), (u(0.05, 0.12), 0.95), (0.12, u(0.78, 0.85)),
                       (0.32, u(0.82, 0.88)), (0.6, 0.98), (u(0.85, 1), u(0.85, 0.97)))]
    if digit == 3:
        waist = (u(0.3, 0.5), u(0.42, 0.5))
        bottom = [waist, (0.72, u(0.48, 0.56)), (u(0.8, 0.95), u(0.68, 0.78)), (0.6, u(0.95, 1)),
                  (0.3, 1), (u(0.0, 0.15), u(0.78, 0.9))]
        if kind < 0.8:
            top = [(u(0.05, 0.2), u(0.1, 0.22)), (0.4, 0), (u(0.7, 0.8), u(0.06, 0.14)),
                   (u(0.72, 0.82), u(0.2, 0.3)), waist]
            return [np.concatenate([spline(*top), spline(*bottom)])]
        return [np.concatenate([line((u(0.05, 0.15), 0.02), (u(0.75, 0.9), 0.02), waist),
                                spline(*bottom)])]
    if digit == 4:
        bar = u(0.52, 0.7)
        x = u(0.6, 0.75)
        right = (u(0.88, 1), bar + u(-0.05, 0.05))
        if kind < 0.5:
            left = (u(0.05, 0.2), bar)
            return [np.concatenate([line((u(0.08, 0.35), u(0, 0.08)), left), line(left, right)]),
                    line((x, u(0.0, 0.35)), (x + u(-0.12, 0.05), 1))]
        return [line((x, 0), (u(0.0, 0.12), bar), right), line((x, 0), (x + u(-0.06, 0.04), 1))]
    if digit == 5:
        neck = (u(0.1, 0.2), u(0.38, 0.48))
        corner = (u(0.15, 0.28), u(0.02, 0.08))
        belly = spline(neck, (0.5, u(0.34, 0.42)), (u(0.8, 0.92), u(0.55, 0.66)),
                       (u(0.7, 0.8), u(0.86, 0.93)), (0.4, 1), (u(0.0, 0.12), u(0.82, 0.93)))
        top = line(corner, (u(0.75, 0.95), corner[1] + u(-0.05, 0.04)))
        if kind < 0.8:
            return [top, np.concatenate([line(corner, neck), belly])]
        return [np.concatenate([spline((u(0.75, 0.9), 0.05), (0.5, 0.02), (u(0.2, 0.3), 0.1), neck),
                                belly])]
    if digit == 6:
        loop = u(0.44, 0.56)
        return [spline((u(0.55, 0.85), u(0, 0.06)), (u(0.25, 0.4), 0.25), (u(0.08, 0.14), 0.6),
                       (u(0.14, 0.22), 0.88), (0.5, 1), (u(0.82, 0.92), u(0.74, 0.84)),
                       (u(0.68, 0.8), loop + 0.05), (0.45, loop), (u(0.12, 0.22), loop + 0.18))]
    if digit == 7:
        right = (u(0.85, 0.98), u(0.0, 0.08))
        foot = (u(0.25, 0.5), 1)
        left = (u(0.02, 0.15), u(0.02, 0.1))
        bend = u(-0.02, 0.14)
        down = spline(right, ((right[0] + foot[0]) / 2 - bend, 0.45), foot)
        strokes = [np.concatenate([line(left, right), down])]
        if kind < 0.3:
            y = u(0.42, 0.56)
            strokes.append(line((u(0.2, 0.35), y), (u(0.75, 0.92), y + u(-0.05, 0.03))))
        elif kind < 0.5:
            strokes.append(line((left[0], left[1] + u(0.08, 0.2)), left))
        return strokes
    if digit == 8:
        w, v, cross = u(0.26, 0.38), u(0.32, 0.46), u(0.42, 0.5)
        if kind < 0.5:
            return [arc(0.5, cross / 2, w, cross / 2, 0.25, 1.25, 30),
                    arc(0.5, (1 + cross) / 2, v, (1 - cross) / 2, -0.25, 0.75, 30)]
        return [spline((0.5 + w * 0.9, u(0.05, 0.15)), (0.5, 0), (0.5 - w, cross * 0.45),
                       (0.5, cross), (0.5 + v, (1 + cross) / 2), (0.5, 1),
                       (0.5 - v, (1 + cross) / 2), (0.5, cross), (0.5 + w, cross * 0.5),
                       (0.5 + w * 0.8, u(0.02, 0.12)))]
    # 9
    loop = u(0.46, 0.58)
    top = arc(u(0.42, 0.5), loop / 2, u(0.32, 0.42), loop / 2, u(-0.15, 0), 1, 32)
    end = tuple(top[-1])
    if kind < 0.5:
        return [np.concatenate([top, line(end, (end[0] - u(0, 0.2), 1))])]
    return [np.concatenate([top, spline(end, (end[0] - u(0.0, 0.04), 0.7),
                                        (end[0] - u(0.15, 0.3), u(0.92, 1)),
                                        (u(0.1, 0.3), u(0.9, 1)))])]


def handwriting(rng, digit):
    """The digit as pen strokes, bent by a smooth random field; ink 255 on 0."""
    side = int(rng.choice([40, 64, 96]))
    inside = 0.6 * side
    pen = inside * rng.uniform(0.05, 0.19)
    amplitude = rng.uniform(0.01, 0.045, (2, 2))
    wave = rng.uniform(2, 8, (2, 2))
    phase = rng.uniform(0, 2 * math.pi, (2, 2))
    picture = Image.new("L", (side, side), 0)
    draw = ImageDraw.Draw(picture)
    for stroke in skeleton(rng, digit):
        p = stroke.copy()
        for out in range(2):
            for by in range(2):
                p[:, out] += amplitude[out, by] * np.sin(wave[out, by] * stroke[:, by] +
                                                         phase[out, by])
        p = (p - 0.5) * [inside * 0.78, inside] + side / 2
        points = [tuple(q) for q in p]
        width = max(1, round(pen))
        draw.line(points, fill=255, width=width, joint="curve")
        r = width / 2
        for x, y in (points[0], points[-1]):
            draw.ellipse((x - r, y - r, x + r, y + r), fill=255)
    return picture


def bend(rng, picture, hard):
    """Rotation, shear, aspect, a little perspective."""
    side = picture.width
    angle = math.radians(rng.uniform(-14, 14) * hard)
    shear = rng.uniform(-0.25, 0.25) * hard
    sx = math.exp(rng.uniform(-0.25, 0.25) * hard)
    m = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    m = m @ np.array([[1, shear], [0, 1]]) @ np.diag([sx * 1.1, 1.1])
    g, h = rng.uniform(-0.15, 0.15, 2) * hard / side
    c = side / 2
    ox, oy = np.array([c, c]) * (1 + g * c + h * c) - m @ [c, c]
    data = (m[0, 0], m[0, 1], ox, m[1, 0], m[1, 1], oy, g, h)
    return picture.transform((side, side), Image.Transform.PERSPECTIVE, data,
                             Image.Resampling.BILINEAR)


def photograph(rng, ink, hard):
    """Ink 0..255 -> a gray picture with blur, contrast, uneven light and noise; either polarity."""
    side = ink.width
    if rng.random() < 0.6 * hard:
        ink = ink.filter(ImageFilter.GaussianBlur(rng.uniform(0.2, 1.3) * side / 64))
    a = np.asarray(ink, np.float64) / 255
    paper = rng.uniform(0, 70)
    pen = rng.uniform(150, 255)
    contrast = pen - paper
    y, x = np.mgrid[0:side, 0:side] / side - 0.5
    strength = contrast * a.max()  # what blur left of it
    light = strength * (rng.uniform(-0.08, 0.08) * x + rng.uniform(-0.08, 0.08) * y) * hard
    p = paper + contrast * a + light
    p += rng.normal(0, 1, p.shape) * strength * rng.uniform(0, 0.07)
    p = np.clip(np.rint(p), 0, 255).astype(np.uint8)
    return 255 - p if rng.random() < 0.5 else p


def draw_set(seed, count, files, hard, strokes):
    """`count` preprocessed digits, classes in turn; `strokes` is the share of handwriting."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 10
    images = np.zeros((count, SIDE, SIDE), np.uint8)
    for i, digit in enumerate(labels):
        by_hand = rng.random() < strokes
        ink = handwriting(rng, digit) if by_hand else glyph(rng, files, int(digit), hard)
        images[i] = preprocess(photograph(rng, bend(rng, ink, hard), hard))
    return images, labels


# ---------------------------------------------------------------------------------------------
# The network in plain NumPy. Inside, pictures are N,H,W,C and patches kh,kw,ic.

C1, C2, HIDDEN = 16, 32, 96
FLAT = 4 * 4 * C2


def patches(x):
    view = np.lib.stride_tricks.sliding_window_view(x, (5, 5), axis=(1, 2))
    n, h, w, c = view.shape[:4]
    return np.ascontiguousarray(view.transpose(0, 1, 2, 4, 5, 3)).reshape(n * h * w, 25 * c)


def corners(x):
    return x[:, ::2, ::2], x[:, ::2, 1::2], x[:, 1::2, ::2], x[:, 1::2, 1::2]


def pool(x):
    a, b, c, d = corners(x)
    return np.maximum(np.maximum(a, b), np.maximum(c, d))


def pool_back(x, y, dy):
    hits = [(part == y).astype(np.float32) for part in corners(x)]
    share = dy / (hits[0] + hits[1] + hits[2] + hits[3])
    dx = np.empty_like(x)
    for target, hit in zip(corners(dx), hits):
        target[...] = hit * share
    return dx


class Net:
    def __init__(self, rng):
        def he(*shape):
            return (rng.normal(0, 1, shape) * math.sqrt(2 / shape[0])).astype(np.float32)
        self.p = {"conv1_w": he(25, C1), "conv1_b": np.zeros(C1, np.float32),
                  "conv2_w": he(25 * C1, C2), "conv2_b": np.zeros(C2, np.float32),
                  "fc1_w": he(FLAT, HIDDEN), "fc1_b": np.zeros(HIDDEN, np.float32),
                  "fc2_w": he(HIDDEN, 10), "fc2_b": np.zeros(10, np.float32)}

    def forward(self, x, drop=None):
        p, t = self.p, {}
        n = len(x)
        t["cols1"] = patches(x)
        t["conv1"] = (t["cols1"] @ p["conv1_w"] + p["conv1_b"]).reshape(n, 24, 24, C1)
        t["pool1"] = pool(t["conv1"])
        t["cols2"] = patches(t["pool1"])
        t["conv2"] = (t["cols2"] @ p["conv2_w"] + p["conv2_b"]).reshape(n, 8, 8, C2)
        t["pool2"] = pool(t["conv2"])
        t["fc1"] = t["pool2"].reshape(n, FLAT) @ p["fc1_w"] + p["fc1_b"]
        t["relu"] = np.maximum(t["fc1"], 0)
        if drop is not None:
            t["relu"] = t["relu"] * drop
        t["logits"] = t["relu"] @ p["fc2_w"] + p["fc2_b"]
        return t

    def gradients(self, x, labels, drop, smoothing=0.05):
        t, p, g = self.forward(x, drop), self.p, {}
        n = len(x)
        e = np.exp(t["logits"] - t["logits"].max(axis=1, keepdims=True))
        prob = e / e.sum(axis=1, keepdims=True)
        target = np.full((n, 10), smoothing / 10, np.float32)
        target[np.arange(n), labels] += 1 - smoothing
        loss = -(target * np.log(prob + 1e-12)).sum() / n
        d = (prob - target) / np.float32(n)
        g["fc2_w"], g["fc2_b"] = t["relu"].T @ d, d.sum(axis=0)
        d = (d @ p["fc2_w"].T) * drop * (t["fc1"] > 0)
        g["fc1_w"], g["fc1_b"] = t["pool2"].reshape(n, FLAT).T @ d, d.sum(axis=0)
        d = (d @ p["fc1_w"].T).reshape(n, 4, 4, C2)
        d = pool_back(t["conv2"], t["pool2"], d).reshape(n * 64, C2)
        g["conv2_w"], g["conv2_b"] = t["cols2"].T @ d, d.sum(axis=0)
        cols = (d @ p["conv2_w"].T).reshape(n, 8, 8, 5, 5, C1)
        d = np.zeros((n, 12, 12, C1), np.float32)
        for i in range(5):
            for j in range(5):
                d[:, i:i + 8, j:j + 8] += cols[:, :, :, i, j]
        d = pool_back(t["conv1"], t["pool1"], d).reshape(n * 576, C1)
        g["conv1_w"], g["conv1_b"] = t["cols1"].T @ d, d.sum(axis=0)
        return loss, g

    def predict(self, images):
        out = [self.forward(to_float(images[i:i + 250]))["logits"].argmax(axis=1)
               for i in range(0, len(images), 250)]
        return np.concatenate(out)


def to_float(images):
    return images[..., None].astype(np.float32) / np.float32(255)


def train(images, labels, epochs, seed, report):
    """Adam with a cosine rate; shifts by one pixel and pixel noise fresh in every step."""
    rng = np.random.default_rng(seed)
    net = Net(rng)
    m = {k: np.zeros_like(v) for k, v in net.p.items()}
    v = {k: np.zeros_like(v) for k, v in net.p.items()}
    batch, step = 128, 0
    steps = epochs * (len(images) // batch)
    for epoch in range(epochs):
        order = rng.permutation(len(images))
        losses = 0.0
        for b in range(len(images) // batch):
            pick = order[b * batch:(b + 1) * batch]
            x = to_float(np.roll(images[pick], rng.integers(-1, 2, 2), axis=(1, 2)))
            x += rng.normal(0, 1, x.shape).astype(np.float32) * np.float32(rng.uniform(0, 0.05))
            drop = (rng.random((batch, HIDDEN)) < 0.75).astype(np.float32) / np.float32(0.75)
            loss, g = net.gradients(x, labels[pick], drop)
            losses += loss
            step += 1
            rate = 1e-5 + 1.5e-3 * 0.5 * (1 + math.cos(math.pi * step / steps))
            for k in net.p:
                m[k] = 0.9 * m[k] + 0.1 * g[k]
                v[k] = 0.999 * v[k] + 0.001 * g[k] ** 2
                update = (m[k] / (1 - 0.9 ** step)) / (np.sqrt(v[k] / (1 - 0.999 ** step)) + 1e-8)
                decay = 1e-2 * net.p[k] if k.endswith("_w") else 0
                net.p[k] = (net.p[k] - rate * (update + decay)).astype(np.float32)
        report(epoch, losses / (len(images) // batch), net)
    return net


# ---------------------------------------------------------------------------------------------
# Quantization and the integer model.

UINT8, INT32 = 2, 5


def asymmetric(low, high):
    """scale and zero point of a UINT8 grid that holds low..high and zero exactly."""
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    scale = np.float32((high - low) / 255)
    return scale, int(np.clip(np.rint(-low / float(scale)), 0, 255))


def quantize(net, calibration):
    """Post-training: weights by their range, activations by what the calibration set reaches."""
    ranges = {k: [] for k in ("conv1", "conv2", "fc1", "logits")}
    for i in range(0, len(calibration), 250):
        t = net.forward(to_float(calibration[i:i + 250]))
        for k, r in ranges.items():
            # Outside the activations' 99.99 % clamping costs less than coarser steps for all.
            r.append(np.quantile(t[k], [0.0001, 0.9999]) if k != "logits"
                     else [t[k].min(), t[k].max()])
    acts = {"input": (np.float32(1 / 255), 0)}
    for k, r in ranges.items():
        low, high = np.min(r, axis=0)[0], np.max(r, axis=0)[1]
        acts["logits" if k == "logits" else k + "_out"] = asymmetric(low, high)
    p = net.p
    tensors = []

    def add(name, dtype, dims, scale, zero_point, data=None):
        tensors.append({"name": name, "dtype": dtype, "dims": dims, "scale": np.float32(scale),
                        "zp": zero_point, "data": data})

    # Memory order: conv weights oc,ic,kh,kw and fc weights oc,k with k = c,h,w (last is fastest).
    layers = [
        ("conv1", "input", "conv1_out", p["conv1_w"].reshape(5, 5, 1, C1).transpose(3, 2, 0, 1)),
        ("conv2", "conv1_out", "conv2_out",
         p["conv2_w"].reshape(5, 5, C1, C2).transpose(3, 2, 0, 1)),
        ("fc1", "conv2_out", "fc1_out",
         p["fc1_w"].reshape(4, 4, C2, HIDDEN).transpose(3, 2, 0, 1).reshape(HIDDEN, FLAT)),
        ("fc2", "fc1_out", "logits", p["fc2_w"].T)]
    out_dims = {"conv1": [24, 24, C1, 1], "conv2": [8, 8, C2, 1], "fc1": [HIDDEN, 1],
                "fc2": [10, 1]}
    add("input", UINT8, [SIDE, SIDE, 1, 1], *acts["input"])
    for name, source, target, w in layers:
        scale, zp = asymmetric(w.min(), w.max())
        q = np.clip(np.rint(w.astype(np.float64) / float(scale) + zp), 0, 255).astype(np.uint8)
        add(name + "_w", UINT8, list(reversed(q.shape)), scale, zp, np.ascontiguousarray(q))
        bias_scale = np.float32(float(acts[source][0]) * float(scale))
        b = np.rint(p[name + "_b"].astype(np.float64) / float(bias_scale)).astype(np.int32)
        add(name + "_b", INT32, [len(b)], bias_scale, 0, b)
        add(target, UINT8, out_dims[name], *acts[target])
    return tensors


class QuantizedNet:
    """The integer model, to the letter of the arithmetic in README.md section 3."""

    def __init__(self, tensors):
        self.t = {t["name"]: t for t in tensors}
        # Relu by its definition (dequantize, max, requantize) is max(q, zp) on this grid.
        act = self.t["fc1_out"]
        q, s = np.arange(256), act["scale"]
        y = np.maximum((q - act["zp"]).astype(np.float32) * s, np.float32(0))
        y = np.clip(np.rint(y * np.float32(1.0 / float(s)) + np.float32(act["zp"])), 0, 255)
        assert (y == np.maximum(q, act["zp"])).all()

    def sums(self, name, source, target, x):
        """x: rows of uint8 patches in the weight's own order -> uint8 rows of outputs."""
        w, b, s, y = (self.t[k] for k in (name + "_w", name + "_b", source, target))
        wq = w["data"].reshape(w["data"].shape[0], -1).astype(np.float64) - w["zp"]
        # Integers below 2^53: exact in float64, and BLAS is quick at it.
        acc = (x.astype(np.float64) - s["zp"]) @ wq.T + b["data"]
        assert np.abs(acc).max() < 2 ** 31
        m = np.float32(float(s["scale"]) * float(w["scale"]) / float(y["scale"]))
        q = np.rint(acc.astype(np.float32) * m + np.float32(y["zp"]))
        return np.clip(q, 0, 255).astype(np.uint8)

    @staticmethod
    def patches(x):  # N,C,H,W -> rows c,kh,kw
        view = np.lib.stride_tricks.sliding_window_view(x, (5, 5), axis=(2, 3))
        n, c, h, w = view.shape[:4]
        return view.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * 25)

    def logits(self, images):
        out = []
        for i in range(0, len(images), 250):
            x = images[i:i + 250][:, None]
            n = len(x)
            x = self.sums("conv1", "input", "conv1_out", self.patches(x))
            x = x.reshape(n, 24, 24, -1).transpose(0, 3, 1, 2)
            x = x.reshape(n, -1, 12, 2, 12, 2).max(axis=(3, 5))
            x = self.sums("conv2", "conv1_out", "conv2_out", self.patches(x))
            x = x.reshape(n, 8, 8, -1).transpose(0, 3, 1, 2)
            x = x.reshape(n, -1, 4, 2, 4, 2).max(axis=(3, 5))
            x = self.sums("fc1", "conv2_out", "fc1_out", x.reshape(n, -1))
            x = np.maximum(x, self.t["fc1_out"]["zp"])
            out.append(self.sums("fc2", "fc1_out", "logits", x))
        return np.concatenate(out)

    def softmax(self, logits):
        t = self.t["logits"]
        x = (logits.astype(np.float32) - np.float32(t["zp"])) * t["scale"]
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)


# ---------------------------------------------------------------------------------------------
# Files.


def write_weights(path, tensors):
    record = struct.Struct("<24sII4IfiQQ")
    offset = 16 + record.size * len(tensors)
    head, body = struct.pack("<8sII", b"TIMDIGIT", 1, len(tensors)), b""
    start = offset
    for t in tensors:
        data = b"" if t["data"] is None else t["data"].astype(t["data"].dtype.newbyteorder("<"))
        data = data if isinstance(data, bytes) else data.tobytes()
        if data:
            padding = -(start + len(body)) % 64
            body += b"\0" * padding
        head += record.pack(t["name"].encode(), t["dtype"], len(t["dims"]),
                            *(t["dims"] + [1] * (4 - len(t["dims"]))), t["scale"], t["zp"],
                            start + len(body) if data else 0, len(data))
        body += data
    with open(path, "wb") as f:
        f.write(head + body)


def read_weights(path):
    with open(path, "rb") as f:
        raw = f.read()
    magic, version, count = struct.unpack_from("<8sII", raw)
    assert magic == b"TIMDIGIT" and version == 1
    record, tensors = struct.Struct("<24sII4IfiQQ"), []
    for i in range(count):
        name, dtype, rank, *rest = record.unpack_from(raw, 16 + i * record.size)
        dims, (scale, zp, offset, size) = rest[:rank], rest[4:]
        data = None
        if size:
            kind = {UINT8: "u1", INT32: "<i4"}[dtype]
            data = np.frombuffer(raw[offset:offset + size], kind).reshape(dims[::-1])
        tensors.append({"name": name.rstrip(b"\0").decode(), "dtype": dtype, "dims": dims,
                        "scale": np.float32(scale), "zp": zp, "data": data})
    return tensors


def write_testset(path, images, labels):
    level = (images // 17).reshape(len(images), -1)
    packed = (level[:, 0::2] | level[:, 1::2] << 4).astype(np.uint8)
    with open(path, "wb") as f:
        f.write(struct.pack("<8s5I", b"TIMTESTS", 1, len(images), SIDE, SIDE, 4))
        f.write(labels.astype(np.uint8).tobytes() + packed.tobytes())


def read_testset(path):
    with open(path, "rb") as f:
        raw = f.read()
    magic, version, count, width, height, bits = struct.unpack_from("<8s5I", raw)
    assert magic == b"TIMTESTS" and version == 1 and bits == 4
    labels = np.frombuffer(raw, np.uint8, count, 28)
    packed = np.frombuffer(raw, np.uint8, count * width * height // 2, 28 + count)
    level = np.stack([packed & 15, packed >> 4], axis=1)
    return (level * 17).reshape(count, height, width), labels


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def place(ink, size, offset, scale):
    """The ink's square, scaled, on a bigger black sheet."""
    side = round(ink.width * scale)
    sheet = Image.new("L", size, 0)
    sheet.paste(ink.resize((side, side), Image.Resampling.BICUBIC), offset)
    return sheet


def tint(ink, paper, pen, noise=0.0, seed=0):
    """Ink 0..255 -> gray from `paper` to `pen`, with noise in gray levels."""
    a = np.asarray(ink, np.float64) / 255
    p = paper + (pen - paper) * a
    p += np.random.default_rng(seed).normal(0, 1, p.shape) * noise
    return np.clip(np.rint(p), 0, 255).astype(np.uint8)


def write_pictures(folder):
    """The sample's pictures: both file types, both polarities, several sizes, strokes and fonts."""
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(77)

    def typed(pattern, digit, size):
        path = sorted(glob.glob(os.path.join(FONT_ROOT, pattern)))[0]
        picture = Image.new("L", (2 * size, 2 * size), 0)
        ImageDraw.Draw(picture).text((size, size), str(digit), font=load_font(path, size), fill=255,
                                     anchor="mm")
        return picture

    written = bend(rng, handwriting(rng, 3), 0.5)
    pictures = {
        "0_light_on_dark.png": tint(place(typed("truetype/crosextra/Caladea-Regular.ttf", 0, 24),
                                          (28, 28), (-10, -10), 1.0), 0, 255),
        "2_gray_paper.pgm": tint(place(bend(rng, typed("opentype/comic-neue/ComicNeue-Bold.otf", 2,
                                                       64), 0.6), (96, 64), (8, -32), 1.0),
                                 176, 70, 2.5, 5),
        "3_stroke.pgm": tint(place(written, (28, 28), (0, 0), 28 / written.width), 8, 245),
        "5_slanted.png": tint(place(bend(rng, typed("opentype/cantarell/Cantarell-Bold.otf", 5, 64),
                                         0.9), (120, 160), (-20, 10), 1.2), 30, 220),
        "7_dark_on_light.png": tint(place(typed("truetype/roboto/unhinted/RobotoTTF/"
                                                "Roboto-Light.ttf", 7, 80),
                                          (200, 200), (30, 40), 1.0), 255, 0),
        "8_stroke_dark_on_light.png": tint(place(bend(rng, handwriting(rng, 8), 0.5), (200, 200),
                                                 (0, 0), 2.1), 240, 40),
        "9_mono.pgm": tint(place(typed("truetype/inconsolata/Inconsolata.otf", 9, 40), (64, 96),
                                 (-8, 8), 1.0), 40, 200),
    }
    for name, gray in pictures.items():
        Image.fromarray(gray).save(os.path.join(folder, name))


def check(golden_path=None):
    """Evaluates the committed files; writes the golden where a path is given."""
    net = QuantizedNet(read_weights(os.path.join(SAMPLE, "digits.weights")))
    images, labels = read_testset(os.path.join(SAMPLE, "digits.testset"))
    logits = net.logits(images)
    guess = logits.argmax(axis=1)
    correct = int((guess == labels).sum())
    print(f"test set, integer model: {correct} of {len(labels)}")
    for digit in range(10):
        wrong = [int(g) for g in guess[labels == digit] if g != digit]
        if wrong:
            print(f"  {digit} read as {wrong}")
    golden = {"testset": {"count": len(labels), "correct": correct,
                          "logits_fnv1a64": fnv1a(logits.tobytes())}, "pictures": []}
    ok = correct >= 985
    folder = os.path.join(SAMPLE, "pictures")
    for name in sorted(os.listdir(folder)):
        gray = np.asarray(Image.open(os.path.join(folder, name)))
        ready = preprocess(gray)
        out = net.logits(ready[None])
        prob = net.softmax(out)[0]
        digit = int(out[0].argmax())
        ok = ok and digit == int(name[0])
        print(f"{name}: {gray.shape[1]}x{gray.shape[0]} read as {digit}, p = {prob[digit]:.3f}")
        golden["pictures"].append({
            "file": name, "width": gray.shape[1], "height": gray.shape[0], "digit": digit,
            "preprocessed": ready.tobytes().hex(), "logits": out[0].tolist(),
            "probability": round(float(prob[digit]), 5)})
    if golden_path:
        os.makedirs(os.path.dirname(golden_path), exist_ok=True)
        with open(golden_path, "w", encoding="ascii") as f:
            json.dump(golden, f, indent=1)
            f.write("\n")
    else:
        with open(GOLDEN, encoding="ascii") as f:
            same = json.load(f) == golden
        print("golden file:", "equal" if same else "DIFFERS")
        ok = ok and same
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only evaluate the files that exist")
    parser.add_argument("--pictures", type=int, default=50000, help="training pictures to draw")
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    if args.check:
        sys.exit(0 if check() else 1)
    start = time.time()

    def say(text):
        print(f"[{time.time() - start:6.1f} s] {text}", flush=True)

    train_files, val_files = font_files(TRAIN_FONTS), font_files(VALIDATION_FONTS)
    test_files = font_files(TEST_FONTS)
    images, labels = draw_set(1, args.pictures, train_files, 1.0, 0.4)
    val = draw_set(2, 2000, val_files, 0.7, 0.0)
    val_hand = draw_set(3, 2000, val_files, 1.0, 1.0)
    say(f"drew {len(images)} pictures from {sum(map(len, train_files))} font files and by hand")

    def report(epoch, loss, net):
        say(f"epoch {epoch + 1}: loss {loss:.4f}, validation fonts "
            f"{100 * (net.predict(val[0]) == val[1]).mean():.2f} %, handwriting "
            f"{100 * (net.predict(val_hand[0]) == val_hand[1]).mean():.2f} %")

    net = train(images, labels, args.epochs, 4, report)
    tensors = quantize(net, images[:4000])
    test, test_labels = draw_set(5, 1000, test_files, 0.6, 0.0)
    test = to_16_levels(test)
    say(f"test set, float model: {(net.predict(test) == test_labels).sum()} of 1000")
    integer = QuantizedNet(tensors)
    for name, (x, y) in {"validation fonts": val, "handwriting": val_hand}.items():
        say(f"{name}, integer model: {100 * (integer.logits(x).argmax(axis=1) == y).mean():.2f} %")
    write_weights(os.path.join(SAMPLE, "digits.weights"), tensors)
    write_testset(os.path.join(SAMPLE, "digits.testset"), test, test_labels)
    write_pictures(os.path.join(SAMPLE, "pictures"))
    ok = check(GOLDEN)
    say("done" if ok else "below the mark")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
