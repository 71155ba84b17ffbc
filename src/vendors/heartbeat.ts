import type { Outcome } from "../core/delivery.ts";
import type { Secret } from "../core/secret.ts";
import { hostOf } from "./vendor.ts";

/**
 * Services that notice a missing sign of life, recognised by the form of the address:
 * | service | address | failure |
 * |---|---|---|
 * | Healthchecks | `https://hc-ping.com/<uuid>`, `/ping/<uuid>` on a server of one's own | `/fail` behind the path |
 * | Uptime Kuma | `/api/push/<token>` | `status=down` |
 * | Better Stack | `https://uptime.betterstack.com/api/v1/heartbeat/<token>` | `/fail` behind the path |
 * | Cronitor | `https://cronitor.link/p/<key>/<monitor>` | `state=fail` |
 * Sources: the services' documentation of pings, push monitors, heartbeats and telemetry events.
 */
export const heartbeatServices = ["healthchecks", "uptime-kuma", "better-stack", "cronitor", "other"] as const;
export type HeartbeatService = (typeof heartbeatServices)[number];

export interface HeartbeatSettings {
  url: Secret;
  /** `other` has no failure sign. */
  service: HeartbeatService;
  method: "GET" | "POST";
  everyMs: number;
  /** Internal hosts and address ranges that may be reached. */
  allowInternal: string[];
}

export function heartbeatServiceOf(url: string): HeartbeatService {
  const { hostname, pathname } = new URL(url);
  if (hostname === "hc-ping.com" || /\/ping\/[\w-]{8,}/.test(pathname)) return "healthchecks";
  if (/\/api\/push\/[^/]/.test(pathname)) return "uptime-kuma";
  if (/(^|\.)better(stack|uptime)\.com$/.test(hostname)) return "better-stack";
  if (/(^|\.)cronitor\.(link|io)$/.test(hostname)) return "cronitor";
  return "other";
}

export type Sign = "alive" | "failing";

export type HeartbeatLine = Awaited<ReturnType<typeof openHeartbeat>>;

const connectTimeoutMs = 5_000;
const answerTimeoutMs = 10_000;
/** Says no details: names and reasons stay inside. */
const failureText = "Tocsin is not ready. Its page and its log say why.";

/** @throws AppError `config_invalid` for an unreadable entry of `allowInternal`. */
export async function openHeartbeat(settings: HeartbeatSettings, { now }: { now: () => number }) {
  const [{ createHttpClient }, { classifyRefusal, describeAnswer, jsonObjectOf, rejected }, { secretsOfUrl }] =
    await Promise.all([import("./http/http-client.ts"), import("./http/classify.ts"), import("./http/redact.ts")]);
  const { service, method, allowInternal } = settings;
  const given = settings.url.reveal();
  const signs = { alive: addressOf("alive", given, service), failing: addressOf("failing", given, service) };
  const secrets = [new URL(given), signs.alive, signs.failing].flatMap(secretsOfUrl);
  const http = createHttpClient({ now, connectTimeoutMs, answerTimeoutMs, allowInternal, secrets });

  return {
    /** The host, for people. The address itself is secret. */
    host: hostOf(given),
    /** Whether the service understands `failing`. */
    knowsFailure: service !== "other",
    /** One call of some 15 s at most. Never rejects. Undefined: accepted. Otherwise the reason, without secrets. */
    async send(sign: Sign, stop: AbortSignal): Promise<string | undefined> {
      const body = method === "POST" ? (sign === "failing" ? failureText : "") : undefined;
      const headers: Record<string, string> = method === "POST" ? { "content-type": "text/plain" } : {};
      const outcome: Outcome = await http.ask(
        { url: signs[sign], method, headers, body },
        (answer, context) => {
          // Healthchecks answers 200 with these words for an unknown address.
          const isUnknown = /^OK \(not found\)/.test(answer.body) || jsonObjectOf(answer)?.ok === false;
          if (answer.status < 200 || answer.status >= 300)
            return classifyRefusal(answer, context, { repeatable: true });
          return isUnknown ? rejected("message", "message_refused", describeAnswer(answer, context)) : { kind: "sent" };
        },
        stop,
      );
      return outcome.kind === "sent" ? undefined : outcome.detail;
    },
    close: () => http.close(),
  };
}

function addressOf(sign: Sign, given: string, service: HeartbeatService): URL {
  const url = new URL(given);
  const isFailing = sign === "failing";
  switch (service) {
    case "healthchecks":
    case "better-stack":
      if (isFailing) url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, "")}/fail`;
      return url;
    case "uptime-kuma":
      url.searchParams.set("status", isFailing ? "down" : "up");
      if (isFailing) url.searchParams.set("msg", failureText);
      return url;
    case "cronitor":
      url.searchParams.set("state", isFailing ? "fail" : "complete");
      if (isFailing) url.searchParams.set("message", failureText);
      return url;
    case "other":
      return url;
    default:
      return service satisfies never;
  }
}
