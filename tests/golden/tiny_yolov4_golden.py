#!/usr/bin/env python3
"""Writes tiny_yolov4_golden.json: scores and boxes of tiny YOLOv4, by NumPy from the formulas of the
operator's documentation: sigmoids of scores are multiples of 1 / 256; boxes are computed in float32, their
sigmoids and exponentials are float64 rounded once."""
import numpy as np
from golden import F, Golden, T

g = Golden(__file__, 1313)
ANCHORS = [[(81, 82), (135, 169), (344, 319)], [(23, 27), (37, 58), (81, 82)]]


def postprocess(maps, grids):
    """Arrays (N, 255, H, W) of reals and (H, W, 2) of cells; scores (boxes, 80) and boxes (boxes, 4)."""
    scores, boxes = [], []
    for m in (1, 0):
        n, _, h, w = maps[m].shape
        stride = F(32 if (h, w) == (13, 13) else 16)
        for a in range(3):
            # (N, H, W, 85)
            t = np.moveaxis(maps[m][:, 85 * a:85 * (a + 1)], 1, -1).astype(np.float64)
            sigmoid = 1 / (1 + np.exp(-t))
            whole = np.clip(np.rint(sigmoid[..., 4:] * 256), 0, 255)
            scores.append((whole[..., :1] * whole[..., 1:] / 65536).reshape(-1, 80))
            center = ((sigmoid[..., :2] * 1.05 - 0.025).astype(F) + grids[m]) * stride
            size = np.minimum(np.exp(t[..., 2:4]), np.finfo(F).max).astype(F) * np.array(ANCHORS[m][a], F)
            boxes.append(np.concatenate([center, size], -1).reshape(-1, 4))
    return np.concatenate(scores), np.concatenate(boxes)


def grid(h, w, planes, scale, zp):
    """Cell coordinates as a tensor, and as reals (H, W, 2)."""
    y, x = np.mgrid[:h, :w]
    q = T("u8", [], scale, zp).of(np.stack([x, y], -1))
    stored = np.moveaxis(q.q, -1, 0) if planes else q.q
    return q.like(stored), q.real()


# (N, coarse (h, w), fine (h, w), grids as planes, scale)
for n, coarse, fine, planes, scale in ((1, (1, 1), (2, 1), (True, True), 0.05), (2, (1, 2), (2, 2), (False, True), 0.1),
                                       (1, (2, 1), (1, 3), (True, False), 0.9)):
    x = [g.ints("u8", n, 255, *coarse, scale=scale, zp=117), g.ints("u8", n, 255, *fine, scale=scale * 0.9, zp=131)]
    cells = [grid(*coarse, planes[0], 1.0, 0), grid(*fine, planes[1], 0.11, 3)]
    scores, boxes = postprocess([t.real() for t in x], [real for _, real in cells])
    results = [T("u8", [], 1 / 256, 0).of(scores), T("u8", [], 1.7, 9).of(boxes)]
    g.add("TinyYolov4Postprocess", {}, [*x, cells[0][0], cells[1][0]],
          [r.like(r.q.reshape(1, -1, r.q.shape[-1])) for r in results])

g.write()
