import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readiness } from "../contract/operations.ts";
import { AppError } from "../core/errors.ts";
import { type AnswerPlainly, answerErrorPlainly } from "./plain-answer.ts";

export interface Probes {
  readiness(of: "relay" | "alerts"): Promise<Omit<Readiness, "reasons">>;
  /** Absent: the relay has no metrics yet. */
  metrics?: {
    /** @throws AppError for a request without the admin token. */
    admit(request: IncomingMessage): Promise<void>;
    /** Prometheus text, within a second. */
    text(): Promise<string>;
  };
}

export const probePaths = ["/healthz", "/readyz", "/metrics"] as const;

/** HEAD and OPTIONS are answered as GET is. */
const methods = new Set(["GET", "HEAD", "OPTIONS"]);
const allow = { allow: [...methods].join(", ") };

/** @param path the target without the query */
export function isProbe(method: string, path: string): boolean {
  if (!methods.has(method)) return false;
  return (probePaths as readonly string[]).includes(path) || (method === "OPTIONS" && (path === "/" || path === "*"));
}

/**
 * Answers by HTTP/1.0 and HTTP/1.1, with any `Host` or none, without loading pages:
 *     /healthz         the process answers
 *     /readyz          alerts are stored and delivered
 *     /readyz?alerts   the hook answers 202
 *     /metrics         Prometheus text, with the admin token
 *     OPTIONS / or *   as /readyz?alerts: HAProxy's `option httpchk` asks so where no path is written
 * @returns whether it was such a request
 */
export function createProbes(probes: Probes, answer: AnswerPlainly) {
  async function answerReadiness(response: ServerResponse, of: "relay" | "alerts"): Promise<void> {
    const { ready, spooled, configuration } = await probes.readiness(of).catch(() => ({ ready: false }) as Readiness);
    const data = { ready, ...(spooled !== undefined && { spooled }), configuration };
    answer(response, ready ? 200 : 503, "application/json", JSON.stringify({ data }), allow);
  }

  async function answerMetrics(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (probes.metrics === undefined) {
        throw new AppError("store_unavailable", "Tocsin is starting.", {
          hint: "Try again later.",
          retryAfterMs: 1_000,
        });
      }
      await probes.metrics.admit(request);
      answer(response, 200, "text/plain; version=0.0.4; charset=utf-8", await probes.metrics.text(), allow);
    } catch (thrown) {
      const failure = new AppError("internal", "This failed inside Tocsin.", { cause: thrown });
      answerErrorPlainly(answer, response, thrown instanceof AppError ? thrown : failure);
    }
  }

  return (request: IncomingMessage, response: ServerResponse, path: string): boolean => {
    const { method = "", url = "" } = request;
    if (!isProbe(method, path)) return false;
    if (path === "/healthz") answer(response, 200, "application/json", '{"data":{"alive":true}}', allow);
    else if (path === "/metrics") void answerMetrics(request, response);
    else void answerReadiness(response, path !== "/readyz" || /[?&]alerts(?:[=&]|$)/.test(url) ? "alerts" : "relay");
    return true;
  };
}
