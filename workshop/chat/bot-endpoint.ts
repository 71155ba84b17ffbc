import type { IncomingMessage, ServerResponse } from "node:http";
import type { Now } from "../../src/core/clock.ts";
import { type Bot, type MethodDeps, runMethod } from "./bot-methods.ts";
import type { Fault, FaultQueue } from "./faults.ts";
import type { FloodControl } from "./flood.ts";
import { Refusal } from "./refusal.ts";
import { type Parameters, readParameters } from "./request-parameters.ts";
import type { World } from "./world.ts";

/** One request as it was answered. Never holds a token. */
export interface StandInCall {
  /** Epoch milliseconds. */
  at: number;
  botId?: string;
  method: string;
  chatId?: string;
  /** HTTP status that was answered, or would have been for a delivered message; 0 for none. */
  status: number;
  /** Why it was refused. */
  description?: string;
  /** The fault that hit it. */
  fault?: Fault["kind"];
  /** As received. */
  parameters: Readonly<Record<string, unknown>>;
}

export interface BotEndpointDeps {
  world: World;
  flood: FloodControl;
  faults: FaultQueue;
  bots: ReadonlyMap<string, Bot>;
  now: Now;
  record(call: StandInCall): void;
}

interface Reply {
  status: number;
  body: Record<string, unknown>;
}

const bodyLimitBytes = 1 << 20;

/** What a request that was not carried out was answered all the same. */
const statusOfLost: Readonly<Partial<Record<Fault["kind"], number>>> = {
  error_500: 500,
  bad_gateway: 502,
  not_json: 200,
  flood_unsaid: 429,
};

/** Answers `/bot<token>/<method>`; the promise ends when the answer is on its way, or withheld. */
export async function answerBotRequest(
  deps: BotEndpointDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? "/", "http://stand-in");
  const [, token = "", method = ""] = /^\/bot([^/]*)\/([^/]*)$/.exec(decodePath(url.pathname)) ?? [];
  const bot = deps.bots.get(token);
  const call: StandInCall = { at: deps.now(), botId: bot?.id, method, status: 200, parameters: {} };

  const headFault = deps.faults.take(method, undefined, "head");
  if (headFault !== undefined) {
    deps.record({ ...call, status: 0, fault: headFault.kind });
    request.socket.resetAndDestroy();
    return;
  }
  const body = await readBytes(request);
  if (body === undefined) return send(response, refused(new Refusal(413, "Request Entity Too Large")));
  if (method === "") return send(response, refused(new Refusal(404, "Not Found")));
  if (bot === undefined) {
    const reply = refused(new Refusal(401, "Unauthorized"));
    deps.record({ ...call, status: 401, description: "Unauthorized" });
    return send(response, reply);
  }

  let parameters: Parameters;
  try {
    parameters = await readParameters(url.searchParams, request.headers["content-type"] ?? "", body);
  } catch (error) {
    return send(response, refused(asRefusal(error)));
  }
  const chatId = parameters.text("chat_id");
  const fault = deps.faults.take(method, chatId, "body");
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const run = async (): Promise<Reply> => {
    const reply = await runAsReply({ ...deps, gone: gone.signal }, bot, method, parameters);
    deps.record({
      ...call,
      chatId,
      parameters: parameters.all,
      status: reply.status,
      ...saidBy(reply),
      ...(fault === undefined ? {} : { fault: fault.kind }),
    });
    return reply;
  };
  if (fault === undefined) return send(response, await run());
  const recordLost = () => {
    const status = statusOfLost[fault.kind] ?? 0;
    deps.record({ ...call, chatId, parameters: parameters.all, status, fault: fault.kind });
  };
  await applyFault(deps, fault, { bot, chatId, response, run, recordLost });
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

interface FaultyRequest {
  bot: Bot;
  chatId: string | undefined;
  response: ServerResponse;
  run(): Promise<Reply>;
  recordLost(): void;
}

async function applyFault(deps: BotEndpointDeps, fault: Fault, request: FaultyRequest): Promise<void> {
  const { response, bot, chatId, run } = request;
  const deliverOrLose = async () => {
    if (fault.delivered === true) await run();
    else request.recordLost();
  };
  switch (fault.kind) {
    case "kick":
    case "migrate": {
      const chat = deps.world.chat(chatId ?? "");
      if (chat !== undefined && fault.kind === "kick") deps.world.setMembership(chat, "kicked");
      if (chat !== undefined && fault.kind === "migrate") deps.world.migrate(chat);
      return send(response, await run());
    }
    case "flood":
      deps.flood.block(bot.id, chatId ?? "", fault.retryAfterSeconds ?? 5);
      return send(response, await run());
    case "flood_unsaid":
      request.recordLost();
      return send(response, {
        status: 429,
        body: { ok: false, error_code: 429, description: "Too Many Requests" },
      });
    case "slow":
      await new Promise<void>((resolve) => {
        setTimeout(resolve, fault.delayMs ?? 2_000).unref();
      });
      return send(response, await run());
    case "hang":
      await deliverOrLose();
      return;
    case "reset":
    case "reset_before_reading":
      await deliverOrLose();
      response.socket?.resetAndDestroy();
      return;
    case "error_500":
      await deliverOrLose();
      return send(response, refused(new Refusal(500, "Internal Server Error")));
    case "bad_gateway":
      await deliverOrLose();
      return sendText(response, 502, "text/html", "<html><body><h1>502 Bad Gateway</h1></body></html>");
    case "not_json":
      await deliverOrLose();
      return sendText(response, 200, "application/json", '{"ok":true,"result":{"mess');
  }
}

async function runAsReply(deps: MethodDeps, bot: Bot, method: string, parameters: Parameters): Promise<Reply> {
  try {
    return { status: 200, body: { ok: true, result: await runMethod(deps, bot, method, parameters) } };
  } catch (error) {
    return refused(asRefusal(error));
  }
}

function saidBy({ body: { description } }: Reply): Pick<StandInCall, "description"> {
  return typeof description === "string" ? { description } : {};
}

function refused({ errorCode, message, parameters }: Refusal): Reply {
  return {
    status: errorCode,
    body: { ok: false, error_code: errorCode, description: message, ...(parameters && { parameters }) },
  };
}

function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  throw error;
}

function send(response: ServerResponse, reply: Reply): void {
  sendText(response, reply.status, "application/json", JSON.stringify(reply.body), retryAfterOf(reply));
}

function retryAfterOf({ body }: Reply): Record<string, string> {
  const parameters = body.parameters as { retry_after?: number } | undefined;
  return parameters?.retry_after === undefined ? {} : { "retry-after": String(parameters.retry_after) };
}

function sendText(
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
  headers: Record<string, string> = {},
): void {
  if (response.destroyed) return;
  response.writeHead(status, { "content-type": type, ...headers }).end(text);
}

/** `undefined` for a body beyond the limit. */
async function readBytes(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= bodyLimitBytes) chunks.push(chunk);
  }
  return size <= bodyLimitBytes ? Buffer.concat(chunks) : undefined;
}
