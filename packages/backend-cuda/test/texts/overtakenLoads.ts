/** Instruction, guard left out: its name, and its operands with brackets. */
interface Instruction {
  readonly name: string;
  readonly operands: string;
}

const registers = /%\w+/g;

/**
 * Loads from shared memory that a copy to it may overtake: between a wait for copies and the next copy of the text, without a fence, and not
 * read by what the copy's operands are computed from. Copies are made beside the thread, which goes on before its loads have returned.
 */
export function overtakenLoads(ptx: string): readonly string[] {
  const instructions = ptx
    .split("\n")
    .map((line) => /^\s*(?:@!?%\w+ )?([a-z][\w.:]*) ?(.*);$/.exec(line))
    .map((found): Instruction => ({ name: found?.[1] ?? "", operands: found?.[2] ?? "" }));
  const sources = sourcesOf(instructions);
  const found: string[] = [];
  let loads: Instruction[] = [];
  for (const instruction of instructions) {
    const { name, operands } = instruction;
    if (name.startsWith("mbarrier.try_wait") || name.startsWith("fence.proxy.async")) loads = [];
    else if (name.startsWith("ld.shared")) loads.push(instruction);
    else if (name.startsWith("cp.async.bulk") && name.includes(".shared::cluster.global") && loads.length > 0) {
      const known = closure(operands.match(registers) ?? [], sources);
      const late = loads.filter((load) => !resultsOf(load).some((register) => known.has(register)));
      found.push(...late.map((load) => `${load.name} ${load.operands}`));
      loads = [];
    }
  }
  return found;
}

/** By register, those that it is computed from. */
function sourcesOf(instructions: readonly Instruction[]): ReadonlyMap<string, ReadonlySet<string>> {
  const sources = new Map<string, Set<string>>();
  for (const instruction of instructions) {
    const { name, operands } = instruction;
    if (/^(st|bra|bar|cp|mbarrier|fence|red|wgmma)\b/.test(name)) continue;
    const results = resultsOf(instruction);
    const read = operands.slice(operands.indexOf(",")).match(registers) ?? [];
    for (const result of results) {
      const known = sources.get(result) ?? new Set();
      sources.set(result, known);
      for (const register of read) known.add(register);
    }
  }
  return sources;
}

/** The registers that an instruction writes: its first operand, in braces if there are several. */
function resultsOf({ operands }: Instruction): readonly string[] {
  const first = operands.startsWith("{") ? operands.slice(0, operands.indexOf("}")) : operands.slice(0, operands.indexOf(","));
  return first.match(registers) ?? [];
}

function closure(from: readonly string[], sources: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const known = new Set(from);
  for (const register of known) for (const source of sources.get(register) ?? []) known.add(source);
  return known;
}
