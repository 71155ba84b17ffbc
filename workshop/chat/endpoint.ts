import type { Faults } from "../stand-in.ts";
import { type Asked, faultChoices, type VendorFault } from "../vendor-server.ts";
import type { Bot } from "./describe.ts";
import { type ChatWorld, runMethod } from "./methods.ts";
import { Refusal, readParameters } from "./parameters.ts";

export interface TelegramFault extends VendorFault<"reset_before_reading" | "flood" | "kick" | "migrate"> {
  /** Only requests for this chat. `reset_before_reading` ignores it, as the chat is not known yet. */
  chat?: string;
  method?: string;
  /** For `flood`, which closes the chat for this time. Default 5. */
  retryAfterSeconds?: number;
}

export const telegramFaults: Readonly<Record<string, TelegramFault>> = {
  ...faultChoices,
  "drops the connection at once": { kind: "reset_before_reading" },
  "answers half a JSON text": { kind: "not_json" },
  "asks to wait 5 seconds (429)": { kind: "flood" },
  "asks to wait without saying how long": { kind: "flood_unsaid" },
  "throws the bot out": { kind: "kick" },
  "turns the group into a supergroup": { kind: "migrate" },
};

/** One request, without its token. */
export interface TelegramCall {
  method: string;
  botId?: string;
  parameters: Readonly<Record<string, unknown>>;
}

export interface BotEndpoint extends ChatWorld {
  faults: Faults<TelegramFault>;
  bots: ReadonlyMap<string, Bot>;
}

/** Reads `/bot<token>/<method>`. */
export async function readCall(endpoint: BotEndpoint, request: Request): Promise<Asked<TelegramCall> | Response> {
  const { faults, bots } = endpoint;
  const path = decodeURIComponent(new URL(request.url).pathname);
  const [, token = "", method] = /^\/bot([^/]*)\/([^/]+)$/.exec(path) ?? [];
  if (method === undefined) return refuse(new Refusal(404, "Not Found"));
  const bot = bots.get(token);
  const call: TelegramCall = { botId: bot?.id, method, parameters: {} };
  if (bot === undefined) return { call, run: () => refuse(new Refusal(401, "Unauthorized")) };
  const isFor = (fault: TelegramFault) => (fault.method ?? method).toLowerCase() === method.toLowerCase();
  const early = faults.take((fault) => fault.kind === "reset_before_reading" && isFor(fault));
  if (early !== undefined) return { call, fault: early, run: Response.error };
  const read = await readParameters(request).catch(asRefusal);
  if (read instanceof Refusal) return { call, run: () => refuse(read) };
  const { given, ...known } = read;
  const { chat_id: chatId } = known.parameters;
  const fault = faults.take(
    (one) => one.kind !== "reset_before_reading" && isFor(one) && (one.chat ?? chatId) === chatId,
  );
  const run = async () => {
    if (fault !== undefined) prepare(endpoint, fault, bot, chatId ?? "");
    const result = await runMethod(method, { ...endpoint, ...known, bot, gone: request.signal }).catch(asRefusal);
    return result instanceof Refusal ? refuse(result) : Response.json({ ok: true, result });
  };
  return { call: { ...call, parameters: given }, fault, run };
}

/** Changes the chat so the request then meets the fault. */
function prepare({ world, limits }: BotEndpoint, fault: TelegramFault, bot: Bot, chatId: string): void {
  const chat = world.chats.get(chatId);
  if (fault.kind === "flood") limits.close(`${bot.id} ${chatId}`, (fault.retryAfterSeconds ?? 5) * 1000);
  if (fault.kind === "kick" && chat !== undefined) world.setMembership(chat, "kicked");
  if (fault.kind === "migrate" && chat !== undefined) world.migrate(chat);
}

function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  throw error;
}

function refuse({ errorCode, message, parameters }: Refusal): Response {
  const body = { ok: false, error_code: errorCode, description: message, parameters };
  const wait = parameters?.retry_after;
  return Response.json(body, { status: errorCode, headers: wait === undefined ? {} : { "retry-after": String(wait) } });
}
