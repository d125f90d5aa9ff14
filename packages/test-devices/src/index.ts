export { evaluateInChromium, launchChromium } from "./chromium.ts";
export { oldestNode } from "./oldestNode.ts";
export { useSwiftShader } from "./swiftshader.ts";
