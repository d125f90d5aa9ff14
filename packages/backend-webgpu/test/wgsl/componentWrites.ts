/**
 * Statements of a WGSL text that write one component of a vector in memory of several lanes. Such a write may write the whole vector, so that
 * components that other lanes write at the same time are lost: https://github.com/gpuweb/gpuweb/issues/2112.
 */
export function componentWrites(code: string): readonly string[] {
  const arrays = [...code.matchAll(/var<(?:workgroup|storage, read_write)> (\w+): ((?:array<)*)vec[234]/g)];
  return arrays
    .flatMap(([, name, opened]) => {
      const indices = (opened ?? "").length / "array<".length;
      return statementsOf(code, name!).filter(({ target }) => /\.[xyzwrgba]$/.test(target) || indicesOf(target) > indices);
    })
    .map(({ text }) => text);
}

/** Statements that assign to an element of an array, and what they assign to. */
function statementsOf(code: string, name: string): readonly { readonly text: string; readonly target: string }[] {
  return [...code.matchAll(new RegExp(`(?<![\\w.])${name}\\[[^;{}]*?[^=!<>]=(?!=)[^;]*;`, "g"))].flatMap(([text]) => {
    const target = text
      .slice(0, assignmentIn(text))
      .trim()
      .replace(/[-+*/|&^]$/, "")
      .trim();
    return isWhole(target) ? [{ text, target }] : [];
  });
}

/** The place of the first `=` outside of brackets; the end if there is none. */
function assignmentIn(text: string): number {
  let depth = 0;
  for (const [i, char] of [...text].entries()) {
    if ("[(".includes(char)) depth++;
    else if ("])".includes(char)) depth--;
    else if (char === "=" && depth === 0) return i;
  }
  return text.length;
}

/** Whether a text is a name with indices alone. */
function isWhole(target: string): boolean {
  return /^\w+\[[\s\S]*\](\.\w+)?$/.test(target) && outside(target).every((part) => /^\w*(\.\w+)?$/.test(part));
}

function indicesOf(target: string): number {
  return outside(target).length - 1;
}

/** The parts of a text between its outermost square brackets. */
function outside(target: string): readonly string[] {
  const parts = [""];
  let depth = 0;
  for (const char of target) {
    if (char === "[" && depth++ === 0) parts.push("");
    else if (char === "]") depth--;
    else if (depth === 0) parts[parts.length - 1] += char;
  }
  return parts;
}
