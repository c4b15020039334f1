// Two launches: `decode`, for all anchors at once; `choose`, which takes the best box again and
// again, by one work-group per image. They pass on boxes (ymin xmin ymax xmax), each box's best
// score and its class, in scratch memory that they share.
// IN, OUT, LOAD and STORE (UseTensorMacros) read and write all element types alike.

__kernel void decode(IN(ENCODINGS), IN(SCORES), IN(ANCHORS), __global float4* boxes,
                     __global float* scores, __global int* classes, int anchors, int images,
                     int columns, int background, float score_threshold, float4 scales) {
  const int i = get_global_id(0);  // of all images
  if (i >= anchors * images) return;
  const int e = 4 * i, a = 4 * (i % anchors);
  const float height = LOAD(ANCHORS, a + 2), width = LOAD(ANCHORS, a + 3);
  const float y = LOAD(ENCODINGS, e) / scales.x * height + LOAD(ANCHORS, a);
  const float x = LOAD(ENCODINGS, e + 1) / scales.y * width + LOAD(ANCHORS, a + 1);
  const float half_h = 0.5f * exp(LOAD(ENCODINGS, e + 2) / scales.z) * height;
  const float half_w = 0.5f * exp(LOAD(ENCODINGS, e + 3) / scales.w) * width;
  boxes[i] = (float4)(y - half_h, x - half_w, y + half_h, x + half_w);

  // From here on NaN means: no candidate. Every comparison with it is false.
  float best = NAN;
  int label = 0;
  for (int c = background; c < columns; ++c) {
    const float score = LOAD(SCORES, i * columns + c);
    if (score > best || (isnan(best) && !isnan(score))) {
      best = score;
      label = c - background;
    }
  }
  scores[i] = best >= score_threshold ? best : NAN;
  classes[i] = label;
}

/// The area in common, as a part of the area of both together. Of what is no proper box it is 0 or
/// NaN, which are not larger than any threshold.
float overlap(float4 a, float4 b) {
  const float area_a = (a.z - a.x) * (a.w - a.y), area_b = (b.z - b.x) * (b.w - b.y);
  const float height = fmax(fmin(a.z, b.z) - fmax(a.x, b.x), 0.0f);
  const float width = fmax(fmin(a.w, b.w) - fmax(a.y, b.y), 0.0f);
  return height * width / (area_a + area_b - height * width);
}

/// Whether candidate `a` comes before candidate `b`; an index of -1 is no candidate.
bool before(float score_a, int a, float score_b, int b) {
  if (a < 0 || b < 0) return a >= 0;
  return score_a > score_b || (score_a == score_b && a < b);
}

// The work-items share the anchors: item k looks after anchors k, k + items, k + 2 * items, ..., and
// nobody else reads or writes their scores. A group has a power of two of them.
__kernel void choose(__global const float4* boxes, __global float* scores,
                     __global const int* classes, OUT(BOXES), OUT(CLASSES), OUT(TOP_SCORES),
                     OUT(COUNT), __local float* top_score, __local int* top, int anchors,
                     int max_detections, float iou_threshold) {
  const int item = get_local_id(0), items = get_local_size(0), image = get_global_id(1);
  boxes += image * anchors;
  scores += image * anchors;
  classes += image * anchors;
  int count = 0;
  // Always as many rounds: barriers want all work-items in step.
  for (int n = 0; n < max_detections; ++n) {
    // The best of one's own, then of all: half of the work-items compare with the other half.
    int best = -1;
    for (int i = item; i < anchors; i += items) {
      if (!isnan(scores[i]) && (best < 0 || scores[i] > scores[best])) best = i;
    }
    top[item] = best;
    top_score[item] = best < 0 ? 0 : scores[best];
    for (int half_size = items / 2; half_size > 0; half_size /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const int other = item + half_size;
      if (item < half_size && before(top_score[other], top[other], top_score[item], top[item])) {
        top[item] = top[other];
        top_score[item] = top_score[other];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int winner = top[0];
    if (item == 0) {
      const int slot = image * max_detections + n;
      const float4 box = winner < 0 ? (float4)(0) : boxes[winner];
      STORE(BOXES, 4 * slot, box.x);
      STORE(BOXES, 4 * slot + 1, box.y);
      STORE(BOXES, 4 * slot + 2, box.z);
      STORE(BOXES, 4 * slot + 3, box.w);
      STORE(CLASSES, slot, winner < 0 ? 0 : classes[winner]);
      STORE(TOP_SCORES, slot, winner < 0 ? 0 : top_score[0]);
      if (winner >= 0) ++count;
    }
    if (winner >= 0) {
      for (int i = item; i < anchors; i += items) {
        if (i == winner || overlap(boxes[winner], boxes[i]) > iou_threshold) scores[i] = NAN;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // before `top` is written again
  }
  if (item == 0) STORE(COUNT, image, count);
}
