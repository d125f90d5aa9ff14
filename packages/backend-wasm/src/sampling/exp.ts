import { type Expr, type FunctionRef, f64, i32, i64, type ModuleBuilder } from "../emit/index.ts";

/**
 * `name(x)` is `e^x` for `x` from -Infinity to 0, within 1 ulp: FreeBSD's `e_exp.c` (Sun's fdlibm), operation by
 * operation. V8 and SpiderMonkey compute `Math.exp` the same way, so sums equal the scalar reference's bit for bit.
 */
export function emitExp(module: ModuleBuilder, name: string): FunctionRef<{ readonly x: "f64" }, "f64"> {
  return module.value(name, { x: "f64" }, "f64", (f, { x }) => {
    const d = f64.const;
    f.if(f64.lt(x, d(-745.1332191019411)), () => f.return(d(0)));
    f.if(f64.lt(d(-(2 ** -28)), x), () => f.return(f64.add(d(1), x)));
    // x = k ln 2 + r, |r| at most ln 2 / 2, and r in two parts. Near zero k is 0.
    const k = f.let(i32.truncF64(f64.sub(f64.mul(x, d(Math.LOG2E)), d(0.5))));
    f.if(f64.lt(d(-0.3465735912322998), x), () => f.setI32(k, 0));
    const n = f.let(f64.fromI32(k));
    const high = f.let(f64.sub(x, f64.mul(n, d(0.6931471803691238))));
    const low = f.let(f64.mul(n, d(1.9082149292705877e-10)));
    const r = f.let(f64.sub(high, low));
    const z = f.let(f64.mul(r, r));
    const coefficients = [4.138136797057238e-8, -1.6533902205465252e-6, 6.613756321437934e-5, -0.0027777777777015593, 0.16666666666666602];
    const series = coefficients.map((c) => d(c)).reduce((inner, c) => f64.add(c, f64.mul(z, inner)));
    const c = f.let(f64.sub(r, f64.mul(z, series)));
    const y = f.let(f64.sub(d(1), f64.sub(f64.sub(low, f64.div(f64.mul(r, c), f64.sub(d(2), c))), high)));
    const powerOfTwo = (exponent: Expr<"i32">): Expr<"f64"> =>
      f64.reinterpret(i64.shl(i64.fromI32S(i32.add(exponent, 1023)), i64.const(52)));
    // Subnormal results take two steps, because 2^k is not normal.
    f.if(i32.ltS(k, -1021), () => f.return(f64.mul(f64.mul(y, powerOfTwo(i32.add(k, 1000))), d(2 ** -1000))));
    return f64.mul(y, powerOfTwo(k));
  });
}
