import { describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { answerForProof, askForProof, readProof } from "../../src/intake/door/hook-proof.ts";

const secret = new Secret("proof-secret-kS93jdLwm2PzQe81");
const previous = Buffer.from("previous-secret-Vb72kdPwq0XnRt64");
const known = [previous, Buffer.from(secret.reveal())];
const nonce = "n".repeat(43);

describe("a proof that a relay knows the hook's secret", () => {
  it("is given to whoever knows it, without either side saying it", () => {
    const question = askForProof(secret, nonce);
    const answer = answerForProof(known, question, "relay-1") ?? "";
    expect(readProof(secret, nonce, answer)).toBe("relay-1");
    expect(question + answer).not.toContain(secret.reveal());
    expect(question).toMatch(/^[\w.-]+$/);
  });

  it("is given under each secret that is taken, also one that was replaced", () => {
    const asked = new Secret(previous.toString());
    const answer = answerForProof(known, askForProof(asked, nonce), "relay-1") ?? "";
    expect(readProof(asked, nonce, answer)).toBe("relay-1");
  });

  it.each([
    ["a stranger's question", askForProof(new Secret("another-secret-of-a-stranger"), nonce)],
    ["a question about another nonce", askForProof(secret, nonce).replace(/n\./, "m.")],
    ["a question in another spelling", `${askForProof(secret, nonce).slice(0, -1)}=`],
    ["a question that is cut", askForProof(secret, nonce).slice(0, -1)],
    ["a question with something behind it", `${askForProof(secret, nonce)}A`],
    ["a nonce alone", `proof.${nonce}.`],
    ["no question", "proof."],
    ["something huge", `proof.${"x".repeat(10_000)}`],
  ])("is not given for %s", (_name, given) => {
    expect(answerForProof(known, given, "relay-1")).toBeUndefined();
  });

  it("is not believed when it is old, of another relay's secret, changed, or no proof", () => {
    const answer = answerForProof(known, askForProof(secret, nonce), "relay-1") ?? "";
    expect(readProof(secret, "m".repeat(43), answer)).toBeUndefined();
    expect(readProof(new Secret("another-secret-of-a-stranger"), nonce, answer)).toBeUndefined();
    expect(readProof(secret, nonce, answer.replace("relay-1", "relay-2"))).toBeUndefined();
    const question = askForProof(secret, nonce);
    const echoed = JSON.stringify({ data: { relay: "relay-1", mac: question.slice(-43) } });
    for (const body of [echoed, "", "<html>", "null", "{}", '{"data":null}', '{"data":{"relay":1,"mac":[]}}']) {
      expect(readProof(secret, nonce, body)).toBeUndefined();
    }
  });
});
