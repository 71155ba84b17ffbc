import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isLoopback, localHost } from "../../../src/ground/net/local-host.ts";
import { isDnsCode, isTlsCode, nameNetworkFailure, networkCodeOf } from "../../../src/ground/net/network-code.ts";
import { parseRetryAfter } from "../../../src/ground/net/retry-after.ts";
import { isTimeout, startTimeLimit, withTimeLimit } from "../../../src/ground/net/time-limit.ts";

test.each(["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.10", "::1", "[::1]"])("%s is this machine", (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(["0.0.0.0", "::", "localhost.example", "127.0.0.1.example", "10.0.0.1", "[::2]", ""])(
  "%j may be another machine",
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);

test.each([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "127.0.0.1"],
  ["::1", "[::1]"],
  ["192.0.2.1", "192.0.2.1"],
])("a server at %s is reached at %s", (host, expected) => {
  expect(localHost(host)).toBe(expected);
});

describe("the code of a network error", () => {
  test("is found in the chain of causes", () => {
    const error = new Error("outer", { cause: new Error("x", { cause: { code: "ECONNRESET" } }) });
    expect(networkCodeOf({ error })).toBe("ECONNRESET");
  });

  test("is nothing that could be an address or a token", () => {
    expect(networkCodeOf({ code: "https://api.telegram.org/bot1:A/sendMessage" })).toBeUndefined();
    const loop: { cause?: unknown } = {};
    loop.cause = loop;
    expect(networkCodeOf(loop)).toBeUndefined();
  });

  test("is that of the first address when there are several", () => {
    const failed = (code: string) => Object.assign(new Error(code), { code });
    const error = new AggregateError([failed("EHOSTUNREACH"), failed("ECONNREFUSED")]);
    expect(networkCodeOf(new TypeError("fetch failed", { cause: error }))).toBe("EHOSTUNREACH");
  });
});

test.each([
  ["tls", "EPROTO CERT_HAS_EXPIRED CRL_HAS_EXPIRED UNABLE_TO_VERIFY_LEAF_SIGNATURE DEPTH_ZERO_SELF_SIGNED_CERT"],
  ["tls", "SELF_SIGNED_CERT_IN_CHAIN ERR_TLS_CERT_ALTNAME_INVALID ERR_SSL_WRONG_VERSION_NUMBER"],
  ["tls", "HOSTNAME_MISMATCH INVALID_PURPOSE"],
  ["dns", "ENOTFOUND EAI_AGAIN"],
  ["neither", "ECONNREFUSED ECONNRESET UND_ERR_SOCKET ERR_INVALID_URL"],
])("a failure of %s is each of %s", (kind, codes) => {
  for (const code of codes.split(" "))
    expect(isTlsCode(code) ? "tls" : isDnsCode(code) ? "dns" : "neither", code).toBe(kind);
});

test("a port that fetch and browsers refuse is named as such", async () => {
  const failure = await fetch("http://127.0.0.1:10080/").catch(nameNetworkFailure);
  expect(failure).toMatchObject({ sent: "no", words: "browsers and fetch refuse this port" });
});

describe("Retry-After", () => {
  const nowMs = Date.parse("2026-11-20T12:00:00Z");
  test.each([
    ["0", 0],
    ["120", 120_000],
    [" 3 ", 3_000],
    ["0.25", 250],
    ["86400", 86_400_000],
    ["Fri, 20 Nov 2026 12:00:30 GMT", 30_000],
    ["Friday, 20-Nov-26 12:00:30 GMT", 30_000],
    ["Fri, 20 Nov 2026 11:00:00 GMT", 0],
    ["-5", undefined],
    ["soon", undefined],
    ["not before 2030", undefined],
    ["", undefined],
    ["1e9", undefined],
    [undefined, undefined],
    [null, undefined],
  ])("reads %j as %j milliseconds", (value, expected) => {
    expect(parseRetryAfter(value, nowMs)).toBe(expected);
  });
});

describe("a time limit", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("ends after the time with a TimeoutError", () => {
    const limit = startTimeLimit(1_000, new AbortController().signal);
    vi.advanceTimersByTime(999);
    expect([limit.signal.aborted, limit.timedOut()]).toEqual([false, false]);
    vi.advanceTimersByTime(1);
    expect(limit.timedOut()).toBe(true);
    expect(isTimeout(limit.signal.reason)).toBe(true);
  });

  test.each(["before", "meanwhile"])("ends with what is above it and for its reason (%s)", (when) => {
    const outer = new AbortController();
    const reason = new Error("stopped");
    if (when === "before") outer.abort(reason);
    const limit = startTimeLimit(1_000, outer.signal);
    outer.abort(reason);
    expect(limit.signal.reason).toBe(reason);
    vi.advanceTimersByTime(2_000);
    expect([limit.timedOut(), isTimeout(limit.signal.reason)]).toEqual([false, false]);
  });

  test("begins anew when it is restarted, and stays ended once it has ended", () => {
    const limit = startTimeLimit(1_000);
    vi.advanceTimersByTime(900);
    limit.restart();
    vi.advanceTimersByTime(900);
    expect(limit.signal.aborted).toBe(false);
    vi.advanceTimersByTime(100);
    limit.restart();
    vi.advanceTimersByTime(1_000);
    expect(limit.timedOut()).toBe(true);
  });

  test.each(["resolves", "throws"])("leaves no timer and no listener when what it runs %s", async (how) => {
    const outer = new AbortController();
    const remove = vi.spyOn(outer.signal, "removeEventListener");
    const run = withTimeLimit(1_000, outer.signal, async () => {
      if (how === "throws") throw new Error("refused");
    });
    await run.catch(() => {});
    expect(vi.getTimerCount()).toBe(0);
    expect(remove).toHaveBeenCalledTimes(1);
  });
});
