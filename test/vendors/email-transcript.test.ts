import { describe, expect, it } from "vitest";
import { classify } from "../../src/vendors/email/classify.ts";
import { createTranscript, parseReply, readBreakdown, type Transcript } from "../../src/vendors/email/transcript.ts";

/** Plays lines as nodemailer logs them: `C:` commands, `S:` replies, `N` the connection; `M`, that it reads the mail. */
function play(transcript: Transcript, ...lines: string[]): Transcript {
  for (const line of lines) {
    if (line === "N") transcript.observe({ tnx: "network" }, "Connection established");
    else if (line === "M") transcript.startContent();
    else transcript.observe({ tnx: line.startsWith("C:") ? "client" : "server" }, line.slice(2));
  }
  return transcript;
}

const upToMail = ["N", "S:220 hi", "C:EHLO a", "S:250-b\n250 PIPELINING"];

describe("the transcript", () => {
  const at = (...lines: string[]) =>
    play(
      createTranscript(() => {}),
      ...lines,
    ).stage();

  it("follows a conversation step by step", () => {
    expect(at()).toBe("connect");
    expect(at("N")).toBe("greeting");
    expect(at("N", "S:220 hi", "C:EHLO a")).toBe("hello");
    expect(at(...upToMail, "C:AUTH LOGIN", "S:334 x", "C:YWxlcnRz")).toBe("auth");
    expect(at(...upToMail, "C:MAIL FROM:<a>", "S:250 ok", "C:RCPT TO:<b>")).toBe("rcpt");
  });

  it("waits for the first unanswered of pipelined commands, and until the mail is read before it counts as sent", () => {
    const piped = [...upToMail, "C:MAIL FROM:<a>", "C:RCPT TO:<b>", "C:DATA"];
    expect(at(...piped)).toBe("mail");
    expect(at(...piped, "S:250 ok")).toBe("rcpt");
    expect(at(...piped, "S:250 ok", "S:250 ok")).toBe("data");
    expect(at(...piped, "S:250 ok", "S:250 ok", "S:354 go")).toBe("data");
    expect(at(...piped, "S:250 ok", "S:250 ok", "S:354 go", "M")).toBe("content");
  });

  it("starts a second mail with nothing sent, even when no command of it was ever written", () => {
    const transcript = play(
      createTranscript(() => {}),
      ...upToMail,
      "C:MAIL FROM:<a>",
      "S:250 ok",
      "C:DATA",
      "S:354 go",
      "M",
      "S:250 ok",
    );
    expect(transcript.stage()).toBe("content");
    transcript.startMail();
    expect(transcript.stage()).toBe("mail");
  });
});

describe("a reply", () => {
  it("is read with its enhanced code, over several lines, or without either", () => {
    expect(parseReply(550, "550-5.1.1 no such\n550 5.1.1 user")).toEqual({
      code: 550,
      enhanced: "5.1.1",
      text: "no such user",
    });
    expect(parseReply(421, "421 busy")).toEqual({ code: 421, text: "busy" });
    expect(parseReply(554, "554")).toEqual({ code: 554, text: "" });
    expect(parseReply(550, "550 192.168.1.1 is listed")).toEqual({
      code: 550,
      text: "192.168.1.1 is listed",
    });
  });

  it("is cut to what a page can show, with nothing unprintable", () => {
    const { text } = parseReply(550, `550 \u001b[31m${"🚨".repeat(200)}\u2028x`);
    expect(text.length).toBeLessThanOrEqual(180);
    expect(text).not.toMatch(/[\p{Cc}\p{Cs}\p{Zl}]/u);
  });
});

describe("an error without a reply", () => {
  const error = (fields: object) => Object.assign(new Error("x"), fields);
  const read = (fields: object, stage: Parameters<typeof readBreakdown>[1]) =>
    classify(
      readBreakdown(error(fields), stage, (text) => text),
      false,
    );

  it.each([
    [{ code: "EDNS" }, "connect", { kind: "retry", reason: "dns_failed" }],
    [{ code: "ESOCKET", originalCode: "EHOSTUNREACH" }, "connect", { kind: "retry", reason: "connect_failed" }],
    [{ code: "ESOCKET", originalCode: "CERT_HAS_EXPIRED" }, "connect", { kind: "retry", reason: "tls_failed" }],
    [{ code: "ETIMEDOUT" }, "hello", { kind: "retry", reason: "timeout_before_send" }],
    [{ code: "ESOCKET", originalCode: "ECONNRESET" }, "data", { kind: "retry", reason: "connection_lost" }],
    [{ code: "ESOCKET", originalCode: "ECONNRESET" }, "content", { kind: "ambiguous", reason: "connection_lost" }],
    [
      { code: "ESOCKET", originalCode: "ERR_SSL_BAD_RECORD" },
      "content",
      { kind: "ambiguous", reason: "connection_lost" },
    ],
    [{ code: "EMESSAGE", command: "MAIL FROM" }, "mail", { kind: "rejected", scope: "message", reason: "too_long" }],
    [{ code: "EPROTOCOL" }, "content", { kind: "ambiguous", reason: "bad_answer" }],
  ] as const)("%j at %s is judged by how far it came", (fields, stage, outcome) => {
    expect(read(fields, stage)).toMatchObject(outcome);
  });
});

describe("every outcome", () => {
  it("has a detail of at most 300 characters", () => {
    const long = "x".repeat(180);
    for (const stage of [
      "connect",
      "greeting",
      "hello",
      "starttls",
      "auth",
      "mail",
      "rcpt",
      "data",
      "content",
    ] as const) {
      for (const code of [421, 450, 500, 503, 535, 550, 552, 554]) {
        const outcome = classify(
          { stage, cause: { kind: "reply", reply: { code, enhanced: "5.7.1", text: long } } },
          true,
        );
        expect("detail" in outcome && outcome.detail.length).toBeLessThanOrEqual(300);
        expect(outcome.kind).not.toBe("ambiguous");
      }
      for (const cause of [{ kind: "bad_reply", text: long }, { kind: "tls", text: long }, { kind: "lost" }] as const) {
        const outcome = classify({ stage, cause }, true);
        expect("detail" in outcome && outcome.detail.length).toBeLessThanOrEqual(300);
        expect(outcome.kind).toBe(stage === "content" ? "ambiguous" : "retry");
      }
    }
  });
});
