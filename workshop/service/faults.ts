import { z } from "zod";
import type { Faults } from "../stand-in.ts";

const kinds = ["status", "html", "broken-json", "rate-limit", "delay", "reset", "expired-key", "discovery"] as const;

/** Durations are milliseconds of the sandbox's clock, which `speed` does not shorten. */
export const faultSchema = z.strictObject({
  /** `html`: a proxy's error page. `discovery`: of an asset's registration (section 4.1). */
  kind: z.enum(kinds),
  /** `GET /account`, `POST /v1/assets`, …; `*` is every route. */
  route: z.string().default("*"),
  /** The number of times, or "always" until it is cleared. Default 1. */
  times: z.union([z.int().positive(), z.literal("always")]).default(1),
  /** For `status` and `html`. Default 502. */
  status: z.int().min(200).max(599).optional(),
  message: z.string().optional(),
  /** For `delay`. */
  delayMs: z.int().min(0).optional(),
  /** For `rate-limit`. Default 2. */
  retryAfterSeconds: z.int().min(0).optional(),
  /** For `discovery`: its duration, and its failure, which is status 500. */
  durationMs: z.int().min(0).optional(),
  failsAt: z.enum(["catalog", "pools", "internal"]).optional(),
});
export type Fault = z.infer<typeof faultSchema>;

/** The oldest fault of the kinds for the route, counted down. */
export function takeFault(faults: Faults<Fault>, asked: string, ...wanted: Fault["kind"][]): Fault | undefined {
  return faults.take(({ kind, route }) => wanted.includes(kind) && (route === "*" || route === asked));
}
