// Attention in one pass over the keys: one work-item per query and head. The scores are never
// stored. Source: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018.
// Build options: VALUE_SIZE, the length of a value, since OpenCL C has no arrays of another length;
// WITH_SINK, 0 or 1.
// IN, OUT, LOAD and STORE (UseTensorMacros) read and write float32 and float16 alike.

#if WITH_SINK
#define SINK_INPUT IN(SINK),
#define SINK_OF(head) LOAD(SINK, head)
#else
#define SINK_INPUT
#define SINK_OF(head) -INFINITY
#endif

__kernel void attention(IN(Q), IN(K), IN(V), SINK_INPUT OUT(Y), int rows, int queries, int keys,
                        int heads, int kv_heads, int head_size, int window, float scale) {
  // A row is one query of one head: the rows of Q and Y lie in the order of their numbers.
  const int row = get_global_id(0);
  if (row >= rows) return;
  const int query = row % queries, head = row / queries % heads, batch = row / queries / heads;
  const int lines = (batch * kv_heads + head / (heads / kv_heads)) * keys;  // in K and V, before
  const int last = query + keys - queries;
  const int first = window > 0 ? max(last - window + 1, 0) : 0;

  // exp(score) may overflow. So all terms are kept as multiples of exp(largest), and shrink when a
  // larger score turns up. A finite start keeps -INFINITY - -INFINITY away.
  float largest = fmax(SINK_OF(head), -FLT_MAX);
  float sum = exp(SINK_OF(head) - largest);
  float mixed[VALUE_SIZE];
  for (int d = 0; d < VALUE_SIZE; ++d) mixed[d] = 0;
  for (int key = first; key <= last; ++key) {
    const int line = lines + key;
    float score = 0;
    for (int d = 0; d < head_size; ++d) {
      score += LOAD(Q, row * head_size + d) * LOAD(K, line * head_size + d);
    }
    score *= scale;
    const float before = largest;
    if (score > largest) largest = score;
    const float shrink = exp(before - largest), weight = exp(score - largest);
    sum = sum * shrink + weight;
    for (int d = 0; d < VALUE_SIZE; ++d) {
      mixed[d] = mixed[d] * shrink + weight * LOAD(V, line * VALUE_SIZE + d);
    }
  }
  for (int d = 0; d < VALUE_SIZE; ++d) STORE(Y, row * VALUE_SIZE + d, mixed[d] / sum);
}
