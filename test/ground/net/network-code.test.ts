import { describe, expect, it } from "vitest";
import { isDnsCode, isTlsCode, networkCodeOf } from "../../../src/ground/net/network-code.ts";

describe("the code of a network error", () => {
  it("is found in the chain of causes", () => {
    const error = new Error("outer", { cause: new Error("x", { cause: { code: "ECONNRESET" } }) });
    expect(networkCodeOf({ error })).toBe("ECONNRESET");
  });

  it("is nothing that could be an address or a token", () => {
    expect(networkCodeOf({ code: "https://api.telegram.org/bot1:A/sendMessage" })).toBeUndefined();
    const loop: { cause?: unknown } = {};
    loop.cause = loop;
    expect(networkCodeOf(loop)).toBeUndefined();
  });

  it("is that of the first address when there are several", () => {
    const failed = (code: string) => Object.assign(new Error(code), { code });
    const error = new AggregateError([failed("EHOSTUNREACH"), failed("ECONNREFUSED")]);
    expect(networkCodeOf(new TypeError("fetch failed", { cause: error }))).toBe("EHOSTUNREACH");
  });
});

it.each([
  ["EPROTO", "tls"],
  ["CERT_HAS_EXPIRED", "tls"],
  ["CRL_HAS_EXPIRED", "tls"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "tls"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "tls"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "tls"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "tls"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "tls"],
  ["HOSTNAME_MISMATCH", "tls"],
  ["INVALID_PURPOSE", "tls"],
  ["ENOTFOUND", "dns"],
  ["EAI_AGAIN", "dns"],
  ["ECONNREFUSED", "neither"],
  ["ECONNRESET", "neither"],
  ["UND_ERR_SOCKET", "neither"],
  ["ERR_INVALID_URL", "neither"],
])("%s is %s", (code, kind) => {
  expect(isTlsCode(code) ? "tls" : isDnsCode(code) ? "dns" : "neither").toBe(kind);
});
