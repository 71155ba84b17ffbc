import { z } from "zod";
import type { Faults } from "../stand-in.ts";

/** Durations are milliseconds of the sandbox's clock, which `speed` does not shorten. */
const common = {
  /** `GET /account`, `POST /v1/assets`, …; `*` is every route. */
  route: z.string().default("*"),
  /** The number of times, or "always" until it is cleared. Default 1. */
  times: z.union([z.int().positive(), z.literal("always")]).default(1),
};
const status = z.int().min(200).max(599);

export const faultSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("status"), status, message: z.string().optional(), ...common }),
  z.strictObject({ kind: z.literal("delay"), delayMs: z.int().min(0), ...common }),
  z.strictObject({ kind: z.literal("reset"), ...common }),
  /** A proxy's error page with this status. */
  z.strictObject({ kind: z.literal("html"), status: status.default(502), ...common }),
  z.strictObject({ kind: z.literal("broken-json"), ...common }),
  z.strictObject({ kind: z.literal("expired-key"), ...common }),
  z.strictObject({ kind: z.literal("rate-limit"), retryAfterSeconds: z.int().min(0).default(2), ...common }),
  /** Asset registration: the duration of the discovery, and its failure (section 4.1, status 500). */
  z.strictObject({
    kind: z.literal("discovery"),
    durationMs: z.int().min(0).optional(),
    failsAt: z.enum(["catalog", "pools", "internal"]).optional(),
    ...common,
  }),
]);
export type Fault = z.infer<typeof faultSchema>;

/** The oldest fault of the kinds for the route, counted down. */
export function takeFault<K extends Fault["kind"]>(faults: Faults<Fault>, asked: string, ...wanted: K[]) {
  const fits = ({ kind, route }: Fault) => wanted.some((one) => one === kind) && (route === "*" || route === asked);
  return faults.take(fits) as Extract<Fault, { kind: K }> | undefined;
}
