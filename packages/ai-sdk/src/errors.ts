import { AISDKError, APICallError, InvalidArgumentError, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import { ArgumentError, UnsupportedError } from "@centella/core";

/**
 * An error of the engine as one of the AI SDK, with the original as its cause. Only a full queue is worth another try, which the AI SDK then
 * makes. Others, such as a signal's reason, stay as they are.
 */
export function sdkError(error: unknown): unknown {
  if (!hasCode(error) || AISDKError.isInstance(error)) return error;
  const { message } = error;
  if (error.code === "busy") {
    return new APICallError({ message, url: "centella:", requestBodyValues: {}, isRetryable: true, cause: error });
  }
  if (error instanceof ArgumentError) return new InvalidArgumentError({ argument: argumentOf(message), message, cause: error });
  // This class takes no cause.
  if (error instanceof UnsupportedError)
    return Object.assign(new UnsupportedFunctionalityError({ functionality: argumentOf(message), message }), { cause: error });
  return new AISDKError({ name: `Centella_${error.name}`, message, cause: error });
}

/** Runs calls of the engine and turns its errors into those of the AI SDK. */
export async function withSdkErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw sdkError(error);
  }
}

/** @throws {UnsupportedFunctionalityError} always */
export function refuse(functionality: string, reason: string): never {
  throw new UnsupportedFunctionalityError({ functionality, message: `${functionality}: ${reason}` });
}

/** Errors of the engine have codes, and so have those of the system. */
function hasCode(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}

/** What a message of the engine is about: it begins with it. */
function argumentOf(message: string): string {
  return message.split(":", 1)[0]!;
}
