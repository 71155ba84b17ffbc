import { type Fault, faultKinds } from "./faults.ts";

/** A fault from a form or from JSON, or what is wrong with it. */
export function readFault(given: unknown): (Fault & { times?: number }) | string {
  if (typeof given !== "object" || given === null) return "a fault is an object with a kind";
  const { kind, chat, method, delivered, delayMs, retryAfterSeconds, times } = given as Record<
    string,
    unknown
  >;
  const known = faultKinds.find((candidate) => candidate === kind);
  if (known === undefined) return `kind must be one of ${faultKinds.join(", ")}`;
  return {
    kind: known,
    ...(typeof chat === "string" && chat !== "" ? { chat } : {}),
    ...(typeof method === "string" && method !== "" ? { method } : {}),
    ...(delivered === true || delivered === "true" || delivered === "on" ? { delivered: true } : {}),
    ...numberIn("delayMs", delayMs, 600_000),
    ...numberIn("retryAfterSeconds", retryAfterSeconds, 86_400),
    ...numberIn("times", times, 1_000),
  };
}

function numberIn<K extends string>(name: K, value: unknown, atMost: number): { [key in K]?: number } {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number) || number <= 0) return {};
  return { [name]: Math.min(number, atMost) } as { [key in K]?: number };
}
