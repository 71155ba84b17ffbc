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

/** What came of one call to the Bot API, before anybody judges what it means. Holds no secret. */
export type Answer =
  | { kind: "ok"; result: unknown }
  | Refusal
  | {
      kind: "no_answer";
      /** Whether the request had started to leave this machine. `false` is certain, `true` means "maybe delivered". */
      left: boolean;
      why: "timed_out" | "stopped" | "network";
      /** Code of the network error, e.g. `ECONNREFUSED`. */
      code?: string;
    }
  /** Something answered that did not speak the Bot API: a proxy's page, half a body, a redirect. */
  | { kind: "unreadable"; httpStatus: number };

/** `{"ok":false}` in the Bot API's own words. */
export interface Refusal {
  kind: "refused";
  /** `error_code` of the answer; the HTTP status is the same. */
  errorCode: number;
  description: string;
  /** `parameters` as they came; the vendor leaves them out at times. */
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
  /** `performance.now()` at which it has to have ended. */
  endsAt: number;
}

export type BotApi = ReturnType<typeof createBotApi>;

const connectTimeoutMs = 10_000;
/** A chat's description with its pinned message is some 50 KB at most. */
const usualAnswerBytes = 1024 * 1024;
/** A group takes a message each three seconds, for which its connection is kept. */
const idleMs = 4_000;
/** The Bot API may run on this machine or next to it: where, only the configuration says. */
const anyAddress = { refuse: () => undefined };

/**
 * grammY's client, with a transformer in place of its fetch, time-outs and JSON: that sends over kept connections of
 * ours, which know whether anything left, and at a third of the cost. No redirect is followed: the address holds the
 * token.
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
    // What `new URL` throws holds the text, and so the token.
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
    /** Makes one request. Never throws for what the other side does, never repeats, never outlasts `limit`. */
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

/** In a form, what is no text of its own is written as JSON. */
function fieldsOf(payload: object): Record<string, string> {
  const entries = Object.entries(payload).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return Object.fromEntries(entries);
}

/** One shape for all methods; what goes into a payload is built and tested where it is used. */
function invoke(api: Api, method: BotApiMethod, payload: Record<string, unknown>, given: Given) {
  const raw = api.raw as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>;
  // In the place of grammY's signal, which it hands on to the transformer unseen.
  const takesNothing = method === "getMe" || method === "getWebhookInfo";
  return takesNothing ? raw[method]?.(given) : raw[method]?.(payload, given);
}

/** No answer in the words of the Bot API, so nothing that grammY could make an error of. */
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
