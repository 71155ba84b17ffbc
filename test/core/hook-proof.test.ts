import { describe, expect, it } from "vitest";
import { answerQuestion, askForProof, type Proof, readProof, readQuestion } from "../../src/core/hook-proof.ts";
import { Secret } from "../../src/core/secret.ts";

const secret = new Secret("proof-secret-kS93jdLwm2PzQe81");
const previous = Buffer.from("previous-secret-Vb72kdPwq0XnRt64");
const known = [previous, Buffer.from(secret.reveal())];
const nonce = "n".repeat(43);
const stranger = new Secret("another-secret-of-a-stranger");

function answerTo(question: string, proof: Proof = { relay: "relay-1" }): string {
  const { nonce: given = "", secret: asked } = readQuestion(known, question) ?? {};
  return asked === undefined ? "" : answerQuestion(given, asked, proof);
}

describe("a proof that a relay knows the hook's secret", () => {
  it("is given to whoever knows it, without either side saying it", () => {
    const question = askForProof(secret, nonce);
    const answer = answerTo(question);
    expect(readProof(secret, nonce, answer)).toEqual({ relay: "relay-1" });
    expect(question + answer).not.toContain(secret.reveal());
    expect(question).toMatch(/^[\w.-]+$/);
  });

  it("is given under each secret that is taken, also one that was replaced", () => {
    const asked = new Secret(previous.toString());
    expect(readProof(asked, nonce, answerTo(askForProof(asked, nonce)))).toEqual({ relay: "relay-1" });
  });

  it.each([
    ["a stranger's question", askForProof(stranger, nonce)],
    ["a question about another nonce", askForProof(secret, nonce).replace(/n\./, "m.")],
    ["a question in another spelling", `${askForProof(secret, nonce).slice(0, -1)}=`],
    ["a question that is cut", askForProof(secret, nonce).slice(0, -1)],
    ["a question with something behind it", `${askForProof(secret, nonce)}A`],
    ["two strangers' questions", askForProof(stranger, nonce, new Secret("a-third-secret-of-a-stranger"))],
    ["a nonce alone", `proof.${nonce}.`],
    ["no question", "proof."],
    ["something huge", `proof.${"x".repeat(10_000)}`],
  ])("is not given for %s", (_name, given) => {
    expect(readQuestion(known, given)).toBeUndefined();
  });

  it("is not given for a secret that is not known yet, though the asker shows that it knows another", () => {
    expect(readQuestion(known, askForProof(stranger, nonce, secret))).toEqual({ nonce });
    expect(readQuestion(known, askForProof(secret, nonce, stranger))).toEqual({ nonce, secret: known[1] });
  });

  it("holds for the body that it names, and for no other", () => {
    const body = { bytes: 3, sha256: "h".repeat(43) };
    const answer = answerTo(askForProof(secret, nonce), { relay: "relay-1", body });
    expect(readProof(secret, nonce, answer)).toEqual({ relay: "relay-1", body });
    for (const changed of [{ ...body, bytes: 4 }, { ...body, sha256: "i" }, { ...body, encoding: "gzip" }, undefined]) {
      const document = JSON.parse(answer) as { data: object };
      const forged = JSON.stringify({ data: { ...document.data, body: changed } });
      expect(readProof(secret, nonce, forged)).toBeUndefined();
    }
  });

  it("is not believed when it is old, of another relay's secret, changed, or no proof", () => {
    const answer = answerTo(askForProof(secret, nonce));
    expect(readProof(secret, "m".repeat(43), answer)).toBeUndefined();
    expect(readProof(stranger, nonce, answer)).toBeUndefined();
    expect(readProof(secret, nonce, answer.replace("relay-1", "relay-2"))).toBeUndefined();
    const question = askForProof(secret, nonce);
    const echoed = JSON.stringify({ data: { relay: "relay-1", mac: question.slice(-43) } });
    const none = ["", "<html>", "null", "{}", '{"data":null}', '{"data":{"relay":1,"mac":[]}}', '{"data":{"body":1}}'];
    for (const body of [echoed, ...none]) expect(readProof(secret, nonce, body)).toBeUndefined();
  });
});
