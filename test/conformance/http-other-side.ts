import { echo, type HttpVendor, text, type VendorAnswer } from "../support/vendors/http-vendor.ts";
import { askedWaitMs, type OtherSide, type Situation } from "./channel-suite.ts";

const kinds: Partial<
  Record<Situation | "behaves", "normal" | `take_then_${"hang" | "reset" | "half_answer"}` | "garbage">
> = {
  ...{ behaves: "normal", speaks_garbage: "garbage" },
  ...{ takes_and_hangs: "take_then_hang", takes_and_resets: "take_then_reset" },
  takes_and_breaks_off: "take_then_half_answer",
};

/** How an HTTP vendor is brought into each situation; `answers` says what it answers where it has words of its own. */
export function otherSideOf(
  vendor: HttpVendor,
  seen: () => readonly string[],
  answers: Partial<Record<Situation, VendorAnswer>> = {},
): OtherSide {
  const usual: Partial<Record<Situation, VendorAnswer>> = {
    asks_to_wait: text(429, "slow down", { "retry-after": String(askedWaitMs / 1_000) }),
    fails: text(500, "internal error"),
    is_unavailable: text(503, "<html><body>Service Unavailable</body></html>"),
    refuses_the_account: text(401, "unauthorized"),
    is_gone: text(410, "gone"),
    refuses_the_message: text(400, "bad request\r\n\u0007\u202e"),
    redirects: { status: 308, headers: { location: "https://elsewhere.example/secret" } },
  };
  return {
    seen,
    nextCall: () => vendor.nextRequest(),
    meet: async (situation) => {
      if (situation === "is_unreachable") return vendor.close();
      const kind = kinds[situation];
      if (kind !== undefined) return vendor.behave({ kind });
      if (situation === "echoes_everything") return vendor.behave({ kind: "answer", answer: echo(400) });
      const answer = situation === "behaves" ? undefined : (answers[situation] ?? usual[situation]);
      if (answer === undefined) throw new Error(`no answer for ${situation}`);
      return vendor.behave({ kind: "answer", answer: () => answer });
    },
  };
}
