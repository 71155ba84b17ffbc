import { z } from "zod";
import type { Route } from "../../contract/api.ts";
import { AppError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { createRelayCaller, type RelayAddress } from "../../http/call-relay.ts";

export type RelayClient = Awaited<ReturnType<typeof createRelayClient>>;

const hooked = z.object({ data: z.object({ id: z.string() }) });

/**
 * The API of a running relay. Throws as `createRelayCaller` says, and `failed` for a relay that is too old to have the route. The contract
 * is loaded here, and not with the command line.
 */
export async function createRelayClient(address: RelayAddress) {
  const { url } = address;
  const { createClient } = await import("../../contract/client.ts");
  const { read, isReady, openStream } = createRelayCaller(address);
  const api = createClient(({ route, ...call }, schema) =>
    read({ ...call, timeoutMs: route.timeoutMs }, schema).catch((error: unknown) => {
      throw isUnknownRoute(error) ? tooOld(url, route) : error;
    }),
  );
  return {
    ...api,
    ...{ url, isReady, openStream },
    /** Posts JSON to the relay's own hook. The id of the stored alert. */
    async postToHook(hookSecret: Secret, body: unknown, headers: Record<string, string>): Promise<string> {
      const call = { path: `/hooks/${hookSecret.reveal()}`, method: "POST" as const, body, headers, needsToken: false };
      const said = await unlessMissing(read(call, hooked));
      if (said !== undefined) return said.data.id;
      throw new AppError("not_found", `the relay at ${url} does not know the hook secret found here`, {
        hint: "run this with the WEBHOOK_SECRET, DATA_DIR or DATABASE_URL that the relay runs with",
      });
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

/** The relay is older than the route that it is asked for. Any other 404 is about a thing that is missing. */
function isUnknownRoute(error: unknown): boolean {
  return isNotFound(error) && (error as AppError).message.includes("no such page");
}

function tooOld(url: string, { path, instead }: Route): AppError {
  const lacks = path.replace(/:(\w+)/g, (_, name: string) => name.toUpperCase());
  const message = `the relay at ${url} is older than this command: it has no ${lacks}`;
  const hint =
    "restart it with this version, or run the command of its own version; /readyz and /metrics answer meanwhile";
  return new AppError("failed", instead === undefined ? message : `${message}; ${instead}`, { hint });
}
