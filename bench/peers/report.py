"""What the driver found out, as rows: a table for the terminal, build/peers.json and build/peers.svg. Standard library only.

A row is a dictionary:
  network, dtype, peer   what ran ("int8", "openvino", ...)
  peer_ms, ours_ms       least wall time of one run on two threads; null where an engine failed
  ratio                  peer_ms / ours_ms, above 1: we are faster
  max_error              largest difference of the outputs of ours and the peer's, as a share of the largest output
  peer_median_ms, ours_median_ms, peer_cpu_ms, ours_cpu_ms, cpu_ratio   medians; CPU time of one run on one thread
  ours_gops, share       our operations per second (1e9), and their share of the peak measured in the same run
  ours_rms_error         of ours from what NumPy computed, as model_bench compares it, where the network has such values
  wrapper_us, ours_wrapper_us   a call that computes nothing, called as the network is: at most this much of a time is the calling
  quiet_rounds           null where the peak, and with it disturbance, could not be measured
  version, threads, settings, error
  explained              true where the error is a finding that another run would repeat; any other makes the table incomplete
  part                   what of the network the peer ran, if not all of it: such a row is never the fastest peer
"""
import json, math, os, pathlib

WHOLE_NETWORK_PEERS = {"onnxruntime", "openvino", "litert", "ncnn"}  # a valid file has three of them


def ratio(peer, ours):
    return peer / ours if peer and ours else None


def fastest(rows):
    """{(network, dtype): the row of the fastest peer}, without those that failed."""
    best = {}
    for row in rows:
        key = (row["network"], row["dtype"])
        if row.get("peer_ms") and not row.get("error") and not row.get("part") and (key not in best or row["peer_ms"] < best[key]["peer_ms"]):
            best[key] = row
    return best


def unexplained(rows):
    """Rows without times of which nobody knows why, and where ours failed."""
    found = []
    for row in rows:
        where, error = f"{row['network']} {row['dtype']}", row.get("error")
        if row.get("ours_failed"):
            found.append(f"{where}, ours: {row['ours_failed']}")
        if error and not row.get("explained") and not error.startswith("ours: "):
            found.append(f"{where}, {row['peer']}: {error}")
        elif not error and not row.get("peer_ms"):
            found.append(f"{where}, {row['peer']}: no times")
    return list(dict.fromkeys(found))


def problems(rows, networks, dtypes=("fp32", "int8")):
    """Why these rows do not make a valid file of all networks: some without a comparison, too few peers."""
    compared = {(r["network"], r["dtype"]) for r in rows if r.get("ratio") and not r.get("part")}
    missing = [f"{network} {dtype}" for network in networks for dtype in dtypes if (network, dtype) not in compared]
    found = [f"no peer was compared with ours for {', '.join(missing)}"] if missing else []
    peers = {r["peer"].split("-")[0] for r in rows if r.get("peer_ms") and not r.get("error")} & WHOLE_NETWORK_PEERS
    if len(peers) < 3:
        found.append(f"only {len(peers)} of {', '.join(sorted(WHOLE_NETWORK_PEERS))} ran, 3 are needed")
    return found


def number(value, digits=3):
    """Three significant digits without an exponent: 0.0123, 1.23, 123."""
    if value is None:
        return "-"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(places, 6)}f}"


HEAD = ("network", "dtype", "peer", "peer ms", "ours ms", "ratio", "medians", "1 thread: peer", "ours", "ratio", "GOP/s", "of peak",
        "max error", "")


def cells(row, best):
    mark = row.get("part") or ("fastest peer" if best.get((row["network"], row["dtype"])) is row else "")
    share = row.get("share")
    error = row.get("max_error")
    return (row["network"], row["dtype"], row["peer"], number(row.get("peer_ms")), number(row.get("ours_ms")), number(row.get("ratio")),
            number(ratio(row.get("peer_median_ms"), row.get("ours_median_ms"))), number(row.get("peer_cpu_ms")),
            number(row.get("ours_cpu_ms")), number(row.get("cpu_ratio")), number(row.get("ours_gops")),
            "-" if share is None else f"{100 * share:.0f} %", "-" if error is None else f"{error:.1e}",
            f"error: {row['error']}" if row.get("error") else mark)


def table(rows):
    best = fastest(rows)
    lines = [HEAD] + [cells(row, best) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD) - 1)]
    text = []
    for at, line in enumerate(lines):
        left = [c.ljust(w) if i < 3 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))]
        text.append("  ".join([*left, line[-1]]).rstrip())
        if at == 0:
            text.append("-" * len(text[0]))
    return "\n".join(text) + "\n"


def write(path, data):
    """All of it or nothing: whoever is interrupted leaves the file that was there."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(data)
    os.replace(new, path)


def write_json(rows, path):
    """One object per line, so that a difference between two runs is readable."""
    lines = ",\n".join("  " + json.dumps(row, allow_nan=False) for row in rows)
    write(path, f"[\n{lines}\n]\n".encode())


def escaped(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


COLORS = {"onnxruntime": "#4878a8", "openvino": "#7a5ca0", "litert": "#c8803c", "ncnn": "#58904e", "mnn": "#a04e5e", "onednn": "#6c6c6c"}


def svg(rows, title):
    """Bars of peer / ours, one group per network and dtype, on a logarithmic axis around 1; pale ones of a part of the network."""
    groups = {}
    for row in rows:
        groups.setdefault((row["network"], row["dtype"]), []).append(row)
    bar, gap, left, width = 11, 9, 210, 560
    exponents = [math.log2(row["ratio"]) for row in rows if row.get("ratio")]
    span = max(1, math.ceil(max(map(abs, exponents), default=1)))

    def x(value):
        return left + width * (math.log2(value) + span) / (2 * span)
    parts, y = [], 64
    for (network, dtype), members in groups.items():
        parts.append(f'<text x="{left - 92}" y="{y + len(members) * bar / 2 + 4:g}" text-anchor="end" class="group">'
                     f"{escaped(network)} {escaped(dtype)}</text>")
        for row in members:
            color = COLORS.get(row["peer"].split("-")[0], "#808080")
            parts.append(f'<text x="{left - 6}" y="{y + 9}" text-anchor="end">{escaped(row["peer"])}</text>')
            if row.get("ratio"):
                end = x(row["ratio"])
                start, size = min(end, x(1)), abs(end - x(1))
                kind = ' class="part"' if row.get("part") else ""
                parts.append(f'<rect x="{start:.1f}" y="{y + 1}" width="{max(size, 0.5):.1f}" height="{bar - 2}" fill="{color}"{kind}/>')
                note = f' ({escaped(row["part"])})' if row.get("part") else ""
                parts.append(f'<text x="{max(end, x(1)) + 4:.1f}" y="{y + 9}">{number(row["ratio"])}{note}</text>')
            else:
                parts.append(f'<text x="{x(1) + 4:.1f}" y="{y + 9}" class="none">{escaped(row.get("error") or "not compared")[:60]}</text>')
            y += bar
        y += gap
    grid = []
    for exponent in range(-span, span + 1):
        at = x(2.0 ** exponent)
        grid.append(f'<line x1="{at:.1f}" y1="52" x2="{at:.1f}" y2="{y}" stroke="{"#000" if exponent == 0 else "#ddd"}"/>')
        grid.append(f'<text x="{at:.1f}" y="46" text-anchor="middle">{2.0 ** exponent:g}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 90}" height="{y + 12}">\n'
            "<style>text { font: 10px sans-serif } .title { font-size: 14px } .group { font-weight: bold } .none { fill: #888 } .part { fill-opacity: 0.35 }</style>\n"
            f'<rect width="100%" height="100%" fill="#fff"/>\n<text x="12" y="22" class="title">{escaped(title)}</text>\n'
            + "\n".join(grid + parts) + "\n</svg>\n")
