import type { ComputedEvent } from "../events.ts";
import type { Call } from "../http/route.ts";
import { Reservation } from "./reservation.ts";

/** Computes what a request without a text asks for, and reports it. @throws {ApiError} */
export async function computed<Result extends { readonly tokens: number }>(
  call: Call,
  model: string | undefined,
  operation: ComputedEvent["operation"],
  compute: (reservation: Reservation) => Promise<Result>,
): Promise<Result> {
  const startedAt = performance.now();
  const reservation = await Reservation.open(call, model);
  let tokens: number | undefined;
  try {
    const result = await compute(reservation);
    tokens = result.tokens;
    reservation.lease.confirm();
    return result;
  } catch (error) {
    throw reservation.failure(error);
  } finally {
    reservation.release();
    const { requestId, route, services, traceparent } = call;
    const durationMs = performance.now() - startedAt;
    const { name } = reservation.lease;
    services.events.emit({ type: "computed", operation, requestId, route, model: name, durationMs, tokens, traceparent });
  }
}
