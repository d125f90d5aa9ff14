// Compiles native/driver.cc to build/Release/centella_cuda.node with the machine's C++ compiler: no node-gyp, no CUDA toolkit.
// Without a compiler, or with one that fails, it says so and succeeds: the backend then reports why it is not available.
// Users of Linux on a platform without a package of its own install node-addon-api and node-api-headers, and run it in their project.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const native = join(root, "native");
const source = join(native, "driver.cc");
const output = join(root, "build", "Release", "centella_cuda.node");
const stamp = join(root, "build", "Release", "centella_cuda.stamp");

function say(line) {
  process.stdout.write(`backend-cuda addon: ${line}\n`);
}

/** Folders of headers, from the packages next to this one or of the project in which the script runs. */
function includeDirectories() {
  for (const from of [root, process.cwd()]) {
    const require = createRequire(join(from, "package.json"));
    try {
      return [require("node-addon-api").include_dir, require("node-api-headers").include_dir];
    } catch {
      // The next folder may have them. The caller says so if none has.
    }
  }
  return undefined;
}

function findCompiler() {
  const wanted = [process.env.CXX, "c++", "g++", "clang++"].filter((name) => name !== undefined && name !== "");
  return wanted.find((name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0);
}

function build() {
  if (process.platform === "win32") return say("skipped: there is no addon for Windows yet; use another backend, such as webgpu");
  const includes = includeDirectories();
  if (includes === undefined) return say("skipped: node-addon-api and node-api-headers are not installed here");
  const compiler = findCompiler();
  if (compiler === undefined) return say("skipped: no C++ compiler was found (c++, g++, clang++)");

  const platformFlags = process.platform === "darwin" ? ["-undefined", "dynamic_lookup"] : ["-ldl", "-pthread", "-s", "-Wl,--gc-sections"];
  const flags = [
    // Small rather than fast: it only calls the driver.
    ...[
      "-std=c++17",
      "-Os",
      "-ffunction-sections",
      "-fdata-sections",
      "-fvisibility-inlines-hidden",
      "-fPIC",
      "-shared",
      "-fvisibility=hidden",
      "-Wall",
      "-Wextra",
    ],
    ...["-DNAPI_VERSION=8", "-DNAPI_DISABLE_CPP_EXCEPTIONS", "-DNODE_ADDON_API_DISABLE_DEPRECATED"],
    // As system headers: their warnings are not ours.
    ...includes.flatMap((directory) => ["-isystem", directory]),
  ];
  const sources = readdirSync(native).sort();
  const key = createHash("sha256")
    .update(sources.map((name) => readFileSync(join(native, name), "utf8")).join("\n"))
    .update(JSON.stringify([compiler, flags, platformFlags, process.platform, process.arch]))
    .digest("hex");
  if (existsSync(output) && existsSync(stamp) && readFileSync(stamp, "utf8") === key) return say("up to date");

  mkdirSync(dirname(output), { recursive: true });
  // A process may have the old file mapped: it is replaced, not written over.
  const fresh = `${output}.${process.pid}`;
  const { status, stderr } = spawnSync(compiler, [...flags, source, "-o", fresh, ...platformFlags], { encoding: "utf8" });
  if (status !== 0) {
    process.stderr.write(stderr);
    return say(`skipped: ${compiler} exited with ${status}`);
  }
  if (stderr !== "") process.stderr.write(stderr);
  renameSync(fresh, output);
  writeFileSync(stamp, key);
  return say(`built with ${compiler}`);
}

build();
