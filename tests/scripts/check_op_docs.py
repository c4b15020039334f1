#!/usr/bin/env python3
"""The form of the comments in include/tim/vx/ops/*.h: each operator tells its operands and errors.

check_op_docs.py [root] prints what is missing as file:line; --self-test tries it on made-up headers.
An operator is a class at the left margin that derives from another. In front of it stands
  /// One sentence, of two lines at most, that says what it computes. More may follow.
  ///   input   T[any rank]     (names that start with input, output; others between them are free)
  ///   output  T, shape of input
  /// Attributes: ...   Errors: ...   Source: ...
"""
import pathlib, re, sys, tempfile

OPERATOR = re.compile(r"class\s+(?:[A-Z_]+\s+)?(\w+)(?:\s+final)?\s*:\s*(?:public|protected|private)\b")
BETWEEN = re.compile(r"\s*(template\s*<.*|\[\[.*\]\])\s*$")  # may stand between comment and class


def comment_above(lines, at):
    """The text of the /// lines directly above line `at`, without the slashes."""
    while at > 0 and BETWEEN.match(lines[at - 1]):
        at -= 1
    first = at
    while first > 0 and lines[first - 1].startswith("///"):
        first -= 1
    return [line[3:] for line in lines[first:at]]


def faults(comment):
    if not comment:
        return ["has no /// comment"]
    found = []
    summary = [""]
    for line in comment[:2]:
        if re.match(r"\s{2,}\w|\s*$|\s*[A-Z]\w+:", line):  # an operand, nothing, a keyword
            break
        summary.append(line.strip())
    if not re.search(r"\w.*[.!](\s|$)", " ".join(summary)):
        found.append("does not begin with a sentence of at most two lines")
    for operand in ("input", "output"):
        if not any(re.match(rf"\s{{2,}}{operand}\w*\W", line + " ") for line in comment):
            found.append(f"has no line for its {operand}")
    for word in ("Errors", "Source"):
        if not re.search(rf"\b{word}: *\S", "\n".join(comment)):
            found.append(f"does not say its {word}")
    return found


def check(root):
    violations = []
    for file in sorted((root / "include/tim/vx/ops").glob("*.h")):
        lines = file.read_text("utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            # The base class may stand on the next line.
            if match := OPERATOR.match(" ".join(lines[number - 1:number + 1])):
                if not line.startswith("class"):
                    continue
                where = f"{file.relative_to(root).as_posix()}:{number}: {match[1]}"
                violations += [f"{where} {what}" for what in faults(comment_above(lines, number - 1))]
    return violations


def self_test():
    whole = ["/// Running sum.", "///   input   T[any rank]", "///   output  T, shape of input",
             "/// Attributes: axis.", "/// Errors: kInvalidArgument.   Source: ONNX CumSum-14."]
    header = lambda comment, head="class TIMCL_API Sum : public BuiltinOp {": \
        "\n".join(["struct Helper {};", "class Graph;", "", *comment, head, " public:", "};", ""])
    drop = lambda i: header(whole[:i] + whole[i + 1:])
    cases = {  # header text -> how many faults
        header(whole): 0,
        header(whole, "class Sum\n    : public BuiltinOp {"): 0,
        header(whole, "template <int kRank>\nclass Sum final : public Operation {"): 0,
        header([], "class Helper2 {"): 0,
        header([]): 1,
        header(whole + [""]): 1,                                 # not directly above
        drop(0): 1, drop(1): 1, drop(2): 1, drop(4): 2,
        header(["/// Running sum", *whole[1:]]): 1,              # no full stop
        header(["/// Running sum", "/// of lines. It goes on", "/// here.", *whole[1:]]): 0,
        header(["/// Running", "/// sum", "/// of lines.", *whole[1:]]): 1,
        header([line.replace("Source: ", "See ") for line in whole]): 1,
        header([line.replace("Errors: ", "Errors:") .replace("kInvalidArgument.", "") for line in whole]
               [:4] + ["/// Errors:", "/// Source: ONNX."]): 1,  # named, but nothing said
    }
    for text, want in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            ops = pathlib.Path(folder) / "include/tim/vx/ops"
            ops.mkdir(parents=True)
            (ops / "sum.h").write_text(text)
            got = check(pathlib.Path(folder))
        assert len(got) == want, f"self-test: {want} faults expected, found {got} in\n{text}"
        at = [n for n, line in enumerate(text.splitlines(), 1) if re.match("class.* Sum|class Sum", line)]
        assert all(line.startswith(f"include/tim/vx/ops/sum.h:{at[0]}: Sum ") for line in got), got


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        sys.exit(0)
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    if not any((top / "include/tim/vx/ops").glob("*.h")):
        sys.exit(f"{top}: no headers in include/tim/vx/ops")
    found = check(top)
    print("\n".join(found) if found else "op comments: all in order")
    sys.exit(bool(found))
