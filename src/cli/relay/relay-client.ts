import type { z } from "zod";
import type { ApiCall, Client } from "../../contract/client.ts";
import { AppError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { createRelayTransport, olderRelay, type RelayTransportOptions } from "./relay-transport.ts";

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

/** The contract is loaded here, and not with the command line. */
export async function createRelayClient(options: RelayTransportOptions): Promise<RelayClient> {
  const [{ createClient }, { z }] = await Promise.all([import("../../contract/client.ts"), import("zod")]);
  const transport = createRelayTransport(options);
  const hooked = z.object({ data: z.object({ id: z.string() }) });

  async function isReady(): Promise<boolean> {
    const answer = await transport.ask({ path: "/readyz", needsToken: false });
    if (answer.status === 200) return true;
    if (answer.status === 503) return false;
    throw transport.refusal(answer);
  }

  async function send({ route, ...call }: ApiCall, schema: z.ZodObject | undefined): Promise<unknown> {
    // Where no token is known, that nobody answers is still the news.
    if (options.token === undefined) await isReady();
    const timed = { ...call, timeoutMs: route.timeoutMs };
    try {
      if (schema !== undefined) return await transport.read(timed, schema);
      const answer = await transport.ask(timed);
      if (answer.status === 204) return undefined;
      throw transport.refusal(answer);
    } catch (error) {
      if (!isUnknownRoute(error)) throw error;
      const lacks = route.path.replace(/:(\w+)/g, (_, name: string) => name.toUpperCase());
      throw olderRelay(options.url, route.instead === undefined ? lacks : `${lacks}; ${route.instead}`);
    }
  }

  return {
    ...createClient(send),
    url: options.url,
    isReady,

    openStream(lastEventId, ending) {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (lastEventId !== undefined) headers["last-event-id"] = lastEventId;
      return transport.open({ path: "/api/stream", headers }, ending);
    },

    async postToHook(hookSecret, body, headers) {
      const call = { path: `/hooks/${hookSecret.reveal()}`, method: "POST" as const, body, headers, needsToken: false };
      try {
        return (await transport.read(call, hooked)).data.id;
      } catch (error) {
        throw isNotFound(error) ? otherSecret(options.url) : error;
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

function otherSecret(url: string): AppError {
  return new AppError("not_found", `the relay at ${url} does not know the hook secret found here`, {
    hint: "run this with the WEBHOOK_SECRET, DATA_DIR or DATABASE_URL that the relay runs with",
  });
}
