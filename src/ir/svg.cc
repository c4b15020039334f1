// ToSvg: the graph as a picture that any browser shows, for those who have no Graphviz. Layers from
// top to bottom by the longest way from an input; in each layer, every box as near as possible
// below the middle of what it reads (the barycentre rule of Sugiyama, Tagawa and Toda, IEEE SMC
// 11(2), 1981).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/graph.h"
#include "ir/text.h"

namespace tim::vx::ir {
namespace {

constexpr double kWidth = 210, kHeight = 40, kGapX = 24, kGapY = 56, kMargin = 40;

struct Box {
  std::string text, second_line, tip, owner, cluster;
  bool ellipse = false;
  size_t layer = 0;
  double x = 0;  // of its middle
  std::vector<size_t> above;
};

struct Edge {
  size_t from, to;
  std::string text;
};

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // XML has no other control characters.
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

/// What fits into a box; the whole text is in its tip.
std::string Short(const std::string& text) {
  constexpr size_t kMost = 30;
  if (text.size() <= kMost) return Escaped(text);
  size_t cut = kMost - 1;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;  // inside UTF-8
  return Escaped(text.substr(0, cut)) + "…";
}

class Picture {
 public:
  Picture(const Graph& graph, const std::vector<std::string>& cluster_of,
          const std::vector<std::string>& owner_of) {
    std::map<int, size_t> node_box, value_box;
    const auto at = [](const std::vector<std::string>& of, size_t id) {
      return id < of.size() ? of[id] : std::string();
    };
    for (size_t v = 0; v < graph.values().size(); ++v) {
      const Value& value = graph.values()[v];
      if (value.role != Role::kInput) continue;
      value_box[static_cast<int>(v)] = boxes_.size();
      boxes_.push_back(Ellipse(value));
    }
    const auto order = graph.TopologicalOrder();
    if (!order.ok()) return;  // a graph with a cycle has no layers: an empty picture
    for (const int id : *order) {
      const Node& n = graph.node(id);
      Box box;
      box.text = fmt::format("{}#{}{}", n.def != nullptr ? n.def->name : "?", n.number, n.part);
      box.second_line = n.name;
      box.owner = at(owner_of, static_cast<size_t>(id));
      box.cluster = at(cluster_of, static_cast<size_t>(id));
      const size_t self = boxes_.size();
      for (const int v : n.inputs) {
        if (v < 0) continue;
        const Value& value = graph.value(v);
        const bool input = value.role == Role::kInput;
        if (!input && value.producer < 0) {
          box.tip += fmt::format("constant {} {}\n", value.name, value.type.ToString());
          continue;
        }
        const auto& boxes = input ? value_box : node_box;
        const auto made = boxes.find(input ? v : value.producer);
        if (made == boxes.end()) continue;
        const size_t from = made->second;
        if (std::find(box.above.begin(), box.above.end(), from) != box.above.end()) continue;
        box.above.push_back(from);
        edges_.push_back({from, self, value.type.ToString()});
      }
      box.tip = box.text + " " + n.name + "\n" + box.cluster + "\n" + box.tip;
      node_box[id] = self;
      boxes_.push_back(std::move(box));
    }
    for (const Value& value : graph.values()) {
      const auto made = node_box.find(value.producer);
      if (value.role != Role::kOutput || made == node_box.end()) continue;
      Box box = Ellipse(value);
      box.above = {made->second};
      edges_.push_back({box.above[0], boxes_.size(), value.type.ToString()});
      boxes_.push_back(std::move(box));
    }
    Arrange();
  }

  std::string Text() const {
    std::vector<std::string> owners;
    std::string shapes;
    for (const Box& box : boxes_) {
      if (box.owner.empty() || std::find(owners.begin(), owners.end(), box.owner) != owners.end())
        continue;
      owners.push_back(box.owner);
    }
    for (const Edge& e : edges_) {
      const double x0 = boxes_[e.from].x, y0 = Y(boxes_[e.from]) + kHeight, x1 = boxes_[e.to].x,
                   y1 = Y(boxes_[e.to]);
      // Edges over several layers bow outwards, beside the boxes in between.
      const size_t layers = boxes_[e.to].layer - boxes_[e.from].layer;
      const double bow = layers > 1 ? kWidth * 0.75 : 0,
                   pull = (y1 - y0) * (layers > 1 ? 0.3 : 0.5);
      shapes += fmt::format(
          "<path d=\"M{:.0f},{:.0f} C{:.0f},{:.0f} {:.0f},{:.0f} {:.0f},{:.0f}\"/>\n"
          "<text class=\"e\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
          x0, y0, x0 + bow, y0 + pull, x1 + bow, y1 - pull, x1, y1, (x0 + x1) / 2 + bow * 0.75 + 4,
          (y0 + y1) / 2, Escaped(e.text));
    }
    for (const Box& box : boxes_) {
      const double left = box.x - kWidth / 2, y = Y(box);
      const auto owner = std::find(owners.begin(), owners.end(), box.owner);
      const std::string fill = owner == owners.end() ? "#fff" : Colour(owner - owners.begin());
      shapes += fmt::format("<g><title>{}</title>", Escaped(box.tip));
      shapes += box.ellipse
                    ? fmt::format(
                          "<ellipse cx=\"{:.0f}\" cy=\"{:.0f}\" rx=\"{:.0f}\" ry=\"{:.0f}\" "
                          "fill=\"{}\"/>",
                          box.x, y + kHeight / 2, kWidth / 2, kHeight / 2, fill)
                    : fmt::format(
                          "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" "
                          "height=\"{:.0f}\" rx=\"4\" fill=\"{}\"/>",
                          left, y, kWidth, kHeight, fill);
      shapes +=
          fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>", box.x, y + 17, Short(box.text));
      shapes += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text></g>\n", box.x, y + 32,
                            Short(box.second_line));
    }
    for (size_t i = 0; i < owners.size(); ++i) {
      const double y = 10 + 18 * static_cast<double>(i);
      shapes += fmt::format(
          "<rect x=\"10\" y=\"{:.0f}\" width=\"14\" height=\"14\" fill=\"{}\"/>"
          "<text class=\"l\" x=\"30\" y=\"{:.0f}\">{}</text>\n",
          y, Colour(static_cast<ptrdiff_t>(i)), y + 12, Escaped(owners[i]));
    }
    const double below = 20 + 18 * static_cast<double>(owners.size());
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n"
        "<style>text{{font:12px sans-serif;text-anchor:middle}}.e{{font-size:10px;fill:#666;"
        "text-anchor:start}}.l{{text-anchor:start}}path{{fill:none;stroke:#888}}"
        "rect,ellipse{{stroke:#444}}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\" "
        "style=\"stroke:none\"/>\n{2}</svg>\n",
        width_, std::max(Bottom(), below), shapes);
  }

 private:
  static Box Ellipse(const Value& value) {
    Box box;
    box.ellipse = true;
    box.text = value.name.empty() ? value.type.ToString() : value.name;
    box.second_line = value.name.empty() ? "" : value.type.ToString();
    box.tip = value.name + " " + value.type.ToString();
    return box;
  }

  /// Pale, neighbours far apart.
  static std::string Colour(ptrdiff_t index) {
    return fmt::format("hsl({:.0f},80%,85%)", 360 * text::Hue(static_cast<size_t>(index)));
  }

  double Y(const Box& box) const {
    return kMargin + static_cast<double>(box.layer) * (kHeight + kGapY);
  }
  double Bottom() const {
    size_t last = 0;
    for (const Box& box : boxes_) last = std::max(last, box.layer);
    return kMargin * 2 + static_cast<double>(last + 1) * (kHeight + kGapY);
  }

  void Arrange() {
    size_t layers = 0;
    for (Box& box : boxes_) {  // in the order in which they run
      for (const size_t a : box.above) box.layer = std::max(box.layer, boxes_[a].layer + 1);
      layers = std::max(layers, box.layer + 1);
    }
    // Inputs stand right above their first reader.
    std::vector<size_t> lowest(boxes_.size(), layers);
    for (const Edge& e : edges_) lowest[e.from] = std::min(lowest[e.from], boxes_[e.to].layer);
    for (size_t i = 0; i < boxes_.size(); ++i) {
      if (boxes_[i].ellipse && boxes_[i].above.empty() && lowest[i] < layers && lowest[i] > 0)
        boxes_[i].layer = lowest[i] - 1;
    }
    std::vector<std::vector<size_t>> rows(layers);
    for (size_t i = 0; i < boxes_.size(); ++i) rows[boxes_[i].layer].push_back(i);
    double left = 0, right = 0;
    for (std::vector<size_t>& row : rows) {
      for (const size_t i : row) {
        Box& box = boxes_[i];
        for (const size_t a : box.above) box.x += boxes_[a].x;
        if (!box.above.empty()) box.x /= static_cast<double>(box.above.size());
      }
      std::stable_sort(row.begin(), row.end(),
                       [&](size_t a, size_t b) { return boxes_[a].x < boxes_[b].x; });
      // None over another; then all back by what that moved them on average.
      double wanted = 0, got = 0;
      for (size_t k = 0; k < row.size(); ++k) {
        Box& box = boxes_[row[k]];
        wanted += box.x;
        if (k > 0) box.x = std::max(box.x, boxes_[row[k - 1]].x + kWidth + kGapX);
        got += box.x;
      }
      const double back = row.empty() ? 0 : (got - wanted) / static_cast<double>(row.size());
      for (const size_t i : row) {
        boxes_[i].x -= back;
        left = std::min(left, boxes_[i].x);
        right = std::max(right, boxes_[i].x);
      }
    }
    // Room for the legend on the left and for bowed edges on the right.
    const double shift = kMargin + kWidth - left;
    for (Box& box : boxes_) box.x += shift;
    width_ = right + shift + 1.5 * kWidth;
  }

  std::vector<Box> boxes_;
  std::vector<Edge> edges_;
  double width_ = 0;
};

}  // namespace

std::string ToSvg(const Graph& graph, const std::vector<std::string>& cluster_of,
                  const std::vector<std::string>& owner_of) {
  return Picture(graph, cluster_of, owner_of).Text();
}

}  // namespace tim::vx::ir
