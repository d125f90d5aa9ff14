export { evaluateInChromium, launchChromium } from "./chromium.ts";
export { useSwiftShader } from "./swiftshader.ts";
