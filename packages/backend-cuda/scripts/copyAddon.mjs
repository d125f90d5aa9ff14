// Puts the addon that was built on this machine into a platform's package. Runs in the folder of that package before it is packed.
import { copyFileSync, readFileSync } from "node:fs";

const { name, os, cpu } = JSON.parse(readFileSync("package.json", "utf8"));
const here = `${process.platform}-${process.arch}`;
if (`${os[0]}-${cpu[0]}` !== here)
  throw new Error(`${name}: expected to be packed on ${os[0]}-${cpu[0]}, got ${here}; build its addon there`);
copyFileSync("../../build/Release/centella_cuda.node", "centella_cuda.node");
