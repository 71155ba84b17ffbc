import { Api, GrammyError } from "grammy";
import type { ApiError, ApiSuccess } from "grammy/types";
import type { CallBounds } from "../../core/ports/channel.ts";
import { isTimeout } from "../../ground/net/time-limit.ts";
import { readJson } from "../../ground/text/read-json.ts";
import type { AnswerFault } from "../http/exchange.ts";
import { type MultipartFile, writeMultipart } from "../http/multipart.ts";
import type { ConnectFault } from "../http/open-connection.ts";
import { createTransport, type Sending } from "../http/transport.ts";
import type { TelegramBot } from "./vendor.ts";

/** The unjudged result of one call to the Bot API, without secrets. */
export type Answer =
  | { kind: "ok"; result: unknown }
  | Refusal
  | {
      kind: "no_answer";
      /** Whether the request had begun to leave this machine. `false` is certain, `true` means "maybe delivered". */
      left: boolean;
      why: "timed_out" | "stopped" | "network";
      /** The code of the network error, e.g. `ECONNREFUSED`. */
      code?: string;
    }
  /** A proxy's page, half a body, a redirect. */
  | { kind: "unreadable"; httpStatus: number };

/** `{"ok":false}` in the Bot API's own words. */
export interface Refusal {
  kind: "refused";
  errorCode: number;
  description: string;
  /** Telegram sometimes leaves the `parameters` out. */
  retryAfter?: unknown;
  migrateToChatId?: unknown;
}

export type BotApiMethod =
  | "sendMessage"
  | "editMessageText"
  | "editMessageCaption"
  | "editMessageMedia"
  | "getMe"
  | "getChat"
  | "getChatMember"
  | "getWebhookInfo"
  | "getUpdates";

export interface Limit extends CallBounds {
  /** The end of the call's time, on the clock of `performance.now()`. */
  endsAt: number;
}

export type BotApi = ReturnType<typeof createBotApi>;

const connectTimeoutMs = 10_000;
/** A chat's description with its pinned message has some 50 KB at most. */
const usualAnswerBytes = 1024 * 1024;
/** A group takes a message every three seconds. Its connection is kept a little longer. */
const idleMs = 4_000;
/** The Bot API may run on this machine or near it. The configuration names it, so any address is allowed. */
const anyAddress = { refuse: () => undefined };

/**
 * grammY's client with our kept connections in place of its fetch, at a third of the cost. They know whether anything
 * left. No redirect is followed: the address holds the token.
 */
export function createBotApi(
  bot: TelegramBot,
  { maxAnswerBytes = usualAnswerBytes }: { maxAnswerBytes?: number } = {},
) {
  const transport = createTransport({ policy: anyAddress, connectTimeoutMs, maxAnswerBytes, idleMs });
  const apiRoot = bot.apiRoot.replace(/(?<!\/)\/+$/, "");
  const token = bot.token.reveal();
  const headers = { "user-agent": "Tocsin" };
  const urls = new Map<string, URL>();

  function urlOf(method: string): URL {
    const known = urls.get(method);
    if (known !== undefined) return known;
    const text = `${apiRoot}/bot${token}/${method}`;
    // The error of `new URL` would hold the text, and so the token.
    if (!URL.canParse(text)) throw new Unanswered({ kind: "no_answer", left: false, why: "network" });
    const url = new URL(text);
    urls.set(method, url);
    return url;
  }

  const api = new Api(token, { apiRoot });
  api.config.use(async (_overFetch, method, payload, given) => {
    const { file, ...limit } = given as unknown as Given;
    const { contentType, body } = file === undefined ? jsonOf(payload) : await writeMultipart(fieldsOf(payload), file);
    const request = {
      url: urlOf(method),
      method: "POST",
      headers: { ...headers, "content-type": contentType },
      body,
    } as const;
    return readAnswer(await transport.exchange(request, limit, limit.endsAt - performance.now()));
  });

  return {
    /** Makes one request. Never throws for faults of the other side, never repeats, never exceeds `limit`. */
    async call(
      method: BotApiMethod,
      payload: Record<string, unknown>,
      limit: Limit,
      file?: MultipartFile,
    ): Promise<Answer> {
      if (limit.signal.aborted) return { kind: "no_answer", left: false, ...causeOf(limit.signal) };
      try {
        const given = file === undefined ? limit : { ...limit, file };
        return { kind: "ok", result: await invoke(api, method, payload, given) };
      } catch (error) {
        if (error instanceof Unanswered) return error.answer;
        if (!(error instanceof GrammyError)) throw error;
        return {
          kind: "refused",
          errorCode: error.error_code,
          description: String(error.description ?? ""),
          retryAfter: error.parameters.retry_after,
          migrateToChatId: error.parameters.migrate_to_chat_id,
        };
      }
    },
    close: async () => transport.close(),
  };
}

interface Given extends Limit {
  file?: MultipartFile;
}

function jsonOf(payload: object) {
  return { contentType: "application/json", body: JSON.stringify(payload) };
}

/** Writes values other than text as JSON. */
function fieldsOf(payload: object): Record<string, string> {
  const entries = Object.entries(payload).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return Object.fromEntries(entries);
}

/** Callers build the payloads for their method, and their tests check them. */
function invoke(api: Api, method: BotApiMethod, payload: Record<string, unknown>, given: Given) {
  const raw = api.raw as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>;
  // `given` takes the place of grammY's signal, which grammY passes to the transformer unchanged.
  const takesNothing = method === "getMe" || method === "getWebhookInfo";
  return takesNothing ? raw[method]?.(given) : raw[method]?.(payload, given);
}

/** Carries an answer that grammY could not turn into an error of the Bot API. */
class Unanswered extends Error {
  constructor(readonly answer: Answer) {
    super("no answer of the Bot API");
  }
}

/** @throws Unanswered */
function readAnswer(sending: Sending): ApiSuccess<never> | ApiError {
  if ("unsent" in sending) throw new Unanswered({ kind: "no_answer", left: false, ...causeOfFault(sending.unsent) });
  if ("fault" in sending) throw new Unanswered({ kind: "no_answer", left: true, ...causeOfFault(sending.fault) });
  const { status, body, cutShort } = sending.answer;
  if (cutShort !== undefined) throw new Unanswered({ kind: "no_answer", left: true, ...causeOfFault(cutShort) });
  const answer = parseObject(body);
  if (answer?.ok === true || typeof answer?.error_code === "number") return answer as ApiSuccess<never> | ApiError;
  throw new Unanswered({ kind: "unreadable", httpStatus: status });
}

function parseObject(text: string): { ok?: unknown; error_code?: unknown } | undefined {
  const value = readJson(text);
  return typeof value === "object" && value !== null ? value : undefined;
}

type Cause = Pick<Extract<Answer, { kind: "no_answer" }>, "why" | "code">;

function causeOfFault({ kind, code }: AnswerFault | ConnectFault): Cause {
  if (kind === "timeout") return { why: "timed_out" };
  return kind === "aborted" ? { why: "stopped" } : { why: "network", code };
}

function causeOf(signal: AbortSignal): Cause {
  return { why: isTimeout(signal.reason) ? "timed_out" : "stopped" };
}
