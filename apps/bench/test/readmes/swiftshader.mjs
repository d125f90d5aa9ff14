// Preloaded where a README's program needs a GPU: SwiftShader stands in for one.
import { useSwiftShader } from "@centella/test-devices/swiftshader";

useSwiftShader();
