import type { Operand } from "@centella/core/backend";
import { type FunctionBuilder, type FunctionRef, f32, i32, type Local, type ModuleBuilder, threadIndex, v128 } from "../../emit/index.ts";
import type { BuildContext, Task } from "../../kernel.ts";
import { axisView, ranges } from "./axes.ts";

/** Bytes of an entry: a key whose i32 order is that of the value, and the value's index. */
export const entryBytes = 8;

interface Order {
  readonly axis: number;
  readonly descending: boolean;
  readonly give: "values" | "indices";
}

/**
 * Sorts the first `k` of each line along an axis (all if `y` is as long as `x`). Equal values keep the order of their
 * indices; NaN is the largest value.
 */
export function orderTask(
  { emit, reserve, max, maxThreads }: BuildContext,
  x: Operand,
  y: Operand,
  { axis, descending, give }: Order,
): Task {
  const call = emit("order", emitOrder);
  const most = axisView(max(x).shape, axis).n;
  const entries = capacity(most, axisView(max(y).shape, axis).n);
  reserve(2 * entryBytes * entries * maxThreads);
  return (run) => {
    const { outer, n, inner } = axisView(run.shape(x), axis);
    const { n: k } = axisView(run.shape(y), axis);
    const fixed = [run.address(x), run.address(y), n, inner, k, capacity(n, k), Number(descending), Number(give === "indices")];
    // Comparing costs more than adding, so tiles are smaller.
    return ranges(call, [...fixed, run.scratch, entryBytes * entries], k === 0 ? 0 : outer * inner, 16 * n);
  };
}

/** Entries that are collected before they are sorted and all but the first `k` are dropped. */
export function capacity(n: number, k: number): number {
  return Math.min(n, 2 * k + 256);
}

const firstSignature = {
  x: "i32",
  stride: "i32",
  n: "i32",
  k: "i32",
  capacity: "i32",
  flip: "i32",
  a: "i32",
  b: "i32",
} as const;

/**
 * Emits a function that returns the first `k` of `n` values `stride` bytes apart, in order: the address of their
 * entries, in `a` or `b`, which hold `capacity` entries each. `flip` is -1 for descending order, 0 for ascending.
 */
export function emitFirst(module: ModuleBuilder, name: string): FunctionRef<typeof firstSignature, "i32"> {
  const sort = emitSort(module, `${name}.sort`);
  return module.value(name, firstSignature, "i32", (f, { x: from, stride, n, k, capacity: most, flip, a: at, b: other }) => {
    const [i, key, held, sorted] = f.locals("i32", 4);
    const value = f.local("f32");
    const largest = 0x7fffffff;
    const limit = f.let(i32.const(largest));
    const sortHeld = (): void => {
      f.set(sorted, f.invoke(sort, { a: at, b: other, count: held }));
      f.if(i32.ne(sorted, at), () => {
        f.set(other, at);
        f.set(at, sorted);
      });
    };
    f.for(i, 0, n, 1, () => {
      f.set(value, f32.load(from));
      setKey(f, key, value, flip);
      // Once k are known, an element that is not better than the last of them comes after it.
      f.if(i32.or(i32.ltS(key, limit), i32.eq(limit, largest)), () => {
        const entry = f.let(i32.add(at, i32.shl(held, 3)));
        f.store(entry, key);
        f.store(entry, i, 4);
        f.advance(held, 1);
        f.if(i32.and(i32.eq(held, most), i32.ltU(i32.add(i, 1), n)), () => {
          sortHeld();
          f.set(held, k);
          f.set(limit, i32.load(i32.add(at, i32.shl(i32.sub(k, 1), 3))));
        });
      });
      f.advance(from, stride);
    });
    sortHeld();
    return at;
  });
}

/** Sets `key` to the key of `value`. `flip` is -1 for descending order, 0 for ascending. */
export function setKey(f: FunctionBuilder, key: Local<"i32">, value: Local<"f32">, flip: Local<"i32">): void {
  f.set(key, i32.reinterpret(value));
  // Both zeros are equal. All NaNs are equal, and the largest.
  f.set(key, i32.select(f32.eq(value, f32.const(0)), 0, key));
  f.set(key, i32.select(f32.ne(value, value), 0x7fc00000, key));
  f.set(key, i32.xor(key, i32.and(i32.shrS(key, 31), 0x7fffffff)));
  f.set(key, i32.xor(key, flip));
}

const sortSignature = { a: "i32", b: "i32", count: "i32" } as const;

/** Emits a function that sorts `count` entries at `a` by their keys, with as much memory at `b`. Returns where they are: `a` or `b`. */
export function emitSort(module: ModuleBuilder, name: string): FunctionRef<typeof sortSignature, "i32"> {
  return module.value(name, sortSignature, "i32", (f, { a, b, count }) => {
    emitMergeSort(f, a, b, count);
    return a;
  });
}

function emitOrder(module: ModuleBuilder, name: string): void {
  const firstOf = emitFirst(module, `${name}.first`);
  const signature = {
    x: "i32",
    y: "i32",
    n: "i32",
    inner: "i32",
    k: "i32",
    capacity: "i32",
    descending: "i32",
    indices: "i32",
    threadScratch: "i32",
    threadScratchBytes: "i32",
    begin: "i32",
    end: "i32",
  } as const;
  module.function(name, signature, (f, p) => {
    const [to, i, key, at, outer, line] = f.locals("i32", 6);
    const flip = f.let(i32.sub(0, p.descending));
    const stride = f.let(i32.shl(p.inner, 2));
    // Each thread has a buffer and another one to merge into.
    const a = f.let(i32.add(p.threadScratch, i32.mul(threadIndex, i32.shl(p.threadScratchBytes, 1))));
    const b = f.let(i32.add(a, p.threadScratchBytes));
    f.for(line, p.begin, p.end, 1, () => {
      f.set(outer, i32.divU(line, p.inner));
      const column = f.let(i32.shl(i32.remU(line, p.inner), 2));
      const x = f.let(i32.add(p.x, i32.add(i32.mul(i32.mul(outer, p.n), stride), column)));
      f.set(at, f.invoke(firstOf, { x, stride, n: p.n, k: p.k, capacity: p.capacity, flip, a, b }));
      f.set(to, i32.add(p.y, i32.add(i32.mul(i32.mul(outer, p.k), stride), column)));
      f.for(i, 0, p.k, 1, () => {
        f.set(key, i32.load(at, 4));
        f.if(
          p.indices,
          () => f.store(to, key),
          () => f.store(to, i32.load(i32.add(x, i32.mul(key, stride)))),
        );
        f.advance(at, entryBytes);
        f.advance(to, stride);
      });
    });
  });
}

/**
 * Sorts `count` entries at `a`, with as much memory at `b`. Afterwards `a` points to the result. Merges runs of 1, 2, 4
 * …; stable.
 */
function emitMergeSort(f: FunctionBuilder, a: Local<"i32">, b: Local<"i32">, count: Local<"i32">): void {
  const [width, p, q, pEnd, qEnd, to, end, taken] = f.locals("i32", 8);
  const total = f.let(i32.shl(count, 3));
  const copy = (from: Local<"i32">): void => {
    f.store64Lane(to, v128.load64Zero(from), 0);
    f.advance(from, entryBytes);
    f.advance(to, entryBytes);
  };
  f.setI32(width, entryBytes);
  f.while(i32.ltU(width, total), () => {
    f.set(p, a);
    f.set(to, b);
    f.set(end, i32.add(a, total));
    const clipped = (address: Local<"i32">): void => f.set(address, i32.select(i32.ltU(address, end), address, end));
    f.while(i32.ltU(p, end), () => {
      f.set(pEnd, i32.add(p, width));
      clipped(pEnd);
      f.set(q, pEnd);
      f.set(qEnd, i32.add(q, width));
      clipped(qEnd);
      // The comparison is unpredictable, so it must not branch.
      f.while(i32.and(i32.ltU(p, pEnd), i32.ltU(q, qEnd)), () => {
        f.set(taken, i32.leS(i32.load(p), i32.load(q)));
        f.store64Lane(to, v128.load64Zero(i32.select(taken, p, q)), 0);
        f.advance(p, i32.shl(taken, 3));
        f.advance(q, i32.sub(entryBytes, i32.shl(taken, 3)));
        f.advance(to, entryBytes);
      });
      f.while(i32.ltU(p, pEnd), () => copy(p));
      f.while(i32.ltU(q, qEnd), () => copy(q));
      f.set(p, qEnd);
    });
    f.set(taken, a);
    f.set(a, b);
    f.set(b, taken);
    f.set(width, i32.shl(width, 1));
  });
}
