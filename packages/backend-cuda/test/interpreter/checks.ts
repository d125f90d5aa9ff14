import { Fault } from "./memory.ts";
import { type Instruction, type ParsedKernel, productName, registersOf } from "./parse.ts";

/** @throws {Fault} unless every register is assigned on every path to each of its uses */
export function checkDefinitions({ blocks }: ParsedKernel): void {
  const places = new Map(blocks.flatMap(({ label }, i) => (label === undefined ? [] : [[label, i] as const])));
  const entering: (Set<string> | undefined)[] = blocks.map(() => undefined);
  entering[0] = new Set();
  const pending = [0];
  const flow = (to: number, defined: ReadonlySet<string>): void => {
    const known = entering[to];
    const merged = known === undefined ? new Set(defined) : new Set([...known].filter((register) => defined.has(register)));
    if (known !== undefined && merged.size === known.size) return;
    entering[to] = merged;
    pending.push(to);
  };
  const walk = (i: number, check: boolean): void => {
    const defined = new Set(entering[i]);
    for (const { name, guard, operands, text } of blocks[i]!.instructions) {
      const isStore =
        /^(st|red|prefetch|mbarrier\.(init|arrive)|fence|cp|bar|barrier|griddepcontrol|setmaxnreg|wgmma\.(fence|commit|wait))\./.test(name);
      const sources = (isStore ? operands : operands.slice(1)).flatMap((item) => item.match(/%[phuslfd]\d+/g) ?? []);
      const used = guard === undefined ? sources : [...sources, `%${guard.register}`];
      const missing = used.find((register) => !defined.has(register));
      if (check && missing !== undefined) throw new Fault(`${missing} is used before it is assigned on every path: ${text}`);
      if (name === "bra") {
        if (!check) flow(places.get(operands[0]!)!, defined);
        if (guard === undefined) return;
      } else if (name === "ret") return;
      else if (!isStore) for (const [register] of (operands[0] ?? "").matchAll(/%[phuslfd]\d+/g)) defined.add(register);
    }
    if (!check && i + 1 < blocks.length) flow(i + 1, defined);
  };
  while (pending.length > 0) walk(pending.pop()!, false);
  blocks.forEach((_, i) => {
    if (entering[i] !== undefined) walk(i, true);
  });
}

/** @throws {Fault} for a product whose registers other instructions may have used after the last fence before it */
export function checkProductFences(kernel: ParsedKernel): void {
  const { blocks } = kernel;
  const products = blocks.flatMap(({ instructions }) => instructions.filter(({ name }) => productName.test(name)));
  if (products.length === 0) return;
  const registersOfProduct = ({ operands: [sums, a] }: Instruction): readonly string[] =>
    registersOf(`${sums} ${a!.startsWith("{") ? a : ""}`);
  const watched = new Set(products.flatMap(registersOfProduct));
  const places = new Map(blocks.flatMap(({ label }, i) => (label === undefined ? [] : [[label, i] as const])));
  const entering: (Set<string> | undefined)[] = blocks.map(() => undefined);
  entering[0] = new Set(watched);
  const pending = [0];
  const flow = (to: number, used: ReadonlySet<string>): void => {
    const merged = new Set([...(entering[to] ?? []), ...used]);
    if (entering[to] !== undefined && merged.size === entering[to].size) return;
    entering[to] = merged;
    pending.push(to);
  };
  const walk = (i: number): void => {
    const used = new Set(entering[i]);
    for (const instruction of blocks[i]!.instructions) {
      const { name, guard, operands, text } = instruction;
      if (name === "wgmma.fence.sync.aligned") used.clear();
      else if (productName.test(name)) {
        const unfenced = registersOfProduct(instruction).find((register) => used.has(register));
        if (unfenced !== undefined) throw new Fault(`%${unfenced} is used without a fence before a product: ${text}`);
      } else for (const register of registersOf(operands.join(" "))) if (watched.has(register)) used.add(register);
      if (name === "bra") {
        flow(places.get(operands[0]!)!, used);
        if (guard === undefined) return;
      } else if (name === "ret") return;
    }
    if (i + 1 < blocks.length) flow(i + 1, used);
  };
  while (pending.length > 0) walk(pending.pop()!);
}
