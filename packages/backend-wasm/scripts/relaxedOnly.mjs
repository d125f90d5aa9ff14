import { detect } from "../build/esm/detect.js";

// Imported first by scripts whose modules have relaxed SIMD: without it they would end with the error of a compiler.
if (!detect().relaxed) {
  console.error(
    `${process.argv[1]}: expected relaxed SIMD, got Node ${process.version}; run it with node_modules/.bin/node of the repository`,
  );
  process.exit(1);
}
