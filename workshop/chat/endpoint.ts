import type { IncomingMessage, ServerResponse } from "node:http";
import type { Now } from "../../src/core/clock.ts";
import type { ShownCall } from "../board/source.ts";
import { type Faults, readWhole } from "../stand-in.ts";
import type { FloodControl } from "./flood.ts";
import { type Bot, runMethod } from "./methods.ts";
import { type Parameters, Refusal, readParameters } from "./parameters.ts";
import type { World } from "./world.ts";

export interface TelegramFault {
  kind: keyof typeof lostAnswers | "reset_before_reading" | "slow" | "flood" | "kick" | "migrate";
  /** Only requests for this chat. `reset_before_reading` ignores it, as the chat is not known yet. */
  chat?: string;
  method?: string;
  /** For faults that lose the answer: the request is carried out despite the fault. Default false. */
  delivered?: boolean;
  /** Milliseconds, for `slow`. Default 2,000. */
  delayMs?: number;
  /** For `flood`, which closes the chat for this time. Default 5. */
  retryAfterSeconds?: number;
}

/** The faults that lose the right answer: the recorded status (0 for none), and the text in its place. */
const lostAnswers = {
  hang: [0, ""],
  /** Cuts the connection after the whole request was read. */
  reset: [0, ""],
  error_500: [500, '{"ok":false,"error_code":500,"description":"Internal Server Error"}'],
  bad_gateway: [502, "<html><body><h1>502 Bad Gateway</h1></body></html>"],
  not_json: [200, '{"ok":true,"result":{"mess'],
  /** Without `parameters`. */
  flood_unsaid: [429, '{"ok":false,"error_code":429,"description":"Too Many Requests"}'],
} as const;

export const faultChoices: Readonly<Record<string, TelegramFault>> = {
  "never answers": { kind: "hang" },
  "delivers, and never answers": { kind: "hang", delivered: true },
  "drops the connection at once": { kind: "reset_before_reading" },
  "drops the connection after reading": { kind: "reset" },
  "delivers, and drops the connection": { kind: "reset", delivered: true },
  "answers 500": { kind: "error_500" },
  "answers a 502 page": { kind: "bad_gateway" },
  "answers half a JSON text": { kind: "not_json" },
  "answers after two seconds": { kind: "slow" },
  "asks to wait 5 seconds (429)": { kind: "flood" },
  "asks to wait without saying how long": { kind: "flood_unsaid" },
  "throws the bot out": { kind: "kick" },
  "turns the group into a supergroup": { kind: "migrate" },
};

/** One request with its answer, or with the answer that a fault has withheld. Never holds a token. */
export interface StandInCall extends ShownCall {
  botId?: string;
  chatId?: string;
  parameters: Readonly<Record<string, unknown>>;
}

export interface BotEndpoint {
  world: World;
  flood: FloodControl;
  faults: Faults<TelegramFault>;
  bots: ReadonlyMap<string, Bot>;
  now: Now;
  record(call: StandInCall): void;
}

const bodyLimitBytes = 1 << 20;

/** Answers `/bot<token>/<method>`. The promise resolves when the answer is on its way, or withheld. */
export async function answerBotRequest(
  endpoint: BotEndpoint,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { faults, bots, record } = endpoint;
  const [, token = "", method = ""] = /^\/bot([^/]*)\/([^/]*)$/.exec(decodePath(request.url ?? "")) ?? [];
  const bot = bots.get(token);
  const call: StandInCall = { at: endpoint.now(), botId: bot?.id, method, status: 200, parameters: {} };
  const isFor = (fault: TelegramFault) => (fault.method ?? method).toLowerCase() === method.toLowerCase();

  const early = faults.take((fault) => fault.kind === "reset_before_reading" && isFor(fault));
  if (early !== undefined) {
    record({ ...call, status: 0, fault: early.kind });
    request.socket.resetAndDestroy();
    return;
  }
  const body = await readWhole(request, bodyLimitBytes);
  if (body === undefined) return refuse(response, new Refusal(413, "Request Entity Too Large"));
  if (method === "") return refuse(response, new Refusal(404, "Not Found"));
  if (bot === undefined) {
    record({ ...call, status: 401, description: "Unauthorized" });
    return refuse(response, new Refusal(401, "Unauthorized"));
  }
  const parameters = await readParameters(request.headers["content-type"] ?? "", body).catch(asRefusal);
  if (parameters instanceof Refusal) return refuse(response, parameters);
  const chatId = parameters.text("chat_id");
  const fault = faults.take(
    (one) => one.kind !== "reset_before_reading" && isFor(one) && (one.chat ?? chatId) === chatId,
  );
  const known = { ...call, chatId, parameters: parameters.all, fault: fault?.kind };

  const run = async (): Promise<() => void> => {
    const outcome = await runWithin(endpoint, bot, method, parameters, response).catch(asRefusal);
    if (!(outcome instanceof Refusal)) {
      record(known);
      return () => send(response, 200, JSON.stringify({ ok: true, result: outcome }));
    }
    record({ ...known, status: outcome.errorCode, description: outcome.message });
    return () => refuse(response, outcome);
  };
  if (fault !== undefined && fault.kind in lostAnswers) {
    const kind = fault.kind as keyof typeof lostAnswers;
    const [status, text] = lostAnswers[kind];
    if (fault.delivered === true) await run();
    else record({ ...known, status });
    if (kind === "reset") response.socket?.resetAndDestroy();
    else if (kind !== "hang") send(response, status, text);
    return;
  }
  if (fault !== undefined) await prepare(endpoint, fault, bot, chatId ?? "");
  (await run())();
}

function runWithin(
  { world, flood }: BotEndpoint,
  bot: Bot,
  method: string,
  parameters: Parameters,
  response: ServerResponse,
): Promise<unknown> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  return runMethod(method, { world, flood, bot, parameters, gone: gone.signal });
}

/** Changes the chat so the request then meets the fault. */
async function prepare({ world, flood }: BotEndpoint, fault: TelegramFault, bot: Bot, chatId: string): Promise<void> {
  const chat = world.chats.get(chatId);
  if (fault.kind === "slow") await new Promise((resolve) => setTimeout(resolve, fault.delayMs ?? 2_000).unref());
  if (fault.kind === "flood") flood.block(bot.id, chatId, fault.retryAfterSeconds ?? 5);
  if (fault.kind === "kick" && chat !== undefined) world.setMembership(chat, "kicked");
  if (fault.kind === "migrate" && chat !== undefined) world.migrate(chat);
}

function decodePath(url: string): string {
  const [path = ""] = url.split("?", 1);
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  throw error;
}

function refuse(response: ServerResponse, { errorCode, message, parameters }: Refusal): void {
  const body = { ok: false, error_code: errorCode, description: message, parameters };
  const wait = parameters?.retry_after;
  send(response, errorCode, JSON.stringify(body), wait === undefined ? {} : { "retry-after": String(wait) });
}

function send(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  if (response.destroyed) return;
  const type = text.startsWith("<") ? "text/html" : "application/json";
  response.writeHead(status, { "content-type": type, ...headers }).end(text);
}
