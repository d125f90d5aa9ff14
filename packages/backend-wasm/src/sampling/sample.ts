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
import { emitFirst, emitSort, entryBytes, setKey } from "../kernels/shared/order.ts";
import { philox } from "../kernels/shared/philox.ts";
import { blockLength, emitMaxima, farthest, rowSignature, visit } from "./row.ts";
import { emitWeight, scaled, share } from "./weights.ts";

/** The least finite logit. */
const lowest = -3.4028234663852886e38;

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
    const least = f.let(f32.max(reach, f32.const(lowest)));
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

/** The entries of a row in the function that cuts it, and what its parts share. */
class CutRow {
  readonly f: FunctionBuilder;
  readonly p: CutParams;
  /** Address and number of the entries: keys and indices. */
  readonly at: Local<"i32">;
  readonly count: Local<"i32">;
  readonly isTopK: Local<"i32">;
  readonly total: Local<"i64">;
  readonly sum: Local<"i64">;
  /** Sum that the entries that are kept have to reach. */
  readonly limit: Local<"i64">;
  /** Minus one: keys are in descending order of the logits. */
  readonly flip: Local<"i32">;
  readonly #weigh: Weigh;
  readonly #entry: Local<"i32">;
  readonly #end: Local<"i32">;
  readonly #weight: Local<"i32">;

  constructor(f: FunctionBuilder, p: CutParams, weigh: Weigh) {
    [this.f, this.p, this.#weigh] = [f, p, weigh];
    [this.at, this.count, this.#entry, this.#end, this.#weight] = f.locals("i32", 5);
    [this.total, this.sum, this.limit] = f.locals("i64", 3);
    this.isTopK = f.let(i32.ne(p.topK, 0));
    this.flip = f.let(i32.const(-1));
  }

  /** Adds the plain or the tempered weight of a logit to a sum. */
  add(to: Local<"i64">, logit: Local<"f32">, temperature?: Local<"f32">): void {
    this.f.set(this.#weight, this.#weigh(this.f, this.p.greatest, logit, temperature));
    this.f.set(to, i64.add(to, i64.fromI32U(this.#weight)));
  }

  /** Whether min-p keeps a logit. */
  isKept(logit: Local<"f32">): Expr<"i32"> {
    return i32.geU(this.#weigh(this.f, this.p.greatest, logit), this.p.leastWeight);
  }

  /** Sets the limit to top-p's share of the total. */
  setEnough(): void {
    this.f.set(this.limit, share(this.f, this.total, scaled(this.f, this.p.topP, 2 ** 32, 0xffffffff)));
  }

  /** Appends an entry at `at`. */
  append(key: Local<"i32">, id: Local<"i32">): void {
    const to = this.f.let(i32.add(this.at, i32.shl(this.count, 3)));
    this.f.store(to, key);
    this.f.store(to, id, 4);
    this.f.advance(this.count, 1);
  }

  /** Visits the entries in order. */
  visit(body: (id: Local<"i32">, logit: Local<"f32">) => void): void {
    const { f, at } = this;
    f.set(this.#end, i32.add(at, i32.shl(this.count, 3)));
    f.for(this.#entry, at, this.#end, entryBytes, () => {
      const id = f.let(i32.load(this.#entry, 4));
      body(id, f.let(f32.load(i32.add(this.p.logits, i32.shl(id, 2)))));
    });
  }

  /** In {@link visit}: drops the entries after this one. */
  endHere(): void {
    this.f.set(this.count, i32.shrU(i32.add(i32.sub(this.#entry, this.at), entryBytes), 3));
  }
}

type CutParams = { readonly [K in keyof typeof choiceSignature]: Local<(typeof choiceSignature)[K]> };

/**
 * Emits the choice of a row that top-k or top-p cuts: collects the logits that may be kept, sorts them, drops what top-k, top-p and min-p
 * exclude, and chooses by index.
 */
function emitCut(module: ModuleBuilder, name: string, weigh: Weigh): Choice {
  const first = emitFirst(module, `${name}.first`);
  const sort = emitSort(module, `${name}.sort`);
  return module.value(name, choiceSignature, "i32", (f, p) => {
    const row = new CutRow(f, p, weigh);
    collect(row, first);
    f.set(row.at, f.invoke(sort, { a: p.a, b: p.b, count: row.count }));
    f.if(i32.and(row.isTopK, i32.ltU(p.topK, row.count)), () => f.set(row.count, p.topK));
    keepTopP(row);
    keepMinP(row);
    f.set(row.at, f.invoke(sort, { a: row.at, b: i32.select(i32.eq(row.at, p.b), p.a, p.b), count: row.count }));
    f.set(row.limit, share(f, row.total, p.random));
    f.set(row.sum, i64.const(0));
    row.visit((id, logit) => {
      row.add(row.sum, logit, p.temperature);
      f.if(i64.gtU(row.sum, row.limit), () => f.return(id));
    });
    return i32.const(-1);
  });
}

/**
 * Collects the entries that top-k or top-p can keep at `a`. Blocks are taken in the order of their greatest logits: the `k` greatest logits
 * of a row are in `k` of them. Top-p takes more of them until it has enough.
 */
function collect(row: CutRow, first: ReturnType<typeof emitFirst>): void {
  const { f, p, isTopK, at, count, sum } = row;
  const [taken, key] = f.locals("i32", 2);
  const least = f.local("f32");
  const blocks = f.let(i32.shrU(i32.add(p.n, blockLength - 1), 5));
  f.if(i32.eqz(isTopK), () => {
    f.set(least, f32.sub(p.greatest, f32.const(farthest)));
    visit(f, p, least, (_id, logit) => row.add(row.total, logit));
    row.setEnough();
  });
  f.setI32(taken, i32.select(isTopK, p.topK, firstBlocks));
  f.loop((again) => {
    f.set(taken, i32.select(i32.ltU(taken, blocks), taken, blocks));
    const room = f.let(i32.add(i32.shl(taken, 1), 256));
    const capacity = i32.select(i32.ltU(room, blocks), room, blocks);
    const order = { stride: i32.const(4), n: blocks, k: taken, capacity, flip: row.flip, a: p.a, b: p.b };
    f.set(at, f.invoke(first, { x: p.maxima, ...order }));
    f.set(at, i32.load(i32.add(at, i32.shl(i32.sub(taken, 1), 3)), 4));
    f.set(least, f32.max(f32.load(i32.add(p.maxima, i32.shl(at, 2))), f32.const(lowest)));
    f.if(i32.eq(taken, blocks), () => f.set(least, f32.const(lowest)));
    f.set(at, p.a);
    f.setI32(count, 0);
    f.set(sum, i64.const(0));
    visit(f, p, least, (id, logit) => {
      setKey(f, key, logit, row.flip);
      row.append(key, id);
      f.if(i32.eqz(isTopK), () => row.add(sum, logit));
    });
    f.setI32(taken, i32.shl(taken, 2));
    f.brIf(again, i32.and(i32.eqz(isTopK), i32.eqz(i64.geU(sum, row.limit))));
  });
}

/** Drops the entries after those that top-p keeps. */
function keepTopP(row: CutRow): void {
  const { f, p, sum } = row;
  f.if(f32.lt(p.topP, f32.const(1)), () => {
    f.if(row.isTopK, () => {
      row.visit((_id, logit) => row.add(row.total, logit));
      row.setEnough();
    });
    f.set(sum, i64.const(0));
    f.block((found) =>
      row.visit((_id, logit) => {
        row.add(sum, logit);
        f.if(i64.geU(sum, row.limit), () => {
          row.endHere();
          f.br(found);
        });
      }),
    );
  });
}

/** Keeps the entries that min-p keeps, with their indices as keys, and adds their weights of the choice. */
function keepMinP(row: CutRow): void {
  const { f, p, total, count } = row;
  f.set(total, i64.const(0));
  const kept = f.local("i32");
  f.setI32(kept, 0);
  row.visit((id, logit) =>
    f.if(row.isKept(logit), () => {
      const to = f.let(i32.add(row.at, i32.shl(kept, 3)));
      f.store(to, id);
      f.store(to, id, 4);
      f.advance(kept, 1);
      row.add(total, logit, p.temperature);
    }),
  );
  f.set(count, kept);
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
