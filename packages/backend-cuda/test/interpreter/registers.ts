import { type Instruction, type ParsedKernel, productName, registersOf } from "./parse.ts";

/**
 * The kernel with few registers: those that are never needed at the same time share a name. The builder takes a new register for each value,
 * and a generator saves and restores all its variables whenever threads meet. Registers that products of a warpgroup use keep their own: they
 * are also read and written between the instructions that name them.
 */
export function shareRegisters(kernel: ParsedKernel): ParsedKernel {
  const spans = [...spansOf(kernel)].sort(([, a], [, b]) => a.first - b.first);
  const names = new Map<string, string>();
  const used = new Map<string, number>();
  /** By kind, the names that are taken, with the last place where each is needed. */
  const taken = new Map<string, { readonly name: string; last: number }[]>();
  for (const [register, { first, last }] of spans) {
    const kind = register[0]!;
    const ofKind = taken.get(kind) ?? [];
    taken.set(kind, ofKind);
    let place = ofKind.find((each) => each.last < first);
    if (place === undefined) {
      place = { name: `${kind}${used.get(kind) ?? 0}`, last };
      used.set(kind, (used.get(kind) ?? 0) + 1);
      ofKind.push(place);
    }
    place.last = last;
    names.set(register, place.name);
  }
  const rename = (text: string): string => text.replace(/%([phuslfd]\d+)\b/g, (_, register: string) => `%${names.get(register)}`);
  const renamed = ({ text, guard, name, operands }: Instruction): Instruction => ({
    text,
    guard: guard && { ...guard, register: names.get(guard.register)! },
    name,
    operands: operands.map(rename),
  });
  return {
    ...kernel,
    registers: [...taken.values()].flatMap((ofKind) => ofKind.map(({ name }) => name)),
    blocks: kernel.blocks.map(({ label, instructions }) => ({ label, instructions: instructions.map(renamed) })),
  };
}

interface Span {
  readonly first: number;
  readonly last: number;
}

/** The places from the first to the last at which each register is needed, counted in instructions. */
function spansOf({ blocks }: ParsedKernel): ReadonlyMap<string, Span> {
  const spans = new Map<string, { readonly first: number; last: number }>();
  const labels = new Map<string, number>();
  const loops: Span[] = [];
  let place = 0;
  for (const { label, instructions } of blocks) {
    if (label !== undefined) labels.set(label, place);
    for (const { name, text, operands } of instructions) {
      for (const register of registersOf(text)) {
        const span = spans.get(register);
        if (span === undefined) spans.set(register, { first: place, last: place });
        else span.last = place;
      }
      const target = name === "bra" ? labels.get(operands[0]!) : undefined;
      if (target !== undefined) loops.push({ first: target, last: place });
      place++;
    }
  }
  // What a loop reads and does not assign is needed until the loop ends. Inner loops end first.
  for (const loop of loops)
    for (const span of spans.values())
      if (span.first < loop.first && span.last >= loop.first && span.last < loop.last) span.last = loop.last;
  for (const { name, text } of blocks.flatMap(({ instructions }) => instructions))
    if (productName.test(name)) for (const register of registersOf(text)) spans.set(register, { first: -1, last: place });
  return spans;
}
