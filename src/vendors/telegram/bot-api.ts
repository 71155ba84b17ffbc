import { Api, GrammyError, HttpError } from "grammy";
import { Agent, DecoratorHandler, type Dispatcher, type RequestInit, fetch as undiciFetch } from "undici";
import { networkCodeOf } from "../../ground/net/network-code.ts";
import { isTimeout } from "../../ground/net/time-limit.ts";
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

export type BotApiMethod = "sendMessage" | "editMessageText" | "getMe" | "getChat" | "getChatMember";

export interface BotApi {
  /** Makes one request. Never throws for what the other side does, never repeats, never outlasts the signal. */
  call(method: BotApiMethod, payload: Record<string, unknown>, signal: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}

/** What is known about one request while it runs. */
interface Trace {
  left: boolean;
  httpStatus?: number;
}

type GrammyFetch = NonNullable<NonNullable<ConstructorParameters<typeof Api>[1]>["fetch"]>;

const connectTimeoutMs = 10_000;
/** grammY's own time-out has to be longer than any signal, which is the one that decides. */
const neverSeconds = 2_000_000;

/**
 * grammY's client over the pinned undici, so that "did it leave?" has one answer on every Node: undici calls
 * `onRequestStart` when a connected socket is about to take the request, and not before. (The diagnostics channels
 * of the built-in fetch say the same, process-wide and in whatever undici that Node carries.)
 */
export function createBotApi(bot: TelegramBot): BotApi {
  const agent = new Agent({ allowH2: false, pipelining: 1, connect: { timeout: connectTimeoutMs } });
  const apiRoot = bot.apiRoot.replace(/(?<!\/)\/+$/, "");

  function fetchTraced(trace: Trace, signal: AbortSignal): GrammyFetch {
    const dispatcher = agent.compose(noteStart(trace));
    const tracedFetch = async (url: string, init: RequestInit) => {
      const response = await undiciFetch(url, {
        method: init.method,
        headers: init.headers,
        body: init.body,
        signal,
        dispatcher,
        // The address holds the token: it goes to nobody else.
        redirect: "manual",
      });
      trace.httpStatus = response.status;
      return response;
    };
    return tracedFetch as unknown as GrammyFetch;
  }

  return {
    async call(method, payload, signal) {
      const trace: Trace = { left: false };
      if (signal.aborted) return { kind: "no_answer", left: false, ...causeOf(signal) };
      const api = new Api(bot.token.reveal(), {
        apiRoot,
        timeoutSeconds: neverSeconds,
        fetch: fetchTraced(trace, signal),
      });
      try {
        return { kind: "ok", result: await invoke(api, method, payload) };
      } catch (error) {
        return judge(error, trace, signal);
      }
    },
    close: () => agent.destroy(),
  };
}

/** One shape for all methods; what goes into a payload is built and tested where it is used. */
function invoke(api: Api, method: BotApiMethod, payload: Record<string, unknown>): Promise<unknown> {
  if (method === "getMe") return api.raw.getMe();
  const raw = api.raw as unknown as Record<typeof method, (payload: Record<string, unknown>) => Promise<unknown>>;
  return raw[method](payload);
}

function noteStart(trace: Trace): Dispatcher.DispatcherComposeInterceptor {
  class StartNoted extends DecoratorHandler {
    onRequestStart(...args: Parameters<NonNullable<Dispatcher.DispatchHandler["onRequestStart"]>>): void {
      trace.left = true;
      (DecoratorHandler.prototype as Dispatcher.DispatchHandler).onRequestStart?.apply(this, args);
    }
  }
  return (dispatch) => (options, handler) => dispatch(options, new StartNoted(handler));
}

function judge(error: unknown, trace: Trace, signal: AbortSignal): Answer {
  if (error instanceof GrammyError && typeof error.error_code === "number") {
    return {
      kind: "refused",
      errorCode: error.error_code,
      description: String(error.description ?? ""),
      retryAfter: error.parameters.retry_after,
      migrateToChatId: error.parameters.migrate_to_chat_id,
    };
  }
  // Neither the vendor nor the network: a defect on this side, which must not pass for an outage.
  if (!(error instanceof HttpError) && trace.httpStatus === undefined) throw error;
  if (signal.aborted) return { kind: "no_answer", left: trace.left, ...causeOf(signal) };
  const code = networkCodeOf(error);
  // A status without a body worth reading: either not JSON, or the connection broke half-way through it.
  if (trace.httpStatus !== undefined && code === undefined) {
    return { kind: "unreadable", httpStatus: trace.httpStatus };
  }
  return { kind: "no_answer", left: trace.left, why: "network", code };
}

function causeOf(signal: AbortSignal): { why: "timed_out" | "stopped" } {
  return { why: isTimeout(signal.reason) ? "timed_out" : "stopped" };
}
