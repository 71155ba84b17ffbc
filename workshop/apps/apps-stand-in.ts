import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import type { Now } from "../../src/core/clock.ts";
import type { ShownCall } from "../live-parts.tsx";
import { closeServer, listen, urlHostOf, waitFor } from "../stand-in.ts";
import { createBoard, type Posted } from "./board.ts";
import { answerDiscord, type DiscordContent } from "./discord.ts";
import { type AppFault, type AppFaults, type AppName, createAppFaultQueue } from "./faults.ts";
import { answerNtfy, type NtfyContent } from "./ntfy.ts";
import { createAppsPage } from "./page.tsx";
import { answerSlack, type SlackContent } from "./slack.ts";
import { readRequest, type VendorAnswer, type VendorRequest } from "./vendor-request.ts";

export interface AppsStandInOptions {
  now: Now;
  /** Default 0: any free port. */
  port?: number;
  /** Default `127.0.0.1`. */
  host?: string;
  /** Names for the page. Default `alerts`. */
  slackChannel?: string;
  discordChannel?: string;
  /** Default `stand-in-topic`. */
  ntfyTopic?: string;
  /** Answers 429 to what comes faster than the vendors allow. Default true. */
  limited?: boolean;
}

/** What the readers of each app see. */
export interface AppContents {
  slack: SlackContent;
  discord: DiscordContent;
  ntfy: NtfyContent;
}

export type AppBoards = { readonly [app in AppName]: { posted(): readonly Posted<AppContents[app]>[] } };

/** Slack, Discord and ntfy on this machine, as strict as they are, with a page that shows what their readers would see. */
export interface AppsStandIn {
  /** Of the page, without a slash at the end. */
  readonly url: string;
  /** The webhooks' whole addresses; as users copy them. */
  readonly slackUrl: string;
  readonly discordUrl: string;
  readonly ntfyServer: string;
  readonly ntfyTopic: string;
  readonly faults: AppFaults;
  /** Oldest first. A snapshot. */
  messages<A extends AppName>(app: A): Posted<AppContents[A]>[];
  /** The latest requests, oldest first. */
  calls(): ShownCall[];
  /** Resolves when the app shows at least `count` messages; rejects after `timeoutMs` (default 10,000). */
  waitForMessages<A extends AppName>(app: A, count: number, timeoutMs?: number): Promise<Posted<AppContents[A]>[]>;
  close(): Promise<void>;
}

const slackPath = "/services/T00STANDIN/B00STANDIN/onThisMachineOnlyXXXXXXX";
const discordWebhook = "700000000000000001/on-this-machine-only-XXXXXXXXXXXXXXXX";
const ntfyBase = "/ntfy";
const callsKept = 200;

/** How many messages in how long each takes; ntfy.sh lets 60 through and then one each five seconds. */
const limits: Record<AppName, { atMost: number; spanMs: number }[]> = {
  slack: [{ atMost: 5, spanMs: 3_000 }],
  discord: [
    { atMost: 5, spanMs: 2_000 },
    { atMost: 30, spanMs: 60_000 },
  ],
  ntfy: [{ atMost: 60, spanMs: 300_000 }],
};

export async function createAppsStandIn(options: AppsStandInOptions): Promise<AppsStandIn> {
  const { now, limited = true, ntfyTopic = "stand-in-topic" } = options;
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of listeners) listener();
  };
  const onChange = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const boards = {
    slack: createBoard<SlackContent>(now, String, changed),
    discord: createBoard<DiscordContent>(now, (number) => String(700_000_000_000_000_100n + BigInt(number)), changed),
    ntfy: createBoard<NtfyContent>(now, (number) => `m${String(number).padStart(11, "0")}`, changed),
  };
  const faults = createAppFaultQueue(changed);
  const calls: ShownCall[] = [];
  const carried: Record<AppName, number[]> = { slack: [], discord: [], ntfy: [] };
  const closing = new AbortController();

  const answers: Record<AppName, (request: VendorRequest) => VendorAnswer | Promise<VendorAnswer>> = {
    slack: (request) => answerSlack(request, slackPath, boards.slack),
    discord: (request) => answerDiscord(request, discordWebhook, boards.discord),
    ntfy: (request) => answerNtfy(request, { base: ntfyBase, topic: ntfyTopic }, boards.ntfy),
  };

  /** Milliseconds to wait, or undefined when the request may pass. */
  function waitOf(app: AppName): number | undefined {
    const at = now();
    const waits = limits[app].flatMap(({ atMost, spanMs }) => {
      const recent = carried[app].filter((time) => time > at - spanMs);
      const first = recent.at(-atMost);
      return first === undefined ? [] : [first + spanMs - at];
    });
    return waits.length === 0 ? undefined : Math.max(...waits);
  }

  async function answerApp(app: AppName, request: VendorRequest): Promise<VendorAnswer> {
    if (request.method === "GET") return answers[app](request);
    const waitMs = limited ? waitOf(app) : undefined;
    if (waitMs !== undefined) return askToWait(app, waitMs / 1000);
    const answer = await answers[app](request);
    if (answer.status < 300) carried[app] = [...carried[app].slice(-100), now()];
    return answer;
  }

  async function serveApp(app: AppName, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(incoming);
    const call = { at: now(), method: `${app} ${incoming.method === "GET" ? "look" : "message"}` };
    if (request === undefined) return send(response, { status: 413, body: "too large" });
    const record = (status: number, more: Partial<ShownCall> = {}) => {
      calls.push({ ...call, status, ...more });
      if (calls.length > callsKept) calls.shift();
      changed();
    };
    const fault = request.method === "GET" ? undefined : faults.take(app);
    if (fault === undefined) {
      const answer = await answerApp(app, request);
      record(answer.status, answer.status >= 400 ? { description: wordsOf(answer) } : {});
      return send(response, answer);
    }
    if (fault.delivered === true) await answerApp(app, request);
    if (fault.kind === "slow") await delay(2_000, undefined, { signal: closing.signal }).catch(() => {});
    const answer = fault.kind === "slow" ? await answerApp(app, request) : answerOfFault(app, fault);
    record(answer?.status ?? 0, { fault: fault.kind });
    if (answer !== undefined) return send(response, answer);
    if (fault.kind === "reset") incoming.socket.resetAndDestroy();
  }

  const page = createAppsPage({
    boards,
    faults,
    calls: () => calls,
    onChange,
    changed,
    names: {
      slack: `#${options.slackChannel ?? "alerts"}`,
      discord: `#${options.discordChannel ?? "alerts"}`,
      ntfy: ntfyTopic,
    },
  });
  const servePage = getRequestListener(page.app.fetch);
  const server = createServer((request, response) => {
    const app = appOf(request.url ?? "");
    if (app === undefined) void servePage(request, response);
    else serveApp(app, request, response).catch(() => request.socket.destroy());
  });
  const host = options.host ?? "127.0.0.1";
  const port = await listen(server, options.port ?? 0, host);
  const url = `http://${urlHostOf(host)}:${port}`;
  const messages = <A extends AppName>(app: A) => structuredClone(boards[app].posted()) as Posted<AppContents[A]>[];

  return {
    url,
    slackUrl: url + slackPath,
    discordUrl: `${url}/api/webhooks/${discordWebhook}`,
    ntfyServer: url + ntfyBase,
    ntfyTopic,
    faults,
    messages,
    calls: () => structuredClone(calls),
    waitForMessages(app, count, timeoutMs = 10_000) {
      const look = () => (boards[app].posted().length < count ? undefined : messages(app));
      const complaint = () => `${app} shows ${boards[app].posted().length} of ${count} messages`;
      return waitFor(onChange, look, timeoutMs, complaint);
    },
    async close() {
      closing.abort();
      page.close();
      await closeServer(server);
    },
  };
}

function appOf(path: string): AppName | undefined {
  if (path.startsWith("/services/")) return "slack";
  if (path.startsWith("/api/")) return "discord";
  return /^\/ntfy(?:[/?]|$)/.test(path) ? "ntfy" : undefined;
}

function askToWait(app: AppName, seconds: number): VendorAnswer {
  const headers = { "retry-after": String(Math.ceil(seconds)) };
  const bodies: Record<AppName, unknown> = {
    slack: "rate_limited",
    discord: { message: "You are being rate limited.", retry_after: seconds, global: false },
    ntfy: { code: 42901, http: 429, error: "limit reached: too many requests" },
  };
  return { status: 429, headers, body: bodies[app] };
}

/** Undefined: none. */
function answerOfFault(app: AppName, { kind }: AppFault): VendorAnswer | undefined {
  switch (kind) {
    case "hang":
    case "reset":
    case "slow":
      return undefined;
    case "error_500":
      return { status: 500, body: "internal error" };
    case "bad_gateway":
      return { status: 502, body: "<html><body><h1>502 Bad Gateway</h1></body></html>" };
    case "flood":
      return askToWait(app, 5);
    case "gone": {
      const bodies: Record<AppName, VendorAnswer> = {
        slack: { status: 404, body: "no_service" },
        discord: { status: 404, body: { message: "Unknown Webhook", code: 10015 } },
        ntfy: { status: 403, body: { code: 40301, http: 403, error: "forbidden" } },
      };
      return bodies[app];
    }
  }
}

function wordsOf({ body }: VendorAnswer): string {
  if (typeof body === "string") return body;
  const { message, error } = body as { message?: string; error?: string };
  return message ?? error ?? "";
}

function send(response: ServerResponse, { status, body, headers = {} }: VendorAnswer): void {
  const isText = typeof body === "string";
  const type = isText ? "text/plain; charset=utf-8" : "application/json";
  response.writeHead(status, { ...headers, ...(body === undefined ? {} : { "content-type": type }) });
  response.end(body === undefined ? undefined : isText ? body : JSON.stringify(body));
}
