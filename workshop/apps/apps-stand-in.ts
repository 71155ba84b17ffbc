import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Now } from "../../src/core/clock.ts";
import { type BoardSource, offerFaults, type ShownCall } from "../board/source.ts";
import { closeServer, createChanges, createFaults, listen, readWhole } from "../stand-in.ts";
import { type App, type AppName, Messages, type Posted, type VendorAnswer, type VendorRequest } from "./app.ts";
import { createDiscord, type DiscordContent } from "./discord.tsx";
import { createNtfy, type NtfyContent } from "./ntfy.tsx";
import { createSlack, type SlackContent } from "./slack.tsx";

/** A fault for the next request that posts a message. */
export interface AppFault {
  kind: "hang" | "reset" | "error_500" | "bad_gateway" | "slow" | "flood" | "gone";
  /** Default: the application of the next request. */
  app?: AppName;
  /** For `hang`, `reset`, `error_500`, `bad_gateway`: the message is shown despite the fault. Default false. */
  delivered?: boolean;
}

const faultChoices: Readonly<Record<string, AppFault>> = {
  "never answers": { kind: "hang" },
  "delivers, and never answers": { kind: "hang", delivered: true },
  "drops the connection after reading": { kind: "reset" },
  "delivers, and drops the connection": { kind: "reset", delivered: true },
  "answers 500": { kind: "error_500" },
  "answers a 502 page": { kind: "bad_gateway" },
  "answers after two seconds": { kind: "slow" },
  "asks to wait 5 seconds (429)": { kind: "flood" },
  "says that the webhook or topic is gone": { kind: "gone" },
};

export interface AppsStandInOptions {
  now: Now;
  /** Names for the board. Default `alerts`. */
  slackChannel?: string;
  discordChannel?: string;
  /** Default `stand-in-topic`. */
  ntfyTopic?: string;
  /** Answers 429 to messages above the vendors' limits. Default true. */
  limited?: boolean;
}

interface AppContents {
  slack: SlackContent;
  discord: DiscordContent;
  ntfy: NtfyContent;
}

export type AppsStandIn = Awaited<ReturnType<typeof createAppsStandIn>>;

const slackPath = "/services/T00STANDIN/B00STANDIN/onThisMachineOnlyXXXXXXX";
const discordWebhook = "700000000000000001/on-this-machine-only-XXXXXXXXXXXXXXXX";
const ntfyBase = "/ntfy";
const bodyLimitBytes = 10 << 20;
const callsKept = 200;

/** Slack, Discord and ntfy on this machine, as strict as the real ones. */
export async function createAppsStandIn(options: AppsStandInOptions) {
  const { now, slackChannel = "alerts", discordChannel = "alerts", ntfyTopic = "stand-in-topic" } = options;
  const { changed, onChange } = createChanges();
  const faults = createFaults<AppFault>(changed);
  const calls: (ShownCall & { app: AppName })[] = [];
  const closing = new AbortController();
  const desk = <Content>(app: App<Content>) => new AppDesk(app, { now, changed, limited: options.limited ?? true });
  const desks = {
    slack: desk(createSlack({ path: slackPath, channel: slackChannel })),
    discord: desk(createDiscord({ webhook: discordWebhook, channel: discordChannel })),
    ntfy: desk(createNtfy({ base: ntfyBase, topic: ntfyTopic })),
  };
  const all: readonly AppDesk<never>[] = Object.values(desks) as unknown as AppDesk<never>[];

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readWhole(incoming, bodyLimitBytes);
    const request = { ...toRequest(incoming), body: body ?? Buffer.alloc(0) };
    const found = all.find(({ app }) => app.owns(request.url.pathname));
    if (found === undefined) return send(response, { status: 404, body: "nothing is here" });
    if (body === undefined) return send(response, { status: 413, body: "too large" });
    const { name } = found.app;
    const isLook = request.method === "GET";
    const fault = isLook ? undefined : faults.take(({ app }) => app === undefined || app === name);
    const answer = await (fault === undefined ? found.answer(request) : meet(fault, found, request));
    calls.push({
      ...{ app: name, at: now(), method: isLook ? "look" : "message", status: answer?.status ?? 0, fault: fault?.kind },
      ...(answer !== undefined && answer.status >= 400 && { description: wordsOf(answer) }),
    });
    if (calls.length > callsKept) calls.shift();
    changed();
    if (answer !== undefined) send(response, answer);
    else if (fault?.kind === "reset") incoming.socket.resetAndDestroy();
  }

  async function meet(
    fault: AppFault,
    found: AppDesk<never>,
    request: VendorRequest,
  ): Promise<VendorAnswer | undefined> {
    if (fault.delivered === true) await found.answer(request);
    switch (fault.kind) {
      case "hang":
      case "reset":
        return undefined;
      case "slow":
        await delay(2_000, undefined, { signal: closing.signal }).catch(() => {});
        return found.answer(request);
      case "error_500":
        return { status: 500, body: "internal error" };
      case "bad_gateway":
        return { status: 502, body: "<html><body><h1>502 Bad Gateway</h1></body></html>" };
      case "flood":
        return found.askToWait(5);
      case "gone":
        return found.app.gone;
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  const { url } = await listen(server);

  return {
    /** The webhooks' whole addresses, as users copy them. */
    slackUrl: url + slackPath,
    discordUrl: `${url}/api/webhooks/${discordWebhook}`,
    ntfyServer: url + ntfyBase,
    ntfyTopic,
    faults,
    sources: all.map(
      (one): BoardSource => ({
        ...{ app: one.app.name, title: one.app.title, places: () => [one.place()], onChange },
        calls: () => calls.filter(({ app }) => app === one.app.name),
        faults: offerFaults(faults, faultChoices, () => ({ app: one.app.name })),
      }),
    ),
    messages: <A extends AppName>(app: A) => structuredClone(desks[app].messages.posted) as Posted<AppContents[A]>[],
    calls: () => structuredClone(calls),
    async close(): Promise<void> {
      closing.abort();
      await closeServer(server);
    },
  };
}

class AppDesk<Content> {
  readonly app: App<Content>;
  readonly messages: Messages<Content>;
  readonly #deps: { now: Now; limited: boolean };
  #takenAt: number[] = [];

  constructor(app: App<Content>, deps: { now: Now; changed(): void; limited: boolean }) {
    this.app = app;
    this.messages = new Messages({ ...deps, idOf: app.idOf });
    this.#deps = deps;
  }

  async answer(request: VendorRequest): Promise<VendorAnswer> {
    if (request.method === "GET") return this.app.answer(request, this.messages);
    const waitMs = this.#deps.limited ? this.#waitMs() : 0;
    if (waitMs > 0) return this.askToWait(waitMs / 1000);
    const answer = await this.app.answer(request, this.messages);
    if (answer.status < 300) this.#takenAt = [...this.#takenAt.slice(-100), this.#deps.now()];
    return answer;
  }

  askToWait(seconds: number): VendorAnswer {
    return { status: 429, headers: { "retry-after": String(Math.ceil(seconds)) }, body: this.app.askToWait(seconds) };
  }

  place() {
    const { posted } = this.messages;
    const { app } = this;
    return {
      ...{ id: app.name, name: app.place, about: app.title, count: posted.length },
      newest: (atMost: number) =>
        posted.slice(-atMost).map(({ id, at, content, edits }) => ({
          ...{ id, at, from: "Tocsin", marks: app.marks(content), body: app.view(content) },
          earlier: edits.map((edit) => app.view(edit.content)),
        })),
    };
  }

  #waitMs(): number {
    const at = this.#deps.now();
    const waits = this.app.limits.map(({ atMost, spanMs }) => {
      const first = this.#takenAt.filter((time) => time > at - spanMs).at(-atMost);
      return first === undefined ? 0 : first + spanMs - at;
    });
    return Math.max(...waits);
  }
}

function toRequest({ method = "", url = "", headers }: IncomingMessage): Omit<VendorRequest, "body"> {
  return { method, url: new URL(url, "http://stand-in"), headers };
}

function wordsOf({ body }: VendorAnswer): string {
  if (typeof body === "string") return body;
  const { message, error } = (body ?? {}) as { message?: string; error?: string };
  return message ?? error ?? "";
}

function send(response: ServerResponse, { status, body, headers = {} }: VendorAnswer): void {
  const isText = typeof body === "string";
  const type = isText ? "text/plain; charset=utf-8" : "application/json";
  response.writeHead(status, { ...headers, ...(body === undefined ? {} : { "content-type": type }) });
  response.end(body === undefined || isText ? body : JSON.stringify(body));
}
