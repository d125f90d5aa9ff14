import { ArgumentError, type DeviceInfo, UnsupportedError } from "@centella/core";
import type { TuningStore } from "../tuning/store.ts";
import { type Capabilities, capabilitiesOf, type ExperimentalFeature, featuresOf, limitsOf, type OptionalFeature } from "./capabilities.ts";
import type { DawnPolling } from "./polling.ts";

/** Options of `webgpu()`: which device it opens, and which features of the device kernels use. */
export interface WebgpuOptions {
  /** The entry point to use in place of `navigator.gpu` or the `webgpu` package. */
  readonly gpu?: GPU;
  /** Which GPU to open where there are several, as in WebGPU's `requestAdapter`. The browser chooses by default. */
  readonly powerPreference?: "low-power" | "high-performance";
  /**
   * False refuses software adapters (SwiftShader, lavapipe). By default they open, with `device.kind` "software-gpu", which
   * the selection policy never chooses by itself.
   */
  readonly allowSoftware?: boolean;
  /** Node only: switches Dawn's validation, robustness checks and lazy clearing off. A bug in a kernel may then crash the driver. */
  readonly unsafeFast?: boolean;
  /** Features to leave unused although the device has them, because of a bad driver or in a test. */
  readonly disabledFeatures?: readonly OptionalFeature[];
  /**
   * Features outside of the WebGPU standard to use where the device has them. `"subgroup-matrix"` multiplies matrices on tensor cores; in Node it
   * switches Dawn's unsafe APIs on, and 16-bit floats on NVIDIA.
   */
  readonly experimental?: readonly ExperimentalFeature[];
  /**
   * Where to keep the forms of kernels that are the fastest on the device. With a store, products whose forms it does not know are timed once
   * the weights of a plan are loaded: the last `plan.load()` takes seconds longer, and later plans read the store. Times need the feature
   * `"timestamp-query"`; without it, `plan.warnings` says so. Default: none, and forms that suit most devices.
   */
  readonly tuning?: TuningStore;
}

/** An open device and what must stay alive with it. */
export interface OpenDevice {
  readonly device: GPUDevice;
  readonly info: DeviceInfo;
  readonly capabilities: Capabilities;
  /** Names the adapter and its driver, as far as the browser does. */
  readonly adapter: string;
  /** Must live as long as the device: once Dawn's instance is collected, `mapAsync` never resolves. */
  readonly gpu: GPU;
  /** Polls for a result that is due, where the backend polls. */
  readonly pollAtOnce?: (() => void) | undefined;
}

/** Where devices come from, and how an instance of Dawn that is the backend's own is polled. */
interface EntryPoint {
  readonly gpu: GPU;
  readonly polling?: DawnPolling;
}

/** @throws {UnsupportedError} where there is no WebGPU, no adapter, or only a software adapter that was refused */
export async function openDevice(options: WebgpuOptions): Promise<OpenDevice> {
  const { gpu, polling } = await entryPoint(options);
  const requesting = <T>(request: () => Promise<T>): Promise<T> => (polling === undefined ? request() : polling.call(request));
  const preference = options.powerPreference;
  const adapter = await requesting(() => gpu.requestAdapter(preference === undefined ? {} : { powerPreference: preference }));
  if (adapter === null)
    throw new UnsupportedError(
      "webgpu",
      "no WebGPU adapter: this machine has no GPU driver that WebGPU can use; install one, or use another backend",
    );
  const info = describeAdapter(adapter.info);
  if (info.kind === "software-gpu" && options.allowSoftware === false) {
    throw new UnsupportedError("webgpu", `the only adapter, ${info.name}, is a software adapter; pass allowSoftware: true to use it`);
  }
  const { disabledFeatures = [], experimental = [] } = options;
  const requiredFeatures = featuresOf(adapter, disabledFeatures, experimental);
  const descriptor = { label: "centella", requiredLimits: limitsOf(adapter), requiredFeatures };
  const device = await requesting(() => adapter.requestDevice(descriptor)).catch((cause: unknown) => {
    throw new UnsupportedError("webgpu", `${info.name} gives no device: ${String(cause)}; update the GPU's driver, or use another backend`);
  });
  polling?.watch(device);
  const capabilities = capabilitiesOf(device, adapter, gpu, disabledFeatures);
  return { device, info, capabilities, adapter: fullName(adapter.info), gpu, pollAtOnce: polling && (() => polling.pollAtOnce()) };
}

/** Flags of a Dawn instance. Without `timestamp_quantization`, times are not rounded to 100 µs, as pages have them. */
function dawnFlags({ unsafeFast = false, experimental = [] }: WebgpuOptions): string[] {
  const enabled = [
    ...(unsafeFast ? ["skip_validation", "disable_robustness"] : []),
    ...(experimental.length > 0 ? ["allow_unsafe_apis", "vulkan_enable_f16_on_nvidia", "use_vulkan_memory_model"] : []),
  ];
  const disabled = ["timestamp_quantization", ...(unsafeFast ? ["lazy_clear_resource_on_first_use"] : [])];
  return [...(enabled.length > 0 ? [`enable-dawn-features=${enabled.join()}`] : []), `disable-dawn-features=${disabled.join()}`];
}

async function entryPoint(options: WebgpuOptions): Promise<EntryPoint> {
  const { gpu, unsafeFast = false } = options;
  const { navigator, process } = globalThis as { navigator?: { gpu?: GPU }; process?: NodeProcess };
  const given = gpu ?? navigator?.gpu;
  if (given !== undefined) {
    if (unsafeFast) {
      throw new ArgumentError("webgpu", "unsafeFast in Node alone, without a gpu of your own", "unsafeFast: true", "leave it out");
    }
    return { gpu: given };
  }
  if (process?.versions?.node === undefined) {
    const reason = "this browser has no WebGPU (navigator.gpu), or the page is not in a secure context";
    throw new UnsupportedError("webgpu", `${reason}; use a newer browser, serve the page over https, or use another backend`);
  }
  requireVulkan(process);
  const { create } = await dawn();
  const { DawnPolling } = await import("./polling.ts");
  const own = create(dawnFlags(options));
  return { gpu: own, polling: new DawnPolling(own) };
}

/** The used part of Node's `process`. */
interface NodeProcess {
  readonly platform?: string;
  readonly versions?: { readonly node?: string };
  dlopen?(module: { exports: object }, path: string): void;
}

/** Looks for the Vulkan loader before Dawn is loaded, which takes 10 ms: without one, Dawn prints errors to stderr and finds no adapter. */
function requireVulkan({ platform, dlopen }: NodeProcess): void {
  if (platform !== "linux" || dlopen === undefined) return;
  try {
    dlopen({ exports: {} }, "libvulkan.so.1");
  } catch (error) {
    // An existing loader is found, and then refused because it is not an addon.
    if (!String(error).includes("cannot open shared object file")) return;
    throw new UnsupportedError("webgpu", "no Vulkan loader (libvulkan.so.1 not found); install the GPU's driver");
  }
}

async function dawn(): Promise<{ create(flags: string[]): GPU }> {
  // A variable, so that bundlers for the browser leave the optional peer package alone.
  const name = "webgpu";
  try {
    return (await import(/* @vite-ignore */ name)) as { create(flags: string[]): GPU };
  } catch (cause) {
    const missing = (cause as { code?: string }).code === "ERR_MODULE_NOT_FOUND";
    const reason = missing
      ? "package webgpu is not installed: npm i webgpu"
      : `package webgpu does not load here: ${String(cause)}; install it again, or use another backend`;
    throw new UnsupportedError("webgpu", reason);
  }
}

/** All names of an adapter: Dawn's description has the version of the driver. */
export function fullName({ vendor, architecture, device, description }: GPUAdapterInfo): string {
  return [vendor, architecture, device, description].join(" / ");
}

const softwareNames: RegExp = /swiftshader|lavapipe|llvmpipe|softpipe|basic render/i;

/** An id in place of a name: Chrome writes them in hexadecimal, Deno in decimal digits. */
const idPattern = /^(0x.*|\d+)$/;

/**
 * Dawn has the device's identifier in `device` and the driver's version in `description`, Chrome and Deno an id of the device and its name.
 * Browsers may blank every field; then the kind is taken from `isFallbackAdapter` alone.
 */
export function describeAdapter(info: GPUAdapterInfo): DeviceInfo {
  const { vendor, architecture, device, description } = info;
  const software = info.isFallbackAdapter === true || [vendor, architecture, device, description].some((text) => softwareNames.test(text));
  const [named, ...family] = [device, vendor, architecture].map((text) => (idPattern.test(text) ? "" : text));
  const known = family.filter((text) => text !== "").join(" ");
  return { kind: software ? "software-gpu" : "gpu", name: named || description || known || "unnamed GPU" };
}
