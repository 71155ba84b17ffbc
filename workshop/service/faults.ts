import { z } from "zod";

/**
 * What can be asked to go wrong. Durations are milliseconds of the sandbox's clock and are not shortened by `speed`.
 */
const common = {
  /** `GET /account`, `POST /v1/assets`, …; `*` is every route. */
  route: z.string().default("*"),
  /** How often it happens, or "always" until it is cleared. Default 1. */
  times: z.union([z.number().int().positive(), z.literal("always")]).default(1),
};

export const faultSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("status"),
    status: z.number().int().min(200).max(599),
    message: z.string().optional(),
    ...common,
  }),
  z.strictObject({ kind: z.literal("delay"), delayMs: z.number().int().min(0), ...common }),
  /** The connection is cut without an answer. */
  z.strictObject({ kind: z.literal("reset"), ...common }),
  /** A proxy's error page with this status. */
  z.strictObject({
    kind: z.literal("html"),
    status: z.number().int().min(200).max(599).default(502),
    ...common,
  }),
  /** 200 with JSON that breaks off. */
  z.strictObject({ kind: z.literal("broken-json"), ...common }),
  z.strictObject({ kind: z.literal("expired-key"), ...common }),
  z.strictObject({
    kind: z.literal("rate-limit"),
    retryAfterSeconds: z.number().int().min(0).default(2),
    ...common,
  }),
  /** Asset registration: how long the discovery takes, and at what it fails (section 4.1, status 500). */
  z.strictObject({
    kind: z.literal("discovery"),
    durationMs: z.number().int().min(0).optional(),
    failsAt: z.enum(["catalog", "pools", "internal"]).optional(),
    ...common,
  }),
]);
export type Fault = z.infer<typeof faultSchema>;
export type FaultKind = Fault["kind"];

export interface Faults {
  add(fault: Fault): void;
  /** The oldest fault of the kind for the route, counted down. */
  take<K extends FaultKind>(route: string, kind: K): Extract<Fault, { kind: K }> | undefined;
  list(): Fault[];
  clear(): void;
}

export function createFaults(): Faults {
  let faults: Fault[] = [];
  return {
    add: (fault) => {
      faults.push({ ...fault });
    },
    take<K extends FaultKind>(route: string, kind: K) {
      const found = faults.find(
        (fault): fault is Extract<Fault, { kind: K }> =>
          fault.kind === kind && (fault.route === "*" || fault.route === route),
      );
      if (found !== undefined && found.times !== "always") {
        found.times -= 1;
        if (found.times === 0) faults = faults.filter((fault) => fault !== found);
      }
      return found;
    },
    list: () => faults.map((fault) => ({ ...fault })),
    clear: () => {
      faults = [];
    },
  };
}
