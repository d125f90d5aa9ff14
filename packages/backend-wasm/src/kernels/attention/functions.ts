import { type Expr, i32, type ModuleBuilder, threadIndex } from "../../emit/index.ts";
import type { Target } from "../../target.ts";
import { type Block, emitBlocks } from "./block.ts";
import { cacheTypes } from "./cacheRow.ts";
import { common, emitVisible, vectorsOf } from "./layout.ts";
import { emitFinish, emitMerge, type Pointer, part } from "./parts.ts";
import { keyBlock } from "./tiles.ts";

/** Parameters of all attention functions, in order. */
export type AttentionArguments = Readonly<Record<keyof typeof common, number>>;

/** Orders arguments as {@link common} does. */
export function attentionArguments(values: AttentionArguments): number[] {
  return (Object.keys(common) as (keyof typeof common)[]).map((name) => values[name]);
}

/**
 * Emits, for each cache type, functions over ranges `begin` to `end`:
 * - `attention.<type>`: units are cache heads × groups of `queries` adjacent tokens. Tokens of a head follow each
 *   other, because rows of all heads together would evict each other from the first-level cache.
 * - `attention.split.<type>`: units are blocks of positions × cache heads, for one token. Each writes a {@link part} at
 *   `parts`.
 * - `attention.join`: units are heads. Merges the parts of one token.
 */
export function emitAttention(module: ModuleBuilder, target: Target): void {
  const blocks = emitBlocks(module, target, cacheTypes);
  const parts = { merge: emitMerge(module, target), finish: emitFinish(module, target) };
  for (const { type, block } of blocks) {
    emitWhole(module, `attention.${type}`, block, parts);
    emitSplit(module, `attention.split.${type}`, block);
  }
  emitJoin(module, parts);
}

/** Functions on {@link part}s. */
interface PartFunctions {
  readonly merge: ReturnType<typeof emitMerge>;
  readonly finish: ReturnType<typeof emitFinish>;
}

const range = { ...common, begin: "i32", end: "i32" } as const;

/** Bytes of a {@link part}. */
function partSize(dV: Pointer): Expr<"i32"> {
  return i32.add(i32.shl(vectorsOf(dV), 4), part.values);
}

function emitWhole(module: ModuleBuilder, name: string, block: Block, { merge, finish }: PartFunctions): void {
  module.function(name, range, (f, { begin, end: last, ...p }) => {
    const scratch = f.let(i32.add(p.threadScratch, i32.mul(threadIndex, p.threadScratchBytes)));
    const size = f.let(partSize(p.dV));
    const group = f.let(i32.divU(p.heads, p.kvHeads));
    const [kvHead, first, end, next, stop, count] = f.locals("i32", 6);
    const [from, to, key, at, other] = f.locals("i32", 5);
    const [head, token, y] = f.locals("i32", 3);
    const parts = f.let(i32.divU(i32.sub(i32.add(p.tokens, p.queries), 1), p.queries));
    f.while(i32.ltU(begin, last), () => {
      f.set(kvHead, i32.divU(begin, parts));
      f.set(first, i32.mul(i32.remU(begin, parts), p.queries));
      f.set(stop, i32.add(first, p.queries));
      f.set(stop, i32.select(i32.ltU(stop, p.tokens), stop, p.tokens));
      f.while(i32.ltU(first, stop), () => {
        const sequence = f.let(i32.load(i32.add(p.seqOf, i32.shl(first, 2))));
        f.setI32(from, 0x7fffffff);
        f.setI32(to, 0);
        f.set(next, first);
        // Adjacent tokens of one sequence, and the positions that any of them sees.
        f.loop((again) => {
          const seen = emitVisible(f, p, next, sequence);
          f.set(from, i32.select(i32.ltS(seen.from, from), seen.from, from));
          f.set(to, i32.select(i32.gtS(seen.end, to), seen.end, to));
          f.advance(next, 1);
          f.if(i32.ltU(next, stop), () => f.brIf(again, i32.eq(i32.load(i32.add(p.seqOf, i32.shl(next, 2))), sequence)));
        });
        f.set(count, i32.mul(i32.sub(next, first), group));
        const own = f.let(i32.add(scratch, p.parts));
        const blockParts = f.let(i32.add(own, i32.mul(count, size)));
        f.set(key, i32.and(from, -keyBlock));
        const target = f.let(own);
        // At least once, so that queries which see nothing have parts.
        f.loop((again) => {
          f.set(end, i32.add(key, keyBlock));
          f.call(block, {
            ...p,
            scratch,
            to: target,
            first,
            last: next,
            sequence,
            kvHead,
            from: i32.select(i32.gtS(from, key), from, key),
            end: i32.select(i32.ltS(to, end), to, end),
            touched: i32.const(1),
          });
          f.if(i32.ne(target, own), () => {
            f.set(at, own);
            f.set(other, blockParts);
            f.while(i32.ltU(at, blockParts), () => {
              f.call(merge, { into: at, from: other, dV: p.dV });
              f.set(at, i32.add(at, size));
              f.set(other, i32.add(other, size));
            });
          });
          f.set(target, blockParts);
          f.set(key, end);
          f.brIf(again, i32.ltS(key, to));
        });
        f.set(at, own);
        f.set(token, first);
        f.while(i32.ltU(token, next), () => {
          f.set(head, i32.mul(kvHead, group));
          const lastHead = f.let(i32.add(head, group));
          f.while(i32.ltU(head, lastHead), () => {
            f.set(y, i32.add(p.y, i32.shl(i32.mul(i32.add(i32.mul(token, p.heads), head), p.dV), 2)));
            const sink = i32.select(p.sinks, i32.add(p.sinks, i32.shl(head, 2)), 0);
            f.call(finish, { from: at, y, dV: p.dV, sink });
            f.set(at, i32.add(at, size));
            f.advance(head, 1);
          });
          f.advance(token, 1);
        });
        f.set(first, next);
      });
      f.advance(begin, 1);
    });
  });
}

function emitSplit(module: ModuleBuilder, name: string, block: Block): void {
  module.function(name, range, (f, { begin, end: last, ...p }) => {
    const scratch = f.let(i32.add(p.threadScratch, i32.mul(threadIndex, p.threadScratchBytes)));
    const size = f.let(partSize(p.dV));
    const group = f.let(i32.divU(p.heads, p.kvHeads));
    const zero = f.local("i32");
    const start = f.let(begin);
    const sequence = f.let(i32.load(p.seqOf));
    const seen = emitVisible(f, p, zero, sequence);
    f.while(i32.ltU(begin, last), () => {
      const kvHead = f.let(i32.remU(begin, p.kvHeads));
      const key = f.let(i32.divU(begin, p.kvHeads));
      const to = f.let(i32.add(p.parts, i32.mul(i32.add(i32.mul(key, p.heads), i32.mul(kvHead, group)), size)));
      f.set(key, i32.mul(key, keyBlock));
      const end = f.let(i32.add(key, keyBlock));
      f.set(end, i32.select(i32.ltS(seen.end, end), seen.end, end));
      const from = f.let(i32.select(i32.gtS(seen.from, key), seen.from, key));
      // The first block's parts are merged into, so they are written even if nothing is visible.
      f.if(
        i32.or(i32.eqz(key), i32.ltS(from, end)),
        () => {
          // Heads of a block are adjacent in memory: the first one prefetches the lines of all that follow.
          const isFirst = i32.or(i32.eq(begin, start), i32.eqz(kvHead));
          const left = f.let(i32.sub(p.kvHeads, kvHead));
          const own = f.let(i32.sub(last, begin));
          f.set(left, i32.select(i32.ltS(own, left), own, left));
          const touched = i32.select(isFirst, left, 0);
          f.call(block, { ...p, scratch, to, first: zero, last: i32.const(1), sequence, kvHead, from, end, touched });
        },
        () => {
          const left = f.let(group);
          f.while(left, () => {
            f.store(to, i32.const(0), part.seen);
            f.set(to, i32.add(to, size));
            f.advance(left, -1);
          });
        },
      );
      f.advance(begin, 1);
    });
  });
}

function emitJoin(module: ModuleBuilder, { merge, finish }: PartFunctions): void {
  const joinSignature = { y: "i32", parts: "i32", heads: "i32", dV: "i32", blocks: "i32", sinks: "i32", begin: "i32", end: "i32" } as const;
  module.function("attention.join", joinSignature, (f, { y, parts, heads, dV, blocks, sinks, begin, end }) => {
    const size = f.let(partSize(dV));
    const stride = f.let(i32.mul(heads, size));
    const [own, at, left] = f.locals("i32", 3);
    f.while(i32.ltU(begin, end), () => {
      f.set(own, i32.add(parts, i32.mul(begin, size)));
      f.set(at, own);
      f.set(left, i32.sub(blocks, 1));
      f.while(left, () => {
        f.set(at, i32.add(at, stride));
        f.if(i32.load(at, part.seen), () => f.call(merge, { into: own, from: at, dV }));
        f.advance(left, -1);
      });
      const to = i32.add(y, i32.shl(i32.mul(begin, dV), 2));
      f.call(finish, { from: own, y: to, dV, sink: i32.select(sinks, i32.add(sinks, i32.shl(begin, 2)), 0) });
      f.advance(begin, 1);
    });
  });
}
