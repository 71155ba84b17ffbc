import { isTlsCode, networkCodeOf } from "../../ground/net/network-code.ts";
import { withTimeLimit } from "../../ground/net/time-limit.ts";

/**
 * What a look at the relay's own hook from here says. Nothing is sent to it: a GET is answered 405 by the right
 * relay.
 */
export type HookCheck =
  | { reached: true }
  | { reached: false; why: "unreachable" | "other_secret" | "something_else"; detail: string };

/** Never throws; waits at most five seconds. */
export async function checkHook(hookUrl: string, signal: AbortSignal): Promise<HookCheck> {
  try {
    const response = await withTimeLimit(5_000, signal, async (limit) => {
      const answer = await fetch(hookUrl, { redirect: "manual", signal: limit.signal });
      await answer.body?.cancel();
      return answer;
    });
    if (response.status === 405) return { reached: true };
    if (response.status === 404) {
      return {
        reached: false,
        why: "other_secret",
        detail: "a server answers there, but does not know this secret",
      };
    }
    return {
      reached: false,
      why: "something_else",
      detail: `something else answers there with ${response.status}`,
    };
  } catch (error) {
    const code = networkCodeOf(error) ?? "";
    const detail = isTlsCode(code)
      ? `its TLS certificate is not trusted here (${code})`
      : "nothing answers there from this machine";
    return { reached: false, why: "unreachable", detail };
  }
}
