import { z } from "zod";
import type { Route } from "../../contract/api.ts";
import type { ApiCall, Client } from "../../contract/client.ts";
import { AppError, type ErrorCode, errorCodes } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { exchangeText, readBoundedText } from "../../ground/net/exchange-text.ts";
import { isTimeout } from "../../ground/net/time-limit.ts";
import { describeNetworkFailure } from "../../upstream/network-failure.ts";

/** A secret, and where it was found, for words. */
export interface FoundSecret {
  secret: Secret;
  from: string;
}

export interface RelayClientOptions {
  /** Where the relay listens, without a trailing slash. */
  url: string;
  /** Absent: only what needs no login can be asked, all else throws `unauthorized`. */
  token?: FoundSecret;
  /** Ends every call. */
  signal: AbortSignal;
}

/**
 * The API of a running relay. Every method throws an `AppError`: `relay_unreachable` when nothing answers,
 * `unauthorized` for a missing or wrong token, `timeout`, what the relay itself refuses with, and `failed` for a
 * server that is no Tocsin, or a relay that is too old to have the route.
 */
export interface RelayClient extends Client {
  readonly url: string;
  /** Whether it accepts and delivers alerts now. Needs no token. */
  isReady(): Promise<boolean>;
  /** What `/api/stream` sends, from after `lastEventId` or from now on, until `ending` is aborted. */
  openStream(lastEventId: string | undefined, ending: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  /** Posts JSON to the relay's own hook. The id of the stored alert. */
  postToHook(hookSecret: Secret, body: unknown, headers: Record<string, string>): Promise<string>;
}

interface Call extends Partial<Pick<ApiCall, "method" | "body">> {
  path: string;
  headers?: Record<string, string>;
  /** Default true. */
  needsToken?: boolean;
  /** Default 10 s. Milliseconds. */
  timeoutMs?: number;
}

interface Answer {
  status: number;
  text?: string;
}

/** A page of 200 alerts with the longest texts is a tenth of this. */
const maxAnswerBytes = 64 * 1024 * 1024;

/** The contract is loaded here, and not with the command line. */
export async function createRelayClient({ url, token, signal }: RelayClientOptions): Promise<RelayClient> {
  const { createClient } = await import("../../contract/client.ts");
  const hooked = z.object({ data: z.object({ id: z.string() }) });
  const refusal = (answer: Answer) => readRefusal(url, answer, token?.from);

  async function findToken(): Promise<Record<string, string>> {
    if (token !== undefined) return { authorization: `Bearer ${token.secret.reveal()}` };
    // Also where no token is known, that nobody answers is the news.
    await isReady();
    const hint = "set ADMIN_TOKEN, say --token-file FILE, or run this with the relay's DATA_DIR or DATABASE_URL";
    throw refuse("unauthorized", `no admin token is known for the relay at ${url}`, hint);
  }

  function toFailure(error: unknown): unknown {
    if (error instanceof AppError) return error;
    if (signal.aborted) return signal.reason;
    return new RelayUnreachable(describeNetworkFailure(error, `no relay answers at ${url}`).message);
  }

  /** Whatever it answers. */
  async function ask(call: Call): Promise<Answer> {
    const { path, method, body, needsToken = true, timeoutMs = 10_000 } = call;
    const headers = {
      ...(needsToken && (await findToken())),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...call.headers,
    };
    const request = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
    try {
      return await exchangeText(`${url}${path}`, { ...request, timeoutMs, maxBytes: maxAnswerBytes, signal });
    } catch (error) {
      throw isTimeout(error) ? tooSlow(url, timeoutMs) : toFailure(error);
    }
  }

  /** A 2xx answer as the schema has it. */
  async function read<T>(call: Call, schema: z.ZodType<T>): Promise<T> {
    const answer = await ask(call);
    if (answer.status < 200 || answer.status > 299) throw refusal(answer);
    if (answer.text === undefined) throw notARelay(url, "its answer is too long");
    const parsed = schema.safeParse(parseJson(answer.text));
    if (parsed.success) return parsed.data;
    throw notARelay(url, `its answer to ${shownPath(call.path)} cannot be read`);
  }

  async function isReady(): Promise<boolean> {
    const answer = await ask({ path: "/readyz", needsToken: false });
    if (answer.status !== 200 && answer.status !== 503) throw refusal(answer);
    return answer.status === 200;
  }

  async function send({ route, ...call }: ApiCall, schema: z.ZodObject | undefined): Promise<unknown> {
    const timed = { ...call, timeoutMs: route.timeoutMs };
    try {
      if (schema !== undefined) return await read(timed, schema);
      const answer = await ask(timed);
      if (answer.status === 204) return undefined;
      throw refusal(answer);
    } catch (error) {
      throw isUnknownRoute(error) ? tooOld(url, route) : error;
    }
  }

  return {
    ...createClient(send),
    url,
    isReady,

    async openStream(lastEventId, ending) {
      const from = lastEventId !== undefined && { "last-event-id": lastEventId };
      try {
        const headers = { ...(await findToken()), accept: "text/event-stream", ...from };
        const response = await fetch(`${url}/api/stream`, { headers, redirect: "manual", signal: ending });
        if (response.status === 200 && response.body !== null) return response.body;
        throw refusal({ status: response.status, text: await readBoundedText(response, 64 * 1024) });
      } catch (error) {
        throw toFailure(error);
      }
    },

    async postToHook(hookSecret, body, headers) {
      const call = { path: `/hooks/${hookSecret.reveal()}`, method: "POST" as const, body, headers, needsToken: false };
      try {
        return (await read(call, hooked)).data.id;
      } catch (error) {
        if (!isNotFound(error)) throw error;
        const hint = "run this with the WEBHOOK_SECRET, DATA_DIR or DATABASE_URL that the relay runs with";
        throw refuse("not_found", `the relay at ${url} does not know the hook secret found here`, hint);
      }
    },
  };
}

/** Undefined for what is not there: it may have been removed meanwhile. */
export function unlessMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
}

function isNotFound(error: unknown): boolean {
  return error instanceof AppError && error.code === "not_found";
}

/** The relay is older than what it is asked for; another 404 is about what is in it. */
function isUnknownRoute(error: unknown): boolean {
  return isNotFound(error) && (error as AppError).message.includes("no such page");
}

/** Without a query, and without the secret of the hook. */
function shownPath(path: string): string {
  return path.startsWith("/hooks/") ? "/hooks/…" : (path.split("?")[0] ?? path);
}

function parseJson(text = ""): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Nobody listens there. A class of its own, since the caller may then read the database instead. */
export class RelayUnreachable extends AppError {
  constructor(message: string) {
    super("relay_unreachable", message, {
      hint: "start it with: tocsin serve. If it runs elsewhere, set HOST and PORT as it has them, or say --url",
    });
    this.name = "RelayUnreachable";
  }
}

const refuse = (code: ErrorCode, message: string, hint: string) => new AppError(code, message, { hint });

const tooSlow = (url: string, timeoutMs: number) =>
  refuse(
    "timeout",
    `the relay at ${url} did not answer within ${timeoutMs / 1000} s`,
    "see what its log says, and whether its disk is slow or full",
  );

function tooOld(url: string, { path, instead }: Route): AppError {
  const lacks = path.replace(/:(\w+)/g, (_, name: string) => name.toUpperCase());
  const message = `the relay at ${url} is older than this command: it has no ${lacks}`;
  const hint =
    "restart it with this version, or run the command of its own version; /readyz and /metrics answer meanwhile";
  return refuse("failed", instead === undefined ? message : `${message}; ${instead}`, hint);
}

/** Something answers that does not speak as a relay does. */
const notARelay = (url: string, why: string) =>
  refuse(
    "failed",
    `what answers at ${url} is no Tocsin relay of this version: ${why}`,
    "check PORT, HOST or --url; after an upgrade restart the relay",
  );

const refusalSchema = z.object({
  code: z.enum(errorCodes).catch("failed"),
  message: z.string(),
  hint: z.string().optional().catch(undefined),
});

/** The relay's own words for what it refuses: `{"error":{"code","message","hint"?}}`. */
function readRefusal(url: string, { status, text }: Answer, tokenFrom?: string): AppError {
  const said = z.object({ error: refusalSchema }).safeParse(parseJson(text)).data?.error;
  if (said === undefined) {
    if (status !== 503) return notARelay(url, `it answers with ${status}`);
    // What the listener answers before there are pages.
    return refuse("store_unavailable", `the relay at ${url} is starting`, "try again in a moment");
  }
  if (said.code !== "unauthorized") return new AppError(said.code, said.message, { hint: said.hint });
  const which = tokenFrom === undefined ? "the admin token" : `the admin token of ${tokenFrom}`;
  return refuse(
    "unauthorized",
    `the relay at ${url} does not take ${which}`,
    "run this with the ADMIN_TOKEN, DATA_DIR or DATABASE_URL that the relay runs with, or say --token-file FILE",
  );
}
