import type { ElementType } from "./kernel.ts";

/** Statements that read memory, taken apart so that the reads can come long before what depends on them. */
export interface EarlyReads {
  /** Declarations of the variables that hold what was read. */
  readonly declarations: readonly string[];
  /** Statements that read into the variables. */
  readonly reads: readonly string[];
  /** The same statements in terms of the variables. The variables may be read again after {@link taken}. */
  readonly taken: readonly string[];
  readonly rest: readonly string[];
}

const statement = /^let (\w+) = (.*);$/;

/**
 * Takes apart `lines`, all of the form `let name = expression;`. Elements of `arrays`, whose element types these are, are read by statements of
 * their own.
 */
export function earlyReads(lines: readonly string[], arrays: ReadonlyMap<string, ElementType>): EarlyReads {
  const counts = new Map<string, number>();
  const held: { readonly line: string; readonly variable: string; readonly name: string; readonly type: string }[] = [];
  for (const line of lines) {
    const [, name = "", expression = ""] = statement.exec(line) ?? [];
    const type = arrays.get(expression.slice(0, expression.indexOf("[")));
    if (type === undefined) continue;
    const own = name.startsWith("u_") ? "u32" : type;
    const count = counts.get(own) ?? 0;
    counts.set(own, count + 1);
    held.push({ line, name, type: own, variable: `held_${own}${count}` });
  }
  const read = new Set(held.map(({ line }) => line));
  return {
    declarations: held.map(({ variable, type }) => `var ${variable}: ${type};`),
    reads: [...neededLines(lines, read), ...held.map(({ variable, name }) => `${variable} = ${name};`)],
    taken: held.map(({ variable, name }) => `let ${name} = ${variable};`),
    rest: lines.filter((line) => !read.has(line)),
  };
}

/** The lines that are wanted, and those that define what these contain. */
function neededLines(lines: readonly string[], wanted: ReadonlySet<string>): readonly string[] {
  const names = new Set<string>();
  const needed: string[] = [];
  for (const line of lines.toReversed()) {
    const [, name = "", expression = ""] = statement.exec(line) ?? [];
    if (!wanted.has(line) && !names.has(name)) continue;
    needed.push(line);
    for (const word of expression.match(/[a-z]\w*/g) ?? []) names.add(word);
  }
  return needed.reverse();
}
