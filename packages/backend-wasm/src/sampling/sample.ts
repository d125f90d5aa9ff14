import { leastTemperature, mapTuple, samplingConstants } from "@centella/core/backend";
import {
  type Expr,
  type FunctionBuilder,
  type FunctionRef,
  f32,
  i32,
  i32x4,
  i64,
  type Local,
  type ModuleBuilder,
  v128,
} from "../emit/index.ts";
import { emitFirst, emitSort, setKey } from "../kernels/shared/order.ts";
import { philox } from "../kernels/shared/philox.ts";
import { blockLength, emitMaxima, farthest, rowSignature, visit } from "./row.ts";
import { emitWeight, scaled, share } from "./weights.ts";

/** Blocks whose candidates top-p tries first. */
const firstBlocks = 256;

/** A row and the options of the choice. */
const choiceSignature = {
  ...rowSignature,
  /** The greatest logit. */
  greatest: "f32",
  temperature: "f32",
  /** 0 keeps all. */
  topK: "i32",
  topP: "f32",
  /** Least weight that min-p keeps. */
  leastWeight: "i32",
  /** Random word. */
  random: "i32",
  /** Memory for `n` entries each. */
  a: "i32",
  b: "i32",
} as const;

type Weigh = (f: FunctionBuilder, greatest: Local<"f32">, logit: Local<"f32">, temperature?: Local<"f32">) => Expr<"i32">;
type Choice = FunctionRef<typeof choiceSignature, "i32">;

/** Emits the choice of a row that top-k and top-p do not cut. */
function emitPick(module: ModuleBuilder, name: string, weigh: Weigh): Choice {
  return module.value(name, choiceSignature, "i32", (f, { greatest, temperature, leastWeight, random, ...row }) => {
    const weight = f.local("i32");
    const [total, limit, sum] = f.locals("i64", 3);
    const reach = f.let(f32.sub(greatest, f32.mul(f32.const(farthest), temperature)));
    const least = f.let(f32.max(reach, f32.const(-3.4028234663852886e38)));
    const visitWeights = (body: (id: Local<"i32">) => void): void =>
      visit(f, row, least, (id, logit) =>
        f.if(i32.geU(weigh(f, greatest, logit), leastWeight), () => {
          f.set(weight, weigh(f, greatest, logit, temperature));
          body(id);
        }),
      );
    const add = (to: Local<"i64">): void => f.set(to, i64.add(to, i64.fromI32U(weight)));
    visitWeights(() => add(total));
    f.set(limit, share(f, total, random));
    visitWeights((id) => {
      add(sum);
      f.if(i64.gtU(sum, limit), () => f.return(id));
    });
    return i32.const(-1);
  });
}

/**
 * Emits the choice of a row that top-k or top-p cuts. Blocks are taken in the order of their greatest logits: the `k` greatest logits of a
 * row are in `k` of them.
 */
function emitCut(module: ModuleBuilder, name: string, weigh: Weigh): Choice {
  const first = emitFirst(module, `${name}.first`);
  const sort = emitSort(module, `${name}.sort`);
  return module.value(name, choiceSignature, "i32", (f, p) => {
    const { greatest, a, b, topK, ...row } = p;
    const [weight, key, at, entry, end, held, kept, taken] = f.locals("i32", 8);
    const [total, sum, limit] = f.locals("i64", 3);
    const least = f.local("f32");
    const flip = f.let(i32.const(-1));
    const blocks = f.let(i32.shrU(i32.add(row.n, blockLength - 1), 5));
    const weighPlain = (logit: Local<"f32">): void => f.set(weight, weigh(f, greatest, logit));
    const add = (to: Local<"i64">): void => f.set(to, i64.add(to, i64.fromI32U(weight)));
    const enough = (): void => f.set(limit, share(f, total, scaled(f, p.topP, 2 ** 32, 0xffffffff)));
    const logitOf = (id: Expr<"i32">): Local<"f32"> => f.let(f32.load(i32.add(row.logits, i32.shl(id, 2))));
    /** Visits the entries at `at`. */
    const visitEntries = (count: Local<"i32">, body: () => void): void => {
      f.set(end, i32.add(at, i32.shl(count, 3)));
      f.for(entry, at, end, 8, body);
    };
    const isTopK = f.let(i32.ne(topK, 0));
    const isTopP = f.let(f32.lt(p.topP, f32.const(1)));
    f.if(i32.eqz(isTopK), () => {
      f.set(least, f32.sub(greatest, f32.const(farthest)));
      visit(f, row, least, (_id, logit) => {
        weighPlain(logit);
        add(total);
      });
      enough();
    });
    f.setI32(taken, i32.select(isTopK, topK, firstBlocks));
    f.loop((again) => {
      f.set(taken, i32.select(i32.ltU(taken, blocks), taken, blocks));
      const room = f.let(i32.add(i32.shl(taken, 1), 256));
      const order = { stride: i32.const(4), n: blocks, k: taken, capacity: i32.select(i32.ltU(room, blocks), room, blocks), flip, a, b };
      f.set(at, f.invoke(first, { x: row.maxima, ...order }));
      f.set(at, i32.load(i32.add(at, i32.shl(i32.sub(taken, 1), 3)), 4));
      f.set(least, f32.max(f32.load(i32.add(row.maxima, i32.shl(at, 2))), f32.const(-3.4028234663852886e38)));
      f.if(i32.eq(taken, blocks), () => f.set(least, f32.const(-3.4028234663852886e38)));
      f.setI32(held, 0);
      f.set(sum, i64.const(0));
      visit(f, row, least, (id, logit) => {
        setKey(f, key, logit, flip);
        f.set(entry, i32.add(a, i32.shl(held, 3)));
        f.store(entry, key);
        f.store(entry, id, 4);
        f.advance(held, 1);
        f.if(i32.eqz(isTopK), () => {
          weighPlain(logit);
          add(sum);
        });
      });
      f.setI32(taken, i32.shl(taken, 2));
      const isShort = i32.and(i32.eqz(isTopK), i32.eqz(i64.geU(sum, limit)));
      f.brIf(again, isShort);
    });
    f.set(at, f.invoke(sort, { a, b, count: held }));
    f.set(kept, i32.select(i32.and(isTopK, i32.ltU(topK, held)), topK, held));
    f.if(isTopP, () => {
      f.if(isTopK, () => {
        visitEntries(kept, () => {
          weighPlain(logitOf(i32.load(entry, 4)));
          add(total);
        });
        enough();
      });
      f.set(sum, i64.const(0));
      f.block((found) =>
        visitEntries(kept, () => {
          weighPlain(logitOf(i32.load(entry, 4)));
          add(sum);
          f.if(i64.geU(sum, limit), () => {
            f.set(kept, i32.shrU(i32.add(i32.sub(entry, at), 8), 3));
            f.br(found);
          });
        }),
      );
    });
    // The entries that min-p keeps, now by their indices.
    f.setI32(held, 0);
    f.set(total, i64.const(0));
    const weighTempered = (logit: Local<"f32">): void => f.set(weight, weigh(f, greatest, logit, p.temperature));
    visitEntries(kept, () => {
      const id = f.let(i32.load(entry, 4));
      const logit = logitOf(id);
      f.if(i32.geU(weigh(f, greatest, logit), p.leastWeight), () => {
        const to = f.let(i32.add(at, i32.shl(held, 3)));
        f.store(to, id);
        f.store(to, id, 4);
        f.advance(held, 1);
        weighTempered(logit);
        add(total);
      });
    });
    f.set(at, f.invoke(sort, { a: at, b: i32.select(i32.eq(at, a), b, a), count: held }));
    f.set(limit, share(f, total, p.random));
    f.set(sum, i64.const(0));
    visitEntries(held, () => {
      const id = f.let(i32.load(entry));
      weighTempered(logitOf(id));
      add(sum);
      f.if(i64.gtU(sum, limit), () => f.return(id));
    });
    return i32.const(-1);
  });
}

/** The random word of a row: the first word of Philox of its seed and position. */
function randomWord(f: FunctionBuilder, seed: Local<"i32">, position: Expr<"i32">): Expr<"i32"> {
  const [low, high] = [f.let(i32.load(seed)), f.let(i32.load(seed, 4))];
  const counter = f.let(i32x4.splat(position));
  const [first] = philox(f, [counter, ...mapTuple([0, 1, 2], () => f.let(v128.zero()))], [low, high]);
  return i32x4.extract(first, 0);
}

/** Parameters of the function of {@link emitSample}: addresses and counts. */
const signature = {
  logits: "i32",
  positions: "i32",
  seeds: "i32",
  temperatures: "i32",
  topKs: "i32",
  topPs: "i32",
  minPs: "i32",
  /** Masks and the row of each; 0 if there are none. */
  masks: "i32",
  maskRows: "i32",
  maskCount: "i32",
  y: "i32",
  n: "i32",
  rows: "i32",
  maxima: "i32",
  a: "i32",
  b: "i32",
} as const;

/**
 * `sample` of all rows, on one thread. A row with NaN or Infinity, or without a candidate, gives -1, because kernels cannot raise errors.
 */
export function emitSample(module: ModuleBuilder, name: string): void {
  const weight = emitWeight(module, `${name}.weight`);
  const weigh: Weigh = (f, greatest, logit, temperature) => {
    const distance = f32.sub(greatest, logit);
    return f.invoke(weight, { distance: temperature === undefined ? distance : f32.div(distance, temperature) });
  };
  const greatestOf = emitMaxima(module, `${name}.maxima`);
  const pick = emitPick(module, `${name}.pick`, weigh);
  const cut = emitCut(module, `${name}.cut`, weigh);
  module.function(name, signature, (f, p) => {
    const { logits, n, maxima, a, b } = p;
    const [row, mask, at, best] = f.locals("i32", 4);
    const greatest = f.local("f32");
    f.for(row, 0, p.rows, 1, () => {
      f.set(at, i32.shl(row, 2));
      f.setI32(mask, 0);
      f.if(p.masks, () => {
        const masked = f.let(i32.load(i32.add(p.maskRows, at)));
        const bytes = i32.shl(i32.shrU(i32.add(n, blockLength - 1), 5), 2);
        f.if(i32.ltU(masked, p.maskCount), () => f.set(mask, i32.add(p.masks, i32.mul(masked, bytes))));
      });
      f.set(greatest, f.invoke(greatestOf, { logits, n, mask, maxima }));
      f.setI32(best, -1);
      const [below, above] = [f32.const(Number.NEGATIVE_INFINITY), f32.const(Number.POSITIVE_INFINITY)];
      f.if(i32.and(f32.gt(greatest, below), f32.lt(greatest, above)), () => {
        const temperature = f.let(f32.load(i32.add(p.temperatures, at)));
        const given = f.let(i32.load(i32.add(p.topKs, at)));
        const topK = f.let(i32.select(i32.and(i32.gtS(given, 0), i32.ltS(given, n)), given, 0));
        const topP = f.let(f32.load(i32.add(p.topPs, at)));
        const isCut = i32.or(i32.ne(topK, 0), f32.lt(topP, f32.const(1)));
        f.if(
          f32.ge(temperature, f32.const(leastTemperature)),
          () => {
            const leastWeight = f.let(
              scaled(f, f32.load(i32.add(p.minPs, at)), 2 ** samplingConstants.weightBits, 2 ** samplingConstants.weightBits - 1),
            );
            const random = f.let(randomWord(f, f.let(i32.add(p.seeds, i32.shl(row, 3))), i32.load(i32.add(p.positions, at))));
            const choice = { logits, n, mask, maxima, greatest, temperature, topK, topP, leastWeight, random, a, b };
            f.if(
              isCut,
              () => f.set(best, f.invoke(cut, choice)),
              () => f.set(best, f.invoke(pick, choice)),
            );
          },
          () =>
            f.block((found) =>
              visit(f, { logits, n, mask, maxima }, greatest, (id) => {
                f.set(best, id);
                f.br(found);
              }),
            ),
        );
      });
      f.store(i32.add(p.y, at), best);
      f.advance(logits, i32.shl(n, 2));
    });
  });
}
