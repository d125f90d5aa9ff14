import { describe, expect, test } from "vitest";
import { type FunctionBuilder, f32, f32x4, f64, i32, i32x4, type Local, ModuleBuilder, v128 } from "../src/emit/index.ts";
import { signedLeb, unsignedLeb } from "../src/emit/values.ts";

const constants = { address: 64, bytes: 64 };

function instance(build: (module: ModuleBuilder) => void): {
  readonly exports: Record<string, (...args: number[]) => number>;
  readonly memory: WebAssembly.Memory;
} {
  const module = new ModuleBuilder({ constants });
  build(module);
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
  return { exports: exports as Record<string, (...args: number[]) => number>, memory };
}

describe("LEB128", () => {
  // The examples of the DWARF standard, and the ends of the range.
  test.each([
    [0, [0]],
    [2, [2]],
    [127, [127]],
    [128, [0x80, 1]],
    [624485, [0xe5, 0x8e, 0x26]],
    [0xffffffff, [0xff, 0xff, 0xff, 0xff, 0x0f]],
  ])("unsigned %i", (n, bytes) => expect(unsignedLeb(n)).toEqual(bytes));
  test.each([
    [0, [0]],
    [-1, [0x7f]],
    [63, [0x3f]],
    [64, [0xc0, 0]],
    [-64, [0x40]],
    [-123456, [0xc0, 0xbb, 0x78]],
    [-0x80000000, [0x80, 0x80, 0x80, 0x80, 0x78]],
  ])("signed %i", (n, bytes) => expect(signedLeb(n)).toEqual(bytes));
});

describe("functions", () => {
  test("loops, branches, locals and results", () => {
    const { exports } = instance((module) => {
      module.value("triangle", { n: "i32" }, "i32", (f, { n }) => {
        const [i, sum] = [f.local("i32"), f.local("i32")];
        f.for(i, 0, n, 1, () => f.advance(sum, i32.add(i, 1)));
        return sum;
      });
      module.value("firstDivisor", { n: "i32" }, "i32", (f, { n }) => {
        const i = f.let(i32.const(2));
        f.block((exit) => {
          f.loop((again) => {
            f.brIf(exit, i32.eqz(i32.remU(n, i)));
            f.advance(i, 1);
            f.br(again);
          });
        });
        return i;
      });
      module.value("sign", { x: "f32" }, "i32", (f, { x }) => {
        const result = f.local("i32");
        f.if(
          f32.lt(x, f32.const(0)),
          () => f.setI32(result, -1),
          () => f.if(f32.gt(x, f32.const(0)), () => f.setI32(result, 1)),
        );
        return result;
      });
    });
    expect([0, 1, 100].map((n) => exports.triangle!(n))).toEqual([0, 1, 5050]);
    expect([2, 49, 97].map((n) => exports.firstDivisor!(n))).toEqual([2, 7, 97]);
    expect([-3, 0, 2.5, Number.NaN].map((x) => exports.sign!(x))).toEqual([-1, 0, 1, 0]);
  });

  test("a while whose condition is false at first never runs", () => {
    const { exports } = instance((module) => {
      module.value("halvings", { n: "i32" }, "i32", (f, { n }) => {
        const count = f.local("i32");
        f.while(n, () => {
          f.set(n, i32.shrU(n, 1));
          f.advance(count, 1);
        });
        return count;
      });
    });
    expect([0, 1, 255, -1].map((n) => exports.halvings!(n))).toEqual([0, 1, 8, 32]);
  });

  test("interleaved parts compute the same results", () => {
    const parts = (f: FunctionBuilder, at: Local<"i32">, branches: boolean): (() => void)[] =>
      [0, 4, 8].map((offset) => () => {
        const x = f.let(f32.load(at, offset));
        const square = f.let(f32.mul(x, x));
        if (branches) f.if(f32.lt(x, f32.const(0)), () => f.set(square, f32.const(-1)));
        f.store(at, f32.add(square, x), offset);
      });
    const { exports, memory } = instance((module) => {
      const plain = module.function("plain", { at: "i32" }, (f, { at }) => f.interleave(parts(f, at, false)));
      module.function("branching", { at: "i32" }, (f, { at }) => f.interleave(parts(f, at, true)));
      module.function("shared", { at: "i32" }, (f, { at }) => {
        const x = f.local("f32");
        f.interleave(
          [0, 4, 8].map((offset) => () => {
            f.set(x, f32.load(at, offset));
            f.store(at, f32.add(f32.mul(x, x), x), offset);
          }),
        );
      });
      module.function("sequence", { at: "i32" }, (f, { at }) => f.interleave([() => f.call(plain, { at }), () => f.call(plain, { at })]));
    });
    const apply = (name: string): number[] => {
      const x = new Float32Array(memory.buffer, 4096, 3);
      x.set([1, 2, -3]);
      exports[name]!(4096);
      return [...x];
    };
    expect(apply("plain")).toEqual([2, 6, 6]);
    expect(apply("branching")).toEqual([2, 6, -4]);
    expect(apply("sequence")).toEqual([6, 42, 42]);
    expect(apply("shared")).toEqual([2, 6, 6]);
  });

  test("calls pass arguments by name", () => {
    const { exports } = instance((module) => {
      const subtract = module.value("subtract", { from: "f64", by: "f64" }, "f64", (_f, { from, by }) =>
        f64.add(from, f64.mul(by, f64.const(-1))),
      );
      module.value("twice", { x: "f64", y: "f64" }, "f64", (f, { x, y }) =>
        f.invoke(subtract, { by: y, from: f.invoke(subtract, { by: y, from: x }) }),
      );
    });
    expect(exports.twice!(10, 3)).toBe(4);
  });

  test("vectors, shuffles, lanes and constants from the pool", () => {
    const { exports, memory } = instance((module) => {
      module.function("kernel", { x: "i32", y: "i32" }, (f, { x, y }) => {
        const v = f.let(v128.load(x, 16));
        f.store(y, f32x4.add(f32x4.mul(v, f.splat(2.5)), f.splat(0.25)));
        f.store(y, f32x4.shuffle(v, f.splat(2.5), [3, 0, 4, 1]), 16);
        f.store32Lane(y, v, 2, 32);
        f.store64Lane(y, v, 1, 36);
        f.store16(y, i32x4.extract(f.splatBits(0x12345678), 3), 44);
      });
    });
    const floats = new Float32Array(memory.buffer);
    floats.set([1, 2, 3, 4], 1024 + 4);
    exports.kernel!(4096, 8192);
    expect([...floats.subarray(2048, 2048 + 11)]).toEqual([2.75, 5.25, 7.75, 10.25, 4, 1, 2.5, 2, 3, 3, 4]);
    expect(new Uint16Array(memory.buffer)[(8192 + 44) / 2]).toBe(0x5678);
  });

  test("memory is copied and filled", () => {
    const { exports, memory } = instance((module) => {
      module.function("move", { to: "i32", from: "i32", n: "i32" }, (f, { to, from, n }) => {
        f.memoryCopy(to, from, n);
        f.memoryFill(from, 7, 2);
      });
    });
    const bytes = new Uint8Array(memory.buffer);
    bytes.set([1, 2, 3, 4], 1000);
    exports.move!(1002, 1000, 4);
    expect([...bytes.subarray(1000, 1007)]).toEqual([7, 7, 1, 2, 3, 4, 0]);
  });
});

describe("modules", () => {
  test("a shared memory can be imported", () => {
    const module = new ModuleBuilder({ constants, shared: true, maxPages: 10 });
    module.function("nothing", {}, () => undefined);
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 10, shared: true });
    expect(() => new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } })).not.toThrow();
  });

  test("a lazy module has the required functions and their callees, and the next one the rest", () => {
    const module = new ModuleBuilder({ constants, isLazy: true });
    const at = { at: "i32" } as const;
    const seven = module.function("seven", at, (f, { at }) => f.store(at, f.splat(7)));
    for (const name of ["first", "second"]) {
      module.function(name, at, (f, { at }) => {
        f.call(seven, { at });
        f.store(i32.add(at, 16), f.splat(name === "first" ? 1 : 2));
      });
    }
    module.function("unused", at, () => expect.unreachable("it is emitted"));
    expect(module.functions).toEqual([]);
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 });
    const built = ["first", "second"].map((name) => {
      module.require(name);
      module.require(name);
      const names = module.functions.map((info) => info.name);
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
      module.next();
      return { names, run: exports[name] as (at: number) => void };
    });
    expect(built.map(({ names }) => names)).toEqual([
      ["seven", "first"],
      ["seven", "second"],
    ]);
    // In an order that would show constants of the second module overwriting those of the first.
    for (const [i, { run }] of [...built.entries()].reverse()) {
      run(1024);
      expect([...new Float32Array(memory.buffer, 1024, 8)]).toEqual([7, 7, 7, 7, i + 1, i + 1, i + 1, i + 1]);
    }
    expect(module.constantBytes).toBe(12);
    expect(() => module.require("third")).toThrow(/expected a function that was defined, got third/);
  });

  test("names are unique, and the constant pool is bounded", () => {
    const module = new ModuleBuilder({ constants: { address: 64, bytes: 8 } });
    module.function("f", {}, (f) => {
      f.splat(1);
      f.splat(1);
      f.splat(2);
    });
    expect(() => module.function("f", {}, () => undefined)).toThrow(/f twice/);
    expect(() => module.function("g", {}, (f) => void f.splat(3))).toThrow(/at most 8 bytes of constants, got 12/);
  });
});
